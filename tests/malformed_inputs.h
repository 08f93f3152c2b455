/// Running right programs with wrong arguments (tests/error/malformed_{arguments,storage}.cpp).
#pragma once

#include <malformed.h>

namespace nvfuser::malformed {

using D = DataType;

inline Tensor floats(std::vector<int64_t> sizes) {
  return Tensor::randn(std::move(sizes), D::Float, 1);
}

inline Tensor emulated(const Tensor& tensor) { return tensor.copyTo(emulatedDevice()); }

/// Compiles the program for the CPU, runs it with wrong arguments, and then with right ones.
inline void runWrong(Program& p, const KernelArgumentHolder& wrong,
                     const KernelArgumentHolder& right, const KernelArgumentHolder& outputs = {},
                     const LaunchParams& launch = LaunchParams(),
                     const CompileParams& params = {}) {
  KernelExecutor executor;
  executor.adopt(p.fusion);
  std::string message = messageOf([&] { executor.run(wrong, outputs, launch, params); });
  KernelArgumentHolder results = executor.run(right);
  testValidate(&p.fusion, results, right, __LINE__, __FILE__);
  if (message != "no error") {
    if (message.starts_with("not a user error")) {
      throw InternalError(message);
    }
    throw UserError(message);
  }
}

/// out[4, 6] = in0[4, 6] + in1[4, 6], sizes symbolic.
inline void sumOfTwo(Program& p) {
  TensorView* a = p.symbolicInput(2);
  TensorView* b = p.symbolicInput(2);
  p.output(add(a, b));
}

}  // namespace nvfuser::malformed
