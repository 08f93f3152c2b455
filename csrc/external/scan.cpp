#include <external/combine.h>
#include <external/lanes.h>

namespace nvfuser::external {

void runScan(const Call& call) {
  const auto* op = call.op->as<ScanOp>();
  const TensorRef& in = call.input(0);
  const TensorRef& out = call.outputs.at(0);
  const Lanes<2> lanes({&out, &in}, in.sizes, op->dim());
  withElementType(in.dtype, "scan", [&](auto type) {
    using T = decltype(type);
    std::optional<Wide<T>> init;
    if (call.inputs.size() > 1) {
      T given{};
      storeElement(&given, in.dtype, call.scalar(1));
      init = widened(given);
    }
    call.machine->parallel(lanes.count(), [&](int64_t first, int64_t last) {
      for (int64_t lane = first; lane < last; ++lane) {
        const auto starts = lanes.starts(lane);
        T* to = static_cast<T*>(out.data) + starts[0];
        const T* from = static_cast<const T*>(in.data) + starts[1];
        Wide<T> sum{};
        for (int64_t step = 0; step < lanes.length(1); ++step) {
          const int64_t i = op->isBackward() ? lanes.length(1) - 1 - step : step;
          const Wide<T> next = widened(from[i * lanes.step(1)]);
          sum = step > 0 ? combine(op->scanType(), sum, next)
                         : (init ? combine(op->scanType(), *init, next) : next);
          storeNumber(to[i * lanes.step(0)], sum, out.dtype);
        }
      }
    });
  });
}

}  // namespace nvfuser::external
