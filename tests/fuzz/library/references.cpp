#include <fuzz/library/references.h>

#include <evaluator/interpreter.h>

namespace nvfuser::fuzz {

namespace {

constexpr int kNoisePairs = 2;

}  // namespace

std::vector<Expected> expectedOf(const Program& program, const Builder& builder) {
  std::vector<Expected> expected;
  for (int64_t id : program.outputs) {
    const Value& value = builder.at(id);
    expected.push_back({.references = {},
                        .operations = value.operations,
                        .reduced = value.reduced,
                        .unit = value.unit});
  }
  return expected;
}

std::string interpretInAllWays(const Program& program, Fusion& fusion,
                               std::vector<Expected>& expected) {
  const KernelArgumentHolder arguments = makeArguments(program, cpuDevice());
  InterpreterOptions options{.rounding = Rounding::CastsAndOutputs,
                             .philox_seed = program.value_seed,
                             .philox_offset = kRandomOffset};
  const auto keep = [&](std::vector<HostTensor> results) {
    for (size_t i = 0; i < results.size(); ++i) {
      expected[i].references.push_back(std::move(results[i]));
    }
  };
  try {
    keep(interpret(fusion, arguments.inputs(), options));
  } catch (const UserError& e) {
    return e.what();
  }
  options.rounding = Rounding::EveryOperation;
  std::vector<HostTensor> rounded = interpret(fusion, arguments.inputs(), options);
  if (program.mode == ValueMode::Exact) {
    for (size_t i = 0; i < rounded.size(); ++i) {
      const Comparison same = compareOutput(rounded[i], expected[i]);
      if (!same.mismatch.empty()) {
        throw InternalError(
            text("a program of exact values rounds: output ", i, " ", same.mismatch));
      }
    }
    return {};
  }
  keep(std::move(rounded));
  // Where a sum may be zero, or overflows on the way, depends on its order.
  options.rounding = Rounding::Disturbed;
  for (options.disturbance = 0; options.disturbance < 4; ++options.disturbance) {
    keep(interpret(fusion, arguments.inputs(), options));
  }
  options.rounding = Rounding::CastsAndOutputs;
  Builder noisy = build(program, true);
  for (int i = 0; i < 2 * kNoisePairs; ++i) {
    KernelArgumentHolder with_noise = arguments;
    with_noise.push(noiseArguments(noisy.noise(), program.value_seed + static_cast<uint64_t>(i / 2),
                                   i % 2 == 1));
    keep(interpret(noisy.fusion(), with_noise.inputs(), options));
  }
  return {};
}

}  // namespace nvfuser::fuzz
