/// Programs whose sizes vary: what their calls must come to, and what they are made of.
#include <doctest/doctest.h>

#include <evaluator/interpreter.h>
#include <fuzz/library/build.h>
#include <fuzz/library/draw_program.h>
#include <fuzz/library/run_calls.h>
#include <fuzz/library/settled.h>
#include <fuzz/library/shapes.h>

namespace nvfuser::fuzz {
namespace {

using Sizes = std::vector<int64_t>;

/// v0 [n, 4] in calls of n = 3, 1, 0; v1 [1]; v2 is k = 2, 1, 5.
std::string withCalls(std::string_view calls) {
  return "fuzz 1\nmode exact\nsizes vary\n"
         "input v0 float sizes=[3,4] strides=[4,1] axes=[s,s] contiguity=[1,1]\n"
         "input v1 float sizes=[1] strides=[1] axes=[s] contiguity=[1]\n"
         "scalar v2 int64_t 2\n"
         "again v0 sizes=[1,4] strides=[7,1] offset=0 v2=1\n"
         "again v0 sizes=[0,4] strides=[4,1] offset=0 v2=5\n" +
         std::string(calls) + "output v9\n";
}

/// Sizes of v9 in a call, or why it is refused.
std::string sizesOf(std::string_view calls, size_t call) {
  const Shapes shapes = shapesOf(parseProgram(withCalls(calls)), call);
  return shapes.refused().empty() ? text("[", join(shapes.of(9), ","), "]") : shapes.refused();
}

TEST_CASE("sizes that vary: shapes are PyTorch's") {
  struct Case {
    std::string_view calls;
    std::string_view sizes[3];
  };
  const Case kCases[] = {
      {"v9 = slice(v0, start_indices=[0,0], end_indices=[v2,9])\n", {"[2,4]", "[1,4]", "[0,4]"}},
      {"v9 = slice(v0, start_indices=[-1,1], end_indices=[9,v2])\n", {"[1,1]", "[1,0]", "[0,3]"}},
      {"v9 = reshape(v0, [-1, 2])\n", {"[6,2]", "[2,2]", "[0,2]"}},
      {"v9 = reshape(v0, [v2, -1])\n", {"[2,6]", "[1,4]", "[5,0]"}},
      {"v3 = size(v0, 0)\nv9 = reshape(v0, [v3, -1])\n",
       {"[3,4]", "[1,4]", "reshape: [0, 4] to [0, -1]"}},
      {"v9 = expand(v0, [v2, -1])\n",
       {"expand: [3, 4] to [2, -1]", "[1,4]", "expand: [0, 4] to [5, -1]"}},
      {"v3 = sum(v0, axes=[1])\nv4 = unsqueeze(v3, 1)\nv9 = add(v0, v4)\n",
       {"[3,4]", "[1,4]", "[0,4]"}},
      {"v3 = permute(v0, [1, 0])\nv9 = add(v0, v3)\n",
       {"add: [4, 3] does not go with 3 elements", "[4,4]",
        "add: [4, 0] does not go with 0 elements"}},
      {"v3 = size(v0, 0)\nv4 = full([v3, 1], 3, dtype:float)\nv9 = add(v4, v1)\n",
       {"[3,1]", "[1,1]", "[0,1]"}},
      {"v3 = iota(v2)\nv9 = add(v3, v1)\n", {"[2]", "[1]", "[5]"}},
      {"v9 = squeeze(v0, dims=[0])\n",
       {"squeeze: axis 0 of [3, 4]", "[4]", "squeeze: axis 0 of [0, 4]"}},
      {"v9 = cat([v0, v0], dim=0)\n", {"[6,4]", "[2,4]", "[0,4]"}},
      {"v9, v8 = chunk(v0, 2, 0)\n", {"[2,4]", "[1,4]", "[0,4]"}},
      {"v9 = pad(v0, pad_widths=[0, 0, -1, 0])\n",
       {"[2,4]", "[0,4]", "pad: an axis of -1 elements"}},
      {"v9 = broadcast_in_dim(v1, [4, v2], [1])\n", {"[4,2]", "[4,1]", "[4,5]"}},
  };
  for (const Case& one : kCases) {
    for (size_t call = 0; call < 3; ++call) {
      CAPTURE(one.calls);
      CAPTURE(call);
      CHECK(sizesOf(one.calls, call) == one.sizes[call]);
    }
  }
}

TEST_CASE("sizes that vary: a declaration forbids other sizes, and a layout may not fit") {
  const Program program = parseProgram(
      "fuzz 1\nsizes vary\n"
      "input v0 float sizes=[3,4] strides=[4,1] axes=[s,c] contiguity=[1,1]\n"
      "again v0 sizes=[3,5] strides=[5,1] offset=0\n"
      "again v0 sizes=[3,4] strides=[8,2] offset=0\n"
      "again v0 sizes=[1,4] strides=[-3,1] offset=0\n"
      "v1 = neg(v0)\noutput v1\n");
  CHECK(shapesOf(program, 0).refused().empty());
  CHECK(shapesOf(program, 1).refused() == "axis 1 of v0 is declared to have 4 elements, not 5");
  CHECK(shapesOf(program, 0).fitsLayout());
  CHECK_FALSE(shapesOf(program, 2).fitsLayout());
  CHECK(shapesOf(program, 3).fitsLayout());  // one element
}

TEST_CASE("sizes that vary: drawn programs have the sizes that the interpreter finds") {
  int results = 0;
  int refusals = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Program program = drawProgram(seed, {Focus::Sizes});
    CAPTURE(program.toString());
    for (size_t call = 0; call <= program.again.size(); ++call) {
      CAPTURE(call);
      const Shapes shapes = shapesOf(program, call);
      if (!shapes.refused().empty()) {
        CHECK(call > 0);
        ++refusals;
        continue;
      }
      ++results;
      const Program constant = settled(program, call, shapes);
      Builder builder = build(constant);
      const auto outputs =
          interpret(builder.fusion(), makeArguments(constant, cpuDevice()).inputs(), {});
      REQUIRE(outputs.size() == program.outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        CHECK(outputs[i].sizes() == shapes.of(program.outputs[i]));
      }
    }
  }
  CHECK(results > 400);
  CHECK(refusals > 20);
}

TEST_CASE("sizes that vary: calls of ordinary sizes are right, and a wrong one is noticed") {
  const auto failuresOf = [](std::string_view file) {
    RunOptions options;
    options.interpret = true;
    const Outcome outcome = runCalls(parseProgram(file), options, [](auto) {});
    std::string all;
    for (const Failure& failure : outcome.failures) {
      all += text(failure.stage, ": ", failure.message, "\n");
    }
    return all;
  };
  CHECK(failuresOf("fuzz 1\nmode exact\nsizes vary\n"
                   "input v0 float sizes=[3,4] strides=[4,1] axes=[s,s] contiguity=[1,1]\n"
                   "input v1 float sizes=[3,4] strides=[4,1] axes=[s,s] contiguity=[1,1]\n"
                   "again v0 sizes=[5,2] strides=[2,1] offset=0 v1 sizes=[5,2] strides=[2,1] "
                   "offset=0\n"
                   "v2 = add(v0, v1)\nv3 = sum(v2, axes=[1])\noutput v3\n") == "");
}

}  // namespace
}  // namespace nvfuser::fuzz
