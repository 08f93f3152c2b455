// block_scan.cuh on the emulated device, for blocks of every shape, forward and backward.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <emulated_kernel.h>

using namespace nvfuser;

namespace {

// Letters that a state has taken in, as a number of base 257: combining is associative alone.
const char kScanKernels[] = R"(
struct Word {
  u64 v;
  u64 scale;
  static __device__ Word combine(const Word& a, const Word& b) {
    return {a.v * b.scale + b.v, a.scale * b.scale};
  }
  static __device__ Word identity() { return {0, 1}; }
};
)";

std::string scanKernels() {
  std::string all;
  std::set<std::string> seen;
  addSnippet("block_scan.cuh", seen, all);
  all += kScanKernels;
  for (std::string axes : {"x", "y", "xy", "z", "xyz"}) {
    for (const char* backward : {"false", "true"}) {
      const auto marked = [&](char axis) {
        return axes.find(axis) == std::string::npos ? "false" : "true";
      };
      all += std::string("extern \"C\" __global__ void scan_") + axes + "_" + backward +
             "(u64* states, u64* totals, const u64* in) {\n"
             "  extern __shared__ __align__(16) unsigned char smem[];\n"
             "  const u32 t = linearThread();\n"
             "  Word s{in[t], 257}, total{7, 257};\n"
             "  blockScan<" +
             marked('x') + ", " + marked('y') + ", " + marked('z') + ", " + backward +
             ">(s, total, smem);\n  states[t] = s.v;\n  totals[t] = total.v;\n}\n";
    }
  }
  return all;
}

void checkScan(const std::string& axes, bool backward, const std::vector<int64_t>& block) {
  static const std::string text = scanKernels();
  CAPTURE(axes);
  CAPTURE(backward);
  CAPTURE(block[0]);
  CAPTURE(block[1]);
  CAPTURE(block[2]);
  const auto kernel = emulatedDevice().compile(
      {.entry = "scan_" + axes + (backward ? "_true" : "_false"), .text = text, .options = {}});
  const auto threads = static_cast<size_t>(block[0] * block[1] * block[2]);
  std::vector<uint64_t> in(threads);
  for (size_t i = 0; i < threads; ++i) {
    in[i] = i * 37 % 256 + 1;
  }
  DeviceVector<uint64_t> states(threads), totals(threads), given(in);
  launch(
      *kernel,
      {.block = {block[0], block[1], block[2]}, .shared_bytes = static_cast<int64_t>(threads) * 16},
      {states.argument(), totals.argument(), given.argument()});
  const std::vector<uint64_t> got = states.host();
  const std::vector<uint64_t> got_totals = totals.host();
  // Those that share a scan have the same place along the other dimensions.
  std::map<std::vector<int64_t>, std::vector<size_t>> scans;
  for (size_t t = 0; t < threads; ++t) {
    const auto i = static_cast<int64_t>(t);
    const int64_t place[] = {i % block[0], i / block[0] % block[1], i / block[0] / block[1]};
    std::vector<int64_t> key;
    for (size_t d = 0; d < 3; ++d) {
      key.push_back(axes.find("xyz"[d]) == std::string::npos ? place[d] : 0);
    }
    scans[key].push_back(t);
  }
  for (auto& [key, members] : scans) {
    if (backward) {
      std::reverse(members.begin(), members.end());
    }
    uint64_t sum = 7;
    for (size_t t : members) {
      REQUIRE(got[t] == sum);
      sum = sum * 257 + in[t];
    }
    for (size_t t : members) {
      REQUIRE(got_totals[t] == sum);
    }
  }
}

}  // namespace

TEST_CASE("scans among the threads of a block") {
  for (const std::vector<int64_t>& block : {std::vector<int64_t>{1, 1, 1},
                                            {4, 1, 1},
                                            {32, 1, 1},
                                            {33, 1, 1},
                                            {64, 1, 1},
                                            {96, 2, 1},
                                            {16, 8, 1},
                                            {8, 16, 2},
                                            {2, 3, 5},
                                            {4, 8, 3}}) {
    for (const char* axes : {"x", "y", "xy", "z", "xyz"}) {
      for (bool backward : {false, true}) {
        checkScan(axes, backward, block);
      }
    }
  }
}
