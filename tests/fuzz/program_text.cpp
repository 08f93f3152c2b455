/// Random programs as data: drawing, text, dead code.
#include <doctest/doctest.h>

#include <fuzz/library/build.h>
#include <fuzz/library/draw_program.h>
#include <support/error.h>

namespace nvfuser::fuzz {
namespace {

TEST_CASE("random program: the same seed draws the same, and its text reads back") {
  for (const Kind& kind :
       {Kind{Focus::All}, Kind{Focus::Axes}, Kind{Focus::Sizes}, Kind{Focus::Axes, true}}) {
    CAPTURE(static_cast<int>(kind.focus));
    for (uint64_t seed = 0; seed < 300; ++seed) {
      CAPTURE(seed);
      const Program program = drawProgram(seed, kind);
      CHECK(program == drawProgram(seed, kind));
      CHECK(parseProgram(program.toString()) == program);
      CHECK(withoutDeadCode(program) == program);
      CHECK_FALSE(program.outputs.empty());
    }
  }
}

TEST_CASE("random program: a file that cannot be read names its line") {
  const auto message = [](std::string_view file) -> std::string {
    try {
      parseProgram(file);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  CHECK(message("seed 3\n") ==
        "fuzz file: there is no line \"fuzz 1\"; files come from ./dev fuzz");
  CHECK(message("fuzz 1\nmode loud\n") ==
        "fuzz file, line 2: expected exact, normal or special, found \"loud\"");
  CHECK(message("fuzz 1\n# a comment\nv1 = add v0\n") ==
        "fuzz file, line 3: expected \"(\", found \"v0\"");
  CHECK(
      message("fuzz 1\ninput v0 float sizes=[2] strides=[1,1] axes=[s]\n") ==
      "fuzz file, line 2: expected sizes, strides, axes and contiguity of one length, found \"\"");
}

TEST_CASE("random program: dead code goes, with its inputs") {
  const Program program = parseProgram(
      "fuzz 1\n"
      "input v0 float sizes=[2] strides=[1] axes=[s] contiguity=[1]\n"
      "input v1 float sizes=[2] strides=[1] axes=[s] contiguity=[1]\n"
      "v2 = neg(v0)\n"
      "v3 = add(v2, v1)\n"
      "output v2\n");
  const Program live = withoutDeadCode(program);
  CHECK(live.calls.size() == 1);
  CHECK(live.inputs.size() == 1);
}

TEST_CASE("random program: arguments have the layout that the file says, with NaN in the gaps") {
  const Program program = parseProgram(
      "fuzz 1\nmode exact\nvalues 5\n"
      "input v0 float sizes=[2,3] strides=[5,1] offset=2 axes=[s,s] contiguity=[0,1]\n"
      "input v1 int64_t sizes=[4] strides=[0] axes=[e] contiguity=[1] below=7\n"
      "v2 = neg(v0)\noutput v2\n");
  const KernelArgumentHolder arguments = makeArguments(program, cpuDevice());
  REQUIRE(arguments.size() == 2);
  const Tensor& padded = arguments[0].tensor();
  CHECK(padded.strides() == std::vector<int64_t>{5, 1});
  CHECK(padded.storageOffset() == 2);
  for (float element : padded.toHost<float>()) {
    CHECK(element == std::clamp(element, -4.0f, 4.0f));
  }
  const Tensor whole = padded.asStrided({10}, {1}, 0);
  CHECK(std::isnan(whole.toHost<float>()[0]));
  CHECK(std::isnan(whole.toHost<float>()[5]));
  const auto indices = arguments[1].tensor().toHost<int64_t>();
  CHECK(indices == std::vector<int64_t>(4, indices[0]));
  CHECK(indices[0] < 7);
}

}  // namespace
}  // namespace nvfuser::fuzz
