#include <external/attention.h>

#include <cmath>
#include <map>

namespace nvfuser::external {

namespace {

/// Collects sizes by the names that the expression gives to axes.
class Reader {
 public:
  Reader(const Call& call, size_t query) : batches_(call.input(query).sizes.size() - 2) {}

  /// `stretches`: sizes of 1, and leading axes that are missing, go with any size.
  HeadMatrices read(const TensorRef& tensor, std::string_view names, bool stretches) {
    HeadMatrices matrices{tensor.data, tensor.dtype, 0, 0, std::vector<int64_t>(batches_, 0)};
    const size_t all = batches_ + names.size();
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      const size_t place = i + all - tensor.sizes.size();
      if (stretches && tensor.sizes[i] == 1) {
        continue;
      }
      const char name = place < batches_ ? static_cast<char>('0' + place) : names[place - batches_];
      const auto [found, is_new] = sizes_.emplace(name, tensor.sizes[i]);
      check(found->second == tensor.sizes[i],
            "shape inference looked at the operands of attention");
      (place < batches_    ? matrices.heads[place]
       : place == batches_ ? matrices.row
                           : matrices.column) = tensor.strides[i];
    }
    return matrices;
  }

  int64_t size(char name) const { return sizes_.at(name); }
  std::vector<int64_t> heads() const {
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < batches_; ++i) {
      sizes.push_back(size(static_cast<char>('0' + i)));
    }
    return sizes;
  }

 private:
  size_t batches_;
  std::map<char, int64_t> sizes_;
};

template <typename Op>
void readSettings(const Call& call, std::optional<size_t> scale, Attention& attention) {
  attention.dropout_p = call.scalar(Op::kDropoutP).template as<double>();
  attention.is_causal = call.scalar(Op::kIsCausal).template as<bool>();
  attention.scale = scale ? call.scalar(*scale).template as<float>()
                          : 1 / std::sqrt(static_cast<float>(attention.depth));
  if (!(attention.dropout_p >= 0 && attention.dropout_p <= 1)) {
    userError(call.op->getOpString(), ": dropout_p must be between 0 and 1, got ",
              attention.dropout_p);
  }
}

Attention::Word wordAt(const TensorRef& tensor, int64_t i) {
  const int64_t at = tensor.rank() == 0 ? 0 : i * tensor.strides[0];
  return {static_cast<const std::byte*>(tensor.data) + at * dataTypeSizeByte(tensor.dtype),
          tensor.dtype};
}

Attention forwardOf(const Call& call, const SdpaFwdOp* op) {
  Attention attention;
  Reader reader(call, 0);
  auto operand = [&](size_t i, bool stretches = false) {
    return reader.read(call.input(i), op->axesOfInput(i), stretches);
  };
  attention.query = operand(0);
  attention.key = operand(1);
  attention.value = operand(2);
  if (op->biasPlace()) {
    attention.bias = operand(*op->biasPlace(), true);
  }
  if (op->maskPlace()) {
    attention.mask = operand(*op->maskPlace(), true);
  }
  auto result = [&](size_t i) {
    return reader.read(call.outputs.at(i), op->axesOfOutput(i), false);
  };
  attention.output = result(0);
  attention.logsumexp = result(1);
  attention.heads = reader.heads();
  attention.queries = reader.size('L');
  attention.keys = reader.size('S');
  attention.depth = reader.size('E');
  attention.width = reader.size('V');
  readSettings<SdpaFwdOp>(call, op->scalePlace(), attention);
  if (op->draws()) {
    attention.seed = call.philox_seed;
    attention.offset = call.philox_offset;
  }
  return attention;
}

Attention backwardOf(const Call& call, const SdpaBwdOp* op) {
  Attention attention;
  Reader reader(call, 1);
  auto operand = [&](size_t i) { return reader.read(call.input(i), op->axesOfInput(i), false); };
  attention.query = operand(1);
  attention.key = operand(2);
  attention.value = operand(3);
  attention.grad = operand(0);
  attention.output = operand(4);
  attention.logsumexp = operand(SdpaBwdOp::kLogSumExp);
  auto result = [&](size_t i) {
    return reader.read(call.outputs.at(i), op->axesOfOutput(i), false);
  };
  attention.grad_query = result(0);
  attention.grad_key = result(1);
  attention.grad_value = result(2);
  attention.heads = reader.heads();
  attention.queries = reader.size('L');
  attention.keys = reader.size('S');
  attention.depth = reader.size('E');
  attention.width = reader.size('V');
  readSettings<SdpaBwdOp>(call, op->hasScale() ? std::optional(SdpaBwdOp::kScale) : std::nullopt,
                          attention);
  const TensorRef& seed = call.input(SdpaBwdOp::kSeed);
  const bool has_both = seed.rank() == 1;
  if (has_both && seed.sizes[0] != 2) {
    userError("sdpfa_bwd: philox_seed has ", seed.sizes[0],
              " elements; it is the result of sdpfa_fwd, with 2: the seed and the offset");
  }
  attention.seed_at = wordAt(seed, 0);
  attention.offset_at = has_both ? wordAt(seed, 1) : wordAt(call.input(SdpaBwdOp::kOffset), 0);
  return attention;
}

}  // namespace

int64_t HeadMatrices::offset(const std::vector<int64_t>& sizes, int64_t head) const {
  int64_t offset = 0;
  for (size_t i = sizes.size(); i-- > 0;) {
    offset += head % sizes[i] * heads[i];
    head /= sizes[i];
  }
  return offset;
}

int64_t Attention::numHeads() const {
  int64_t all = 1;
  for (int64_t size : heads) {
    all *= size;
  }
  return all;
}

Attention attentionOf(const Call& call) {
  if (call.op->isA<SdpaFwdOp>()) {
    return forwardOf(call, call.op->as<SdpaFwdOp>());
  }
  return backwardOf(call, call.op->as<SdpaBwdOp>());
}

}  // namespace nvfuser::external
