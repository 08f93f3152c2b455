/// The kernels that a GPU would get for a Fusion in its text, without a GPU: nothing is compiled or
/// run.
///
///     build/bin/example_planned_kernels [FILE] [SYMBOL=SIZE ...]
///
/// `FILE` has what `NVFUSER_DUMP=fusion_ir_original` prints of any program; sizes that the text
/// does not know are given by name (`i0=1024`), and are 1024 otherwise. Options as for every
/// program: `NVFUSER_DUMP=scheduler_params` says why the kernels are as they are. Without a file:
/// sums of rows.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fusion.h>
#include <runtime/emulated/emulated.h>
#include <runtime/fusion_executor_cache.h>

using namespace nvfuser;

namespace {

constexpr int64_t kSizeOfASymbol = 1024;
constexpr int kMultiprocessors = 132;  // of an H100 or H200

constexpr const char* kSumsOfRows = R"(
Inputs:
  T0_g_float[iS0{i0}, iS1{i2}]
Outputs:
  T1_g_float[iS2{i0}, rS3{i2}]
%kernel_math {
  T1_g_float[iS2{i0}, rS3{i2}] = reduction_add( T0, init = 0.0 )
}
)";

/// The text alone, of a file that may hold the lines around it that a dump has.
std::string textOf(const char* path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(std::string("planned_kernels: there is no file '") + path + "'");
  }
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("----")) {
      text += line + "\n";
    }
  }
  return text;
}

/// Of each symbol by its printed name.
using Sizes = std::map<std::string, int64_t>;

Sizes sizesIn(const std::vector<std::string>& words) {
  Sizes sizes;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string size = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (size.empty() || size.size() > 15 ||
        size.find_first_not_of("0123456789") != std::string::npos) {
      throw std::runtime_error("planned_kernels: '" + word +
                               "' is no size of a symbol; give i0=1024");
    }
    sizes[word.substr(0, equals)] = std::stoll(size);
  }
  return sizes;
}

int64_t sizeOf(const IterDomain* axis, const Sizes& sizes) {
  const Val* extent = axis->getMaybeExpandedExtent();
  if (extent->isConstInt()) {
    return extent->evaluate().as<int64_t>();
  }
  auto given = sizes.find(extent->toInlineString());
  return given == sizes.end() ? kSizeOfASymbol : given->second;
}

Tensor described(const TensorView* tv, const Sizes& sizes) {
  const auto logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const auto memory = TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  std::map<const IterDomain*, int64_t> strides;
  int64_t stride = 1;
  for (auto axis = memory.rbegin(); axis != memory.rend(); ++axis) {
    const bool stretched = (*axis)->hasExpandedExtent();
    strides[*axis] = stretched ? 0 : stride;
    stride *= stretched ? 1 : sizeOf(*axis, sizes);
  }
  std::vector<int64_t> extents;
  std::vector<int64_t> in_order;
  for (const IterDomain* axis : logical) {
    extents.push_back(sizeOf(axis, sizes));
    in_order.push_back(strides.at(axis));
  }
  return Tensor::meta(extents, in_order, tv->dtype());
}

}  // namespace

int main(int count, char** words) {
  try {
    emulateMultiprocessors(kMultiprocessors);
    const Sizes sizes = sizesIn({words + std::min(count, 2), words + count});
    auto fusion = Fusion::fromText(count > 1 ? textOf(words[1]) : kSumsOfRows);
    KernelArgumentHolder args;
    for (const Val* input : fusion->inputs()) {
      if (const auto* tv = dynamic_cast<const TensorView*>(input)) {
        args.push(described(tv, sizes));
      } else if (isFloatingPointType(input->dtype())) {
        args.push(0.5);
      } else {
        auto given = sizes.find(input->toInlineString());
        args.push(given == sizes.end() ? int64_t{1} : given->second);
      }
    }
    FusionExecutorCache cache(std::move(fusion));
    cache.prepare(args, {}, &emulatedDevice());
    for (const std::string& text : cache.getMostRecentCode()) {
      std::printf("%s\n", text.c_str());
    }
    std::printf("%s\n", cache.report().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
