/// The kernels that a GPU would get for a Fusion in its text, without a GPU: nothing is compiled or
/// run.
///
///     build/bin/example_planned_kernels [FILE] [SYMBOL=SIZE ...] [TENSOR=STRIDE,... ...]
///
/// `FILE` has what `NVFUSER_DUMP=fusion_ir_original` prints of any program; sizes that the text
/// does not know are given by name (`i0=1024`), and are 1024 otherwise. So are strides of inputs
/// that are not dense (`T0=64,2`, in elements). Options as for every
/// program: `NVFUSER_DUMP=scheduler_params` says why the kernels are as they are. Without a file:
/// sums of rows.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
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

/// What the words behind the file say, by name.
struct Given {
  std::map<std::string, int64_t> sizes;                 ///< of symbols
  std::map<std::string, std::vector<int64_t>> strides;  ///< of inputs, in elements
};

Given givenBy(const std::vector<std::string>& words) {
  Given given;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    std::vector<int64_t> numbers;
    std::istringstream text(equals == std::string::npos ? "" : word.substr(equals + 1));
    for (std::string number; std::getline(text, number, ',');) {
      if (number.empty() || number.size() > 15 ||
          number.find_first_not_of("0123456789") != std::string::npos) {
        numbers.clear();
        break;
      }
      numbers.push_back(std::stoll(number));
    }
    if (numbers.empty()) {
      throw std::runtime_error("planned_kernels: '" + word +
                               "' is no size of a symbol, nor strides; give i0=1024 or T0=64,1");
    }
    const std::string name = word.substr(0, equals);
    if (name[0] == 'T') {
      given.strides[name] = numbers;
    } else {
      given.sizes[name] = numbers[0];
    }
  }
  return given;
}

int64_t sizeOf(const IterDomain* axis, const std::map<std::string, int64_t>& sizes) {
  const Val* extent = axis->getMaybeExpandedExtent();
  if (extent->isConstInt()) {
    return extent->evaluate().as<int64_t>();
  }
  auto given = sizes.find(extent->toInlineString());
  return given == sizes.end() ? kSizeOfASymbol : given->second;
}

Tensor described(const TensorView* tv, const Given& given) {
  const auto logical = TensorDomain::noReductions(tv->getLogicalDomain());
  const auto memory = TensorDomain::noReductions(tv->getMaybeAllocationDomain());
  std::map<const IterDomain*, int64_t> strides;
  int64_t stride = 1;
  for (auto axis = memory.rbegin(); axis != memory.rend(); ++axis) {
    const bool stretched = (*axis)->hasExpandedExtent();
    strides[*axis] = stretched ? 0 : stride;
    stride *= stretched ? 1 : sizeOf(*axis, given.sizes);
  }
  std::vector<int64_t> extents;
  std::vector<int64_t> in_order;
  for (const IterDomain* axis : logical) {
    extents.push_back(sizeOf(axis, given.sizes));
    in_order.push_back(strides.at(axis));
  }
  const auto own = given.strides.find("T" + std::to_string(tv->name()));
  if (own != given.strides.end()) {
    if (own->second.size() != extents.size()) {
      throw std::runtime_error("planned_kernels: " + own->first + " has " +
                               std::to_string(extents.size()) + " axes, and " +
                               std::to_string(own->second.size()) + " strides are given");
    }
    in_order = own->second;
  }
  return Tensor::meta(extents, in_order, tv->dtype());
}

}  // namespace

int main(int count, char** words) {
  try {
    emulateMultiprocessors(kMultiprocessors);
    const Given given = givenBy({words + std::min(count, 2), words + count});
    auto fusion = Fusion::fromText(count > 1 ? textOf(words[1]) : kSumsOfRows);
    KernelArgumentHolder args;
    for (const Val* input : fusion->inputs()) {
      if (const auto* tv = dynamic_cast<const TensorView*>(input)) {
        args.push(described(tv, given));
      } else if (isFloatingPointType(input->dtype())) {
        args.push(0.5);
      } else {
        auto size = given.sizes.find(input->toInlineString());
        args.push(size == given.sizes.end() ? int64_t{1} : size->second);
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
