#include <fuzz/library/draw_input.h>

#include <algorithm>
#include <numeric>

namespace nvfuser::fuzz {

namespace {

int64_t drawExtent(Draw& draw) {
  static const std::vector<int64_t> kSmallPrimes = {2, 3, 5, 7};
  static const std::vector<int64_t> kAroundWidths = {31,  32,  33,  63,  64,  65,
                                                     127, 128, 129, 255, 256, 257};
  switch (draw.weighted({3, 12, 15, 25, 15, 25, 5})) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return draw.oneOf(kSmallPrimes);
    case 3:
      return draw.oneOf(kAroundWidths);
    case 4:
      return draw.number(1000, 1030);
    case 5:
      return draw.number(2, 64);
    default:
      return draw.number(4096, 9000);
  }
}

/// Dense strides of axes that lie in memory in this order, with gaps of `pad` elements after rows.
std::vector<int64_t> stridesOf(const std::vector<int64_t>& sizes, const std::vector<int64_t>& order,
                               int64_t pad) {
  std::vector<int64_t> strides(sizes.size(), 1);
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    strides[axis] = step;
    step *= std::max<int64_t>(sizes[axis], 1);
    if (i + 1 == order.size()) {
      step += pad;
    }
  }
  return strides;
}

std::vector<int64_t> randomOrder(Draw& draw, size_t rank) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = rank; i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<size_t>(draw.number(0, static_cast<int64_t>(i) - 1))]);
  }
  return order;
}

/// Contiguity of each axis in memory order, where the layout has it; some of it is not declared.
std::vector<int64_t> declaredContiguity(Draw& draw, const Input& input) {
  std::vector<int64_t> order = input.order;
  if (order.empty()) {
    order.resize(input.sizes.size());
    std::iota(order.begin(), order.end(), 0);
  }
  const bool is_shy = draw.chance(0.15);
  std::vector<int64_t> contiguity(order.size(), 1);
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (input.axes[axis] == 'b' || input.axes[axis] == 'e') {
      continue;
    }
    contiguity[i] = input.strides[axis] == expected ? 1 : 0;
    expected = input.strides[axis] * input.sizes[axis];
    if (is_shy && draw.chance(0.5)) {
      contiguity[i] = 0;
    }
  }
  return contiguity;
}

}  // namespace

std::vector<int64_t> drawSizes(Draw& draw, double elements) {
  const auto rank = static_cast<size_t>(draw.weighted({5, 20, 30, 22, 14, 6, 3}));
  std::vector<int64_t> sizes;
  double left = elements;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = drawExtent(draw);
    while (static_cast<double>(extent) > left) {
      extent = std::min<int64_t>(extent / 2, draw.number(1, 9));
    }
    left /= static_cast<double>(std::max<int64_t>(extent, 1));
    sizes.push_back(extent);
  }
  std::vector<int64_t> result;
  for (int64_t axis : randomOrder(draw, rank)) {
    result.push_back(sizes[static_cast<size_t>(axis)]);
  }
  return result;
}

Input drawInput(Draw& draw, int64_t id, DataType dtype, const std::vector<int64_t>& sizes,
                const std::vector<bool>& broadcast) {
  const size_t rank = sizes.size();
  Input input{.id = id, .dtype = dtype, .sizes = sizes, .strides = {}};
  const bool constant = draw.chance(0.2);
  for (size_t i = 0; i < rank; ++i) {
    const bool is_broadcast = broadcast[i] || (sizes[i] == 1 && draw.chance(0.7));
    input.axes += is_broadcast ? 'b' : constant && sizes[i] != 1 ? 'c' : 's';
  }
  std::vector<int64_t> row_major(rank);
  std::iota(row_major.begin(), row_major.end(), 0);
  int64_t pad = 0;
  int64_t step = 1;
  std::vector<int64_t> order = row_major;
  std::vector<size_t> expanded;
  switch (draw.weighted({40, 15, 8, 10, 12, 5, 10})) {
    case 0:
      break;
    case 1:  // permuted; the declaration may know the order
      order = randomOrder(draw, rank);
      if (draw.chance(0.5) && order != row_major) {
        input.order = order;
      }
      break;
    case 2:
      step = draw.number(2, 3);
      break;
    case 3:
      pad = draw.number(1, 5);
      break;
    case 4:
      for (size_t i = 0; i < rank; ++i) {
        if (draw.chance(0.4) && input.axes[i] == 's') {
          expanded.push_back(i);
        }
      }
      break;
    case 5:  // channels last
      if (rank > 2) {
        std::rotate(order.begin() + 1, order.begin() + 2, order.end());
        if (draw.chance(0.7)) {
          input.order = order;
        }
      }
      break;
    default:
      input.offset = draw.number(1, 7);
  }
  std::vector<int64_t> stored = sizes;
  for (size_t axis : expanded) {
    stored[axis] = 1;
  }
  input.strides = stridesOf(stored, order, pad);
  for (int64_t& stride : input.strides) {
    stride *= step;
  }
  const bool declared = draw.chance(0.6);
  for (size_t axis : expanded) {
    input.strides[axis] = 0;
    if (declared) {
      input.axes[axis] = 'e';
    }
  }
  for (size_t i = 0; i < rank; ++i) {
    if (sizes[i] == 1 && draw.chance(0.1)) {
      input.strides[i] = draw.number(0, 1000);  // of no meaning
    }
  }
  input.contiguity = declaredContiguity(draw, input);
  return input;
}

DataType drawDtype(Draw& draw, ValueMode mode) {
  static const std::vector<std::pair<DataType, double>> kWeights = {
      {DataType::Float, 30},        {DataType::Half, 13},
      {DataType::BFloat16, 18},     {DataType::Double, 10},
      {DataType::Int32, 7},         {DataType::Int, 7},
      {DataType::Bool, 5},          {DataType::Char, 2},
      {DataType::Byte, 2},          {DataType::Short, 1},
      {DataType::UInt32, 0.5},      {DataType::UInt64, 0.5},
      {DataType::UInt16, 0.5},      {DataType::ComplexFloat, 2},
      {DataType::ComplexDouble, 1}, {DataType::Float8_e4m3fn, 0.7},
      {DataType::Float8_e5m2, 0.7}};
  std::vector<double> weights;
  for (const auto& [dtype, weight] : kWeights) {
    weights.push_back(mode == ValueMode::Special && isComplexType(dtype) ? 0 : weight);
  }
  return kWeights[draw.weighted(weights)].first;
}

}  // namespace nvfuser::fuzz
