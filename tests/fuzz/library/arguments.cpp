/// Tensors for the inputs of a program.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <fuzz/library/build.h>
#include <fuzz/library/draw.h>

namespace nvfuser::fuzz {

namespace {

double specialNumber(Draw& draw, DataType dtype) {
  const DataType of = getTypeFromComplexType(dtype);
  const bool narrow =
      of == DataType::Half || of == DataType::Float8_e4m3fn || of == DataType::Float8_e5m2;
  const double least = of == DataType::Double ? 0x1p-1022 : narrow ? 0x1p-14 : 0x1p-126;
  const double greatest = of == DataType::Double     ? std::numeric_limits<double>::max()
                          : of == DataType::BFloat16 ? 0x1.fep127
                          : of == DataType::Half     ? 65504
                          : narrow                   ? 448
                                                     : std::numeric_limits<float>::max();
  const double sign = draw.chance(0.5) ? 1 : -1;
  switch (draw.number(0, 9)) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return sign * std::numeric_limits<double>::infinity();
    case 2:
      return sign * 0.0;
    case 3:
      return sign * least / 4;  // subnormal
    case 4:
      return sign * greatest;
    case 5:
      return sign * least;
    default:
      return draw.normal();
  }
}

void setElement(HostTensor& storage, int64_t at, const Program& program, const Input& input,
                double scale, Draw& draw) {
  const DataType dtype = input.dtype;
  if (input.below != 0) {
    storage.setInt(at, draw.number(0, input.below - 1));
    return;
  }
  if (dtype == DataType::Bool) {
    storage.setInt(at, draw.number(0, 1));
    return;
  }
  if (isIntegralType(dtype)) {
    const bool is_unsigned = isUnsignedIntegralType(dtype);
    int64_t number = draw.number(is_unsigned ? 0 : -4, 4);
    if (program.mode == ValueMode::Special && draw.chance(0.3)) {
      const auto bits = dataTypeSizeBit(dtype);
      const int64_t top = bits == 64 ? std::numeric_limits<int64_t>::max()
                                     : (int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1;
      number = draw.chance(0.5) || is_unsigned ? top : -top - 1;
    } else if (program.mode == ValueMode::Normal) {
      number = draw.number(is_unsigned ? 0 : -100, 100);
    }
    storage.setInt(at, number);
    return;
  }
  const auto one = [&]() -> double {
    switch (program.mode) {
      case ValueMode::Exact:
        return static_cast<double>(draw.number(-4, 4));
      case ValueMode::Normal:
        return draw.normal() * scale;
      case ValueMode::Special:
        return draw.chance(0.25) ? specialNumber(draw, dtype) : draw.normal();
    }
    return 0;
  };
  if (isComplexType(dtype)) {
    const double real_part = one();
    storage.setComplex(at, {real_part, one()});
  } else {
    storage.setDouble(at, one());
  }
}

Tensor makeTensor(const Program& program, const Input& input, Device& device) {
  HostTensor storage(input.dtype, {storageElements(input)});
  std::memset(storage.data(), 0xff, storage.sizeBytes());  // gaps are NaN, or no index
  Draw draw(program.value_seed * 1000003 + static_cast<uint64_t>(input.id));
  const bool narrow = isReducedPrecisionFloat(input.dtype);
  const double scale = std::pow(10.0, narrow ? draw.real(-1, 1) : draw.real(-2, 2));
  const size_t rank = input.sizes.size();
  const bool empty = std::count(input.sizes.begin(), input.sizes.end(), 0) != 0;
  std::vector<int64_t> index(rank, 0);
  for (bool more = !empty; more;) {
    int64_t at = input.offset;
    for (size_t i = 0; i < rank; ++i) {
      at += index[i] * input.strides[i];
    }
    setElement(storage, at, program, input, scale, draw);
    more = false;
    for (size_t i = rank; i-- > 0 && !more;) {
      more = ++index[i] < input.sizes[i];
      if (!more) {
        index[i] = 0;
      }
    }
  }
  return Tensor::fromHostTensor(storage, device)
      .asStrided(input.sizes, input.strides, input.offset);
}

}  // namespace

int64_t storageElements(const Input& input) {
  int64_t last = input.offset;
  for (size_t i = 0; i < input.sizes.size(); ++i) {
    if (input.sizes[i] == 0) {
      return input.offset + 1;
    }
    last += (input.sizes[i] - 1) * input.strides[i];
  }
  return last + 1;
}

KernelArgumentHolder makeArguments(const Program& program, Device& device) {
  KernelArgumentHolder arguments;
  std::map<int64_t, Tensor> made;
  for (const Input& input : program.inputs) {
    auto same = made.find(input.same);
    Tensor tensor = same != made.end() ? same->second : makeTensor(program, input, device);
    made[input.id] = tensor;
    arguments.push(tensor);
  }
  for (const ScalarInput& scalar : program.scalars) {
    if (scalar.dtype == DataType::Int) {
      arguments.push(static_cast<int64_t>(scalar.value));
    } else {
      arguments.push(scalar.value);
    }
  }
  return arguments;
}

KernelArgumentHolder noiseArguments(const std::vector<Builder::Noise>& noise, uint64_t seed,
                                    bool opposite) {
  KernelArgumentHolder arguments;
  Draw draw(seed);
  for (const Builder::Noise& factor : noise) {
    HostTensor host(factor.dtype, factor.sizes);
    for (int64_t i = 0; i < host.numel(); ++i) {
      const double sign = draw.chance(0.5) != opposite ? 1 : -1;
      // (Of one size, those of two operations would cancel for every second element.)
      host.setDouble(i, 1 + sign * factor.amplitude * draw.real(0.5, 1.5));
    }
    arguments.push(Tensor::fromHostTensor(host));
  }
  return arguments;
}

}  // namespace nvfuser::fuzz
