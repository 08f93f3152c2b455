#include <external/epilogue.h>

#include <algorithm>
#include <array>

#include <external/exponential.h>

namespace nvfuser::external {

namespace {

/// x · sigmoid(2 √(2/π) (x + 0.044715 x³)), which is x/2 · (1 + tanh(…)).
void tanhGelu(float* numbers, int64_t count) {
  constexpr float kMinusTwice = -2 * 0.7978845608028654f;
  std::array<float, 256> powers;
  for (int64_t i = 0; i < count; ++i) {
    const float x = numbers[i];
    powers[static_cast<size_t>(i)] = kMinusTwice * (x + 0.044715f * x * x * x);
  }
  rowFunctions().exponentials(powers.data(), count, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] /= 1 + powers[static_cast<size_t>(i)];
  }
}

}  // namespace

void applyEpilogue(Epilogue epilogue, float* numbers, int64_t count) {
  switch (epilogue) {
    case Epilogue::None:
      return;
    case Epilogue::Relu:
      for (int64_t i = 0; i < count; ++i) {
        numbers[i] = numbers[i] < 0 ? 0.0f : numbers[i];
      }
      return;
    case Epilogue::TanhGelu:
      for (int64_t i = 0; i < count; i += 256) {
        tanhGelu(numbers + i, std::min<int64_t>(count - i, 256));
      }
      return;
  }
}

}  // namespace nvfuser::external
