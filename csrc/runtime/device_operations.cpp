#include <runtime/device_operations.h>

#include <algorithm>

#include <runtime/device_attention.h>
#include <runtime/device_orders.h>
#include <runtime/device_products.h>
#include <runtime/device_scatters.h>

namespace nvfuser {

bool runOwnKernels(external::Call& call, const std::vector<KernelArgument>& operands,
                   const std::vector<ViewLayout>& layouts, std::vector<Tensor>& results,
                   Device& device, const RunContext& context) {
  const Expr* op = call.op;
  const bool are_there = std::all_of(operands.begin(), operands.end(), [&](const auto& operand) {
    return !operand.isTensor() || &operand.tensor().device() == &device;
  });
  if (device.kind() == DeviceKind::Cpu || !device.takesText() || !are_there) {
    return false;
  }
  switch (op->kind()) {
    case ExprKind::ArgsortOp:
    case ExprKind::TopKOp:
      if (auto ordered = orderOnDevice(op, operands[0].tensor(), layouts, device, context)) {
        results = std::move(*ordered);
        return true;
      }
      return false;
    case ExprKind::ScatterOp:
      if (auto scattered = scatterOnDevice(call, operands[0].tensor(), device, context)) {
        results[0] = std::move(*scattered);
        return true;
      }
      return false;
    case ExprKind::MatmulOp:
    case ExprKind::LinearOp:
      call.allocate();
      return device.kind() == DeviceKind::Cuda &&
             multiplyOnDevice(external::productOf(call), device, context);
    case ExprKind::ScaledMmaOp:
      call.allocate();
      return multiplyOnDevice(external::scaledProductOf(call), device, context);
    case ExprKind::GroupedMmaOp:
      call.allocate();
      return multiplyOnDevice(external::groupedProductOf(call), device, context);
    case ExprKind::SdpaFwdOp:
    case ExprKind::SdpaBwdOp:
      call.allocate();
      return attendOnDevice(call, device, context);
    default:
      return false;
  }
}

}  // namespace nvfuser
