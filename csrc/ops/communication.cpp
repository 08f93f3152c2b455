#include <ops/communication.h>

#include <ir/builder.h>
#include <ops/axes.h>
#include <ops/utils.h>

namespace nvfuser {

namespace {

/// The result of one operand; not defined yet.
TensorView* resultOf(CommunicationType type, TensorView* in, const DeviceMesh& mesh,
                     ParallelType along, BinaryOpType reduction) {
  using enum CommunicationType;
  const std::string_view name = communicationName(type);
  ops::requireTensor(in, name);
  const int64_t devices = mesh.size(along);
  const std::vector<IterDomain*> of_in = ops::axesOf(in);
  const bool takes_parts = type == ReduceScatter || type == Alltoall;
  // (A symbol may stand for the number, once it is known what else the call has.)
  const auto parts = of_in.empty() ? 0 : ops::constantOf(ops::extentOf(of_in[0])).value_or(devices);
  if (takes_parts && parts != devices) {
    userError(name, ": ", ops::describe(in), " has no first axis of ", devices,
              " elements, one for each device of ", mesh.toString(), " along ",
              parallelTypeName(along));
  }
  using enum BinaryOpType;
  if (type == Allreduce || type == ReduceScatter) {
    const bool is_order = reduction == Max || reduction == Min;
    if (!is_order && reduction != Add && reduction != Mul) {
      userError(name, ": numbers of ", in, " cannot be combined by ", opName(reduction),
                "; add, mul, max and min can");
    }
    if (is_order) {
      ops::requireReal(in, name);
    }
  }
  std::vector<IterDomain*> axes;
  if (type == Allgather) {
    axes.push_back(ops::newIterAxis(ops::indexConstant(devices)));
  }
  for (size_t i = type == ReduceScatter ? 1 : 0; i < of_in.size(); ++i) {
    axes.push_back(ops::newOwnAxis(of_in[i]));
  }
  return ops::newTensor(std::move(axes), in->dtype());
}

}  // namespace

std::vector<TensorView*> communicate(CommunicationType type, const std::vector<TensorView*>& ins,
                                     const DeviceMesh& mesh, ParallelType along,
                                     BinaryOpType reduction, TensorView* after) {
  std::vector<TensorView*> outs;
  for (TensorView* in : ins) {
    outs.push_back(resultOf(type, in, mesh, along, reduction));
  }
  IrBuilder::create<CommunicationOp>(type, std::vector<Val*>(outs.begin(), outs.end()),
                                     std::vector<Val*>(ins.begin(), ins.end()), reduction, along,
                                     mesh, after);
  return outs;
}

TensorView* communicate(CommunicationType type, TensorView* in, const DeviceMesh& mesh,
                        ParallelType along, BinaryOpType reduction, TensorView* after) {
  return communicate(type, std::vector<TensorView*>{in}, mesh, along, reduction, after)[0];
}

}  // namespace nvfuser
