#include <algorithm>
#include <cmath>

#include <fuzz/library/drawer.h>

namespace nvfuser::fuzz {

std::vector<int64_t> Drawer::someAxes(int64_t n) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < n; ++i) {
    if (draw_.chance(0.45)) {
      axes.push_back(draw_.chance(0.2) ? i - n : i);
    }
  }
  if (axes.empty() && n > 0) {
    axes.push_back(draw_.chance(0.5) ? -1 : draw_.number(0, n - 1));
  }
  return axes;
}

void Drawer::addReduction() {
  const int64_t a = pick();
  const int64_t n = rank(a);
  if (n == 0) {
    return;
  }
  if (draw_.chance(0.2)) {
    addScan(a);
    return;
  }
  const std::vector<int64_t> axes = someAxes(n);
  double combined = 1;
  for (int64_t i : axes) {
    combined *= static_cast<double>(sizes(a)[static_cast<size_t>(i < 0 ? i + n : i)]);
  }
  std::vector<std::string> names = {"sum", "sum", "max", "min"};
  if (isExact() && combined > 0 && !isComplexType(dtype(a))) {
    names.insert(names.end(), {"prod"});
  } else if (!isExact()) {
    names.insert(names.end(), {"prod", "mean", "var", "var_mean", "welford"});
  }
  const std::string name = draw_.oneOf(names);
  double limit = std::max(bound(a), 1.0);
  if (name == "sum") {
    limit = std::max(1.0, bound(a) * combined);
  } else if (name == "prod") {
    limit = isWhole(a) ? 0x1p62 : std::pow(std::max(bound(a), 1.0), std::min(combined, 100.0));
  } else if (combined == 0 && isExact()) {
    limit = isFloat(a) ? 4 : 0x1p62;  // infinities, or the ends of the range
    if (isFloat(a)) {
      return;
    }
  }
  std::vector<Argument> arguments{value(a), named("axes", integers(axes))};
  if (name != "welford" && draw_.chance(0.4)) {
    arguments.push_back(named("keepdim", truth(true)));
  }
  if (name == "var" || name == "var_mean") {
    arguments.push_back(named("correction", integer(draw_.number(0, 1))));
  }
  try_({name, {}, arguments}, limit, name == "var_mean" ? 2 : name == "welford" ? 3 : 1);
}

void Drawer::addScan(int64_t a) {
  const int64_t dim = draw_.number(0, rank(a) - 1);
  const auto length = static_cast<double>(sizes(a)[static_cast<size_t>(dim)]);
  std::vector<std::string> names = {"cumsum", "cumsum", "cumsum"};
  if (!isComplexType(dtype(a))) {
    names.insert(names.end(), {"cummax", "cummin"});
  }
  if (!isExact()) {
    names.emplace_back("cumprod");
  }
  const std::string name = draw_.oneOf(names);
  std::vector<Argument> arguments{value(a), named("dim", integer(dim))};
  if (draw_.chance(0.4)) {
    arguments.push_back(named("backward", truth(true)));
  }
  const bool adds = name == "cumsum";
  try_({name, {}, arguments}, std::max(1.0, bound(a) * (adds ? std::max(length, 1.0) : 1.0)));
}

void Drawer::addComposite() {
  const int64_t a = pick();
  const int64_t n = rank(a);
  if (isExact() || n == 0 || !isFloat(a)) {
    return;
  }
  switch (draw_.number(0, 4)) {
    case 0:
    case 1: {
      static const std::vector<std::string> kSoft = {"softmax", "log_softmax"};
      try_({draw_.oneOf(kSoft), {}, {value(a), named("dim", integer(draw_.number(0, n - 1)))}}, 0);
      return;
    }
    case 2:
    case 3: {
      const int64_t first = draw_.number(0, n - 1);
      const std::vector<int64_t> shape(sizes(a).begin() + first, sizes(a).end());
      const bool layer = draw_.chance(0.5);
      std::vector<Argument> arguments{value(a), named("norm_shape", integers(shape))};
      if (draw_.chance(0.6)) {
        arguments.push_back(named("weight", value(newInput(shape, {}, dtype(a)))));
      }
      if (layer && draw_.chance(0.5)) {
        arguments.push_back(named("bias", value(newInput(shape, {}, dtype(a)))));
      }
      try_({layer ? "layer_norm" : "rms_norm", {}, arguments}, 0, layer ? 3 : 2);
      return;
    }
    default:
      if (n >= 2) {
        try_({"triu", {}, {value(a), named("diagonal", integer(draw_.number(-1, 1)))}}, bound(a));
      }
  }
}

void Drawer::addRandom() {
  const int64_t a = pick();
  if (isExact() || !isFloat(a)) {
    try_({draw_.chance(0.5) ? "zeros_like" : "ones_like", {}, {value(a)}}, 1);
    return;
  }
  switch (draw_.number(0, 3)) {
    case 0:
      try_({"rand_like", {}, {value(a)}}, 0);
      return;
    case 1:
      try_({"randn_like", {}, {value(a)}}, 0);
      return;
    case 2:
      try_({"dropout", {}, {value(a), named("p", real(0.25))}}, 0, 2);
      return;
    default:
      try_({"uniform", {}, {real(-1), real(2), named("shape", integers(sizes(a)))}}, 0);
  }
}

}  // namespace nvfuser::fuzz
