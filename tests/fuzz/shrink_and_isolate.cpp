/// The fuzzer itself: what it must notice, and what it makes of it.
#include <doctest/doctest.h>

#include <csignal>
#include <limits>

#include <fuzz/library/compare.h>
#include <fuzz/library/draw_program.h>
#include <fuzz/library/isolated.h>
#include <fuzz/library/shrink.h>

namespace nvfuser::fuzz {
namespace {

bool calls(const Program& program, std::string_view operation) {
  return std::any_of(program.calls.begin(), program.calls.end(),
                     [&](const Call& call) { return call.operation == operation; });
}

TEST_CASE("fuzzer: a program is cut down to the call at fault") {
  int found = 0;
  for (uint64_t seed = 0; seed < 400 && found < 10; ++seed) {
    const Program program = drawProgram(seed);
    if (program.calls.size() < 6 || !calls(program, "sum")) {
      continue;
    }
    ++found;
    CAPTURE(program.toString());
    const Program small =
        shrink(program, 2000, [](const Program& candidate) { return calls(candidate, "sum"); });
    CAPTURE(small.toString());
    CHECK(small.calls.size() <= 2);
    CHECK(small.inputs.size() <= 1);
    CHECK(small.schedule_steps == 0);
  }
  CHECK(found == 10);
}

TEST_CASE("fuzzer: a program of several calls is cut down to the one at fault") {
  int found = 0;
  for (uint64_t seed = 0; seed < 400 && found < 10; ++seed) {
    const Program program = drawProgram(seed, {Focus::Sizes});
    const auto sums_in_one_of = [](const Program& candidate) {
      return candidate.sizes_vary && calls(candidate, "sum");
    };
    if (program.again.size() < 2 || !sums_in_one_of(program)) {
      continue;
    }
    ++found;
    CAPTURE(program.toString());
    const Program small = shrink(program, 2000, sums_in_one_of);
    CAPTURE(small.toString());
    CHECK(small.again.empty());
    CHECK(small.calls.size() == 1);
    CHECK(small.inputs.size() == 1);
    CHECK(parseProgram(small.toString()) == small);
  }
  CHECK(found == 10);
}

TEST_CASE("fuzzer: a child that dies is one failure, and the others finish") {
  const auto source = [](size_t number) {
    if (number == 2) {
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    }
    return parseProgram(
        "fuzz 1\nmode exact\n"
        "input v0 float sizes=[2] strides=[1] axes=[s] contiguity=[1]\n"
        "v1 = neg(v0)\noutput v1\n");
  };
  std::vector<size_t> clean;
  std::vector<Failure> failures;
  IsolatedOptions options;
  options.run.only = "structure";
  runIsolated(4, source, options, [&](size_t number, const Isolated& result) {
    if (result.outcome.failures.empty()) {
      clean.push_back(number);
    }
    for (const Failure& failure : result.outcome.failures) {
      CHECK(number == 2);
      failures.push_back(failure);
    }
  });
  CHECK(clean.size() == 3);
  REQUIRE(failures.size() == 1);
  CHECK_FALSE(failures[0].is_mismatch);
  CHECK(failures[0].stage == "draw");
  CHECK(failures[0].message.find("signal 11") != std::string::npos);
}

Expected expecting(std::vector<std::vector<double>> references, DataType dtype) {
  Expected expected{.references = {}, .operations = 2, .reduced = 1, .unit = 0x1p-24};
  for (const std::vector<double>& numbers : references) {
    HostTensor one(dtype, {static_cast<int64_t>(numbers.size())});
    for (size_t i = 0; i < numbers.size(); ++i) {
      one.setDouble(static_cast<int64_t>(i), numbers[i]);
    }
    expected.references.push_back(one);
  }
  return expected;
}

TEST_CASE("fuzzer: what counts as equal") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto compare = [&](std::vector<double> got, std::vector<std::vector<double>> references,
                           DataType dtype = DataType::Float) {
    return compareOutput(expecting({std::move(got)}, dtype).references[0],
                         expecting(std::move(references), dtype));
  };
  CHECK(compare({1, nan, inf}, {{1, nan, inf}}).mismatch.empty());
  CHECK_FALSE(compare({1 + 0x1p-20}, {{1}}).mismatch.empty());  // exact mode: one reference
  CHECK(compare({1 + 0x1p-20}, {{1}, {1}}).mismatch.empty());
  CHECK_FALSE(compare({1 + 0x1p-16}, {{1}, {1}}).mismatch.empty());
  CHECK_FALSE(compare({nan}, {{1}, {1}}).mismatch.empty());
  CHECK_FALSE(compare({-inf}, {{inf}, {inf}}).mismatch.empty());
  CHECK(compare({5}, {{inf}, {3}}).skipped == 1);                // its class is not determined
  CHECK(compare({1.5}, {{1}, {1.1}}).skipped == 1);              // nor its value
  CHECK_FALSE(compare({1e6}, {{1}, {1.1}}).mismatch.empty());    // but not that much
  CHECK(compare({1}, {{0}, {1}}, DataType::Bool).skipped == 1);  // a comparison on the edge
  CHECK_FALSE(compare({1}, {{0}, {0}}, DataType::Bool).mismatch.empty());
}

}  // namespace
}  // namespace nvfuser::fuzz
