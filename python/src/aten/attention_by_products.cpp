#include "aten/attention_by_products.h"

#include <limits>

namespace nvfuser::python {

namespace {

using Sizes = std::vector<int64_t>;

/// Calls that give one tensor.
struct Calls {
  const AtenProgram& aten;

  AtenTensor wide(const AtenTensor& tensor) const {
    return aten.as(aten.another(tensor), DataType::Float);
  }
  AtenTensor product(const AtenTensor& a, const AtenTensor& b) const {
    return aten.one("aten::matmul", "", {a, b});
  }
  AtenTensor times(const AtenTensor& a, const AtenTensor& b) const {
    return aten.one("aten::mul", "Tensor", {a, b});
  }
  AtenTensor less(const AtenTensor& a, const AtenTensor& b) const {
    return aten.sum(a, aten.one("aten::neg", "", {b}));
  }
  AtenTensor scores(const ScoredAttention& of) const {
    AtenTensor made = times(product(wide(of.query), aten.transposed(wide(of.key))),
                            aten.number(of.scale, DataType::Float));
    if (of.added != nullptr) {
      made = aten.sum(made, wide(*of.added));
    }
    if (of.is_causal) {
      hideScores(aten, made, laterKeys(aten, of.query.sizes()[2], of.key.sizes()[2]));
    }
    return made;
  }
};

}  // namespace

AtenTensor laterKeys(const AtenProgram& aten, int64_t queries, int64_t keys) {
  const AtenTensor zeros = aten.empty(Sizes{queries, keys}, DataType::Bool);
  aten.zero(zeros);
  const AtenTensor ones = aten.one("aten::logical_not", "", {zeros});
  const AtenTensor seen = aten.one("aten::tril", "", {ones, int64_t{0}});
  return aten.one("aten::logical_not", "", {seen});
}

void hideScores(const AtenProgram& aten, const AtenTensor& scores, const AtenTensor& where) {
  aten.run("aten::masked_fill_", "Tensor",
           {scores, where, aten.number(-std::numeric_limits<double>::infinity(), scores.dtype())});
}

std::pair<AtenTensor, AtenTensor> attentionByProducts(const AtenProgram& aten,
                                                      const ScoredAttention& of) {
  const Calls calls{aten};
  const AtenTensor all = calls.scores(of);
  const Sizes last{-1};
  AtenTensor logsumexp = aten.one("aten::logsumexp", "", {all, last, false});
  const AtenTensor shares = aten.one("aten::_safe_softmax", "", {all, int64_t{-1}, std::nullopt});
  return {calls.product(shares, calls.wide(of.value)), std::move(logsumexp)};
}

std::vector<AtenTensor> gradientsByProducts(const AtenProgram& aten, const ScoredAttention& of,
                                            const AtenTensor& grad, const AtenTensor& output,
                                            const AtenTensor& logsumexp) {
  const Calls calls{aten};
  const Sizes last{-1};
  const AtenTensor of_output = calls.wide(grad);
  const AtenTensor of_rows = aten.one("aten::unsqueeze", "", {logsumexp, int64_t{-1}});
  const AtenTensor shares = aten.one("aten::exp", "", {calls.less(calls.scores(of), of_rows)});
  const AtenTensor of_shares = calls.product(of_output, aten.transposed(calls.wide(of.value)));
  const AtenTensor both = calls.times(of_output, calls.wide(output));
  const AtenTensor means =
      aten.one("aten::sum", "dim_IntList", {both, some(last), true, std::nullopt});
  const AtenTensor of_scores = calls.times(calls.times(shares, calls.less(of_shares, means)),
                                           aten.number(of.scale, DataType::Float));
  std::vector<AtenTensor> gradients;
  gradients.push_back(calls.product(of_scores, calls.wide(of.key)));
  gradients.push_back(calls.product(aten.transposed(of_scores), calls.wide(of.query)));
  gradients.push_back(calls.product(aten.transposed(shares), of_output));
  return gradients;
}

}  // namespace nvfuser::python
