// Products of matrices with scales, and of groups, as they are defined (ir/composite_nodes.h).

#include <map>

#include <evaluator/operations.h>

namespace nvfuser::reference {

namespace {

/// A matrix, or a vector, by the names of its axes. Axes that it lacks are read at 0; where it
/// stretches, those of one element too.
class Named {
 public:
  Named(const Expr* op, Array array, std::string_view names, bool stretches,
        std::map<char, int64_t>& sizes)
      : array_(std::move(array)) {
    for (size_t axis = 0; names != "-" && axis < array_.rank(); ++axis) {
      const int64_t size = array_.sizes[axis];
      if (names[axis] == '1' || (stretches && size == 1)) {
        if (size != 1) {
          userError(op->getOpString(), ": a scale has one number for ", size,
                    " blocks of what is summed over, in ", *op,
                    "; such scales need a GPU of compute capability 10 or more, one number for a "
                    "row or a column does not");
        }
        continue;
      }
      const auto [found, is_new] = sizes.emplace(names[axis], size);
      if (found->second != size) {
        userError(op->getOpString(), ": an operand has ", size, " elements along axis ", axis,
                  ", but ", found->second, " are needed, in ", *op);
      }
      strides_[names[axis]] = array_.strides[axis];
    }
  }
  double at(const std::map<char, int64_t>& index) const {
    int64_t place = array_.offset;
    for (auto [name, stride] : strides_) {
      place += index.at(name) * stride;
    }
    return array_.data<double>()[place];
  }

 private:
  Array array_;
  std::map<char, int64_t> strides_;
};

template <typename Op>
Array productOf(const Op* op, const Array* offsets, Context& context,
                std::optional<uint64_t> disturbance) {
  std::map<char, int64_t> sizes;
  if (offsets != nullptr) {
    sizes['G'] = offsets->sizes[0];
  }
  auto named = [&](size_t place, bool stretches) {
    return Named(op, convert(context.operand(op->input(place)), DataType::Double),
                 op->axesOfInput(place), stretches, sizes);
  };
  const Named a = named(0, false);
  const Named b = named(1, false);
  const ScaledProductPlaces places = op->places();
  auto factor = [&](std::optional<size_t> place) {
    return place ? std::optional(named(*place, true)) : std::nullopt;
  };
  const auto scale1 = factor(places.scale1), scale2 = factor(places.scale2),
             alpha = factor(places.alpha), bias = factor(places.bias), beta = factor(places.beta);
  const std::string_view names = op->axesOfOutput(0);
  std::vector<int64_t> out_sizes;
  for (char name : names) {
    out_sizes.push_back(sizes.at(name));
  }
  Array out = makeArray(op->output(0)->dtype(), out_sizes);
  const bool sums_groups = names.size() == 3;
  const char grouped = op->axesOfInput(0).size() == 3   ? 'N'
                       : op->axesOfInput(1).size() == 3 ? 'M'
                                                        : 'K';
  int64_t begin = 0;
  const int64_t groups = offsets != nullptr ? sizes.at('G') : 1;
  for (int64_t group = 0; group < groups; ++group) {
    std::map<char, int64_t> first{{'M', 0}, {'N', 0}, {'K', 0}};
    std::map<char, int64_t> last{{'M', sizes.at('M')}, {'N', sizes.at('N')}, {'K', sizes.at('K')}};
    if (offsets != nullptr) {
      const int64_t end = offsets->data<int64_t>()[offsets->offset + group * offsets->strides[0]];
      if (end < begin || end > sizes.at(grouped)) {
        userError(op->getOpString(), ": group ", group, " ends at ", end,
                  ", but the one before at ", begin, " and all at ", sizes.at(grouped),
                  "; offsets ascend up to that, in ", *op);
      }
      first[grouped] = begin;
      last[grouped] = end;
      begin = end;
    }
    std::map<char, int64_t> index{{'G', group}};
    for (index['M'] = first['M']; index['M'] < last['M']; ++index['M']) {
      for (index['N'] = first['N']; index['N'] < last['N']; ++index['N']) {
        long double sum = 0;
        double squares = 0;
        for (index['K'] = first['K']; index['K'] < last['K']; ++index['K']) {
          const double term = a.at(index) * b.at(index);
          sum += term;
          squares += term * term;
        }
        const int64_t at =
            ((sums_groups ? group * sizes.at('M') : 0) + index['M']) * sizes.at('N') + index['N'];
        auto value = static_cast<double>(sum);
        if (disturbance) {
          value = disturbedSum(value, squares, static_cast<double>(last['K'] - first['K']),
                               *disturbance, static_cast<uint64_t>(at));
        }
        for (const auto* scale : {&scale1, &scale2, &alpha}) {
          value *= *scale ? (*scale)->at(index) : 1.0;
        }
        if (bias) {
          value += bias->at(index) * (beta ? beta->at(index) : 1.0);
        }
        out.data<double>()[at] = value;
      }
    }
  }
  return out;
}

}  // namespace

Array scaledProduct(const Expr* op, Context& context, std::optional<uint64_t> disturbance) {
  if (op->isA<ScaledMmaOp>()) {
    return productOf(op->as<ScaledMmaOp>(), nullptr, context, disturbance);
  }
  const Array offsets = context.operand(op->input(2));
  return productOf(op->as<GroupedMmaOp>(), &offsets, context, disturbance);
}

}  // namespace nvfuser::reference
