/// Scans: what a thread has combined so far is carried from iteration to iteration.
///
///   init       carry = identity, or the scan's initial value, in front of the loops along the axis
///   step       carry = combine(carry, value); result = carry
///
/// Where threads share the axis, the initial value is the `total` of all of them, and a step's
/// carry starts from what stands in front of the thread's own elements:
///
///   clear      carry = identity
///   update     carry = combine(carry, value), over the thread's own elements
///   exchange   carry = what stands in front of them; total takes in those of all threads
///   step       as above, over the thread's own elements again
///
/// Carries are as wide as PyTorch's: Float for reduced precision, and Double for sums and products
/// of the CPU.
#include <algorithm>
#include <limits>

#include <device_lower/kernel_builder.h>
#include <iteration_space/refused_scans.h>
#include <ops/table/pointwise.h>

namespace nvfuser {

using kir::Scalar;

namespace {

DataType carryType(const ScanOp* op, DataType stored, LowerTarget target) {
  const bool adds = op->scanType() == BinaryOpType::Add || op->scanType() == BinaryOpType::Mul;
  const bool real = isReducedPrecisionFloat(stored) || stored == DataType::Float;
  if (real && adds && target == LowerTarget::Cpu) {
    return DataType::Double;
  }
  return isReducedPrecisionFloat(stored) ? DataType(DataType::Float) : stored;
}

/// (The greatest number so far of none but NaN is NaN.)
PolymorphicValue identityOf(BinaryOpType type, DataType dtype) {
  const bool skips_nan = type == BinaryOpType::FMax || type == BinaryOpType::FMin;
  if (skips_nan && isFloatingPointType(dtype)) {
    return {std::numeric_limits<double>::quiet_NaN()};
  }
  const auto identity = identityValue(type, dtype);
  check(identity.has_value(), "a scan's operation has an identity");
  return *identity;
}

}  // namespace

void KernelBuilder::makeCarries(const ScanOp* op) {
  auto* tv = op->output(0)->as<TensorView>();
  const Scalar elements = statesOf(tv);
  if (!elements->isConstant() || elements->value > kMaxAccumulators) {
    userError(
        "lower: ", tv, " is scanned in ", elements->toString(),
        " rows at a time, each with a value to carry; that many do not fit registers: reorder() "
        "the axis that it scans behind the others, or split those by a constant");
  }
  Carry carry;
  const DataType dtype = carryType(op, allocations_.of(tv).buffer->dtype, options_.target);
  carry.monoid.op = op->scanType();
  carry.monoid.dtypes = {dtype};
  carry.monoid.identity = {{identityOf(op->scanType(), dtype), dtype}};
  carry.own = declareState(tv, text("carry", tv->name()), dtype);
  if (!threadsOfScan(tv, loops_).empty()) {
    carry.total = declareState(tv, text("total", tv->name()), dtype);
  }
  carries_[tv] = std::move(carry);
}

kir::Ref KernelBuilder::carry(const Leaf& leaf, const Places& places, bool total) const {
  const Carry& carry = carries_.at(leaf.out);
  return {total ? carry.total : carry.own, placeOfState(leaf, leaf.out, places), 1};
}

void KernelBuilder::scan(Leaf& leaf, const Places& places, kir::Block& out) {
  const Carry& of = carries_.at(leaf.out);
  const Val* init = leaf.expr->as<ScanOp>()->init();
  switch (leaf.role) {
    case LeafRole::Init: {
      // Registers also where no element exists, so that threads outside contribute nothing.
      const bool total = of.total != nullptr;
      kir::Operand start = of.monoid.identity[0];
      if (init != nullptr) {
        // As the scan's dtype has it.
        const kir::Buffer& result = *allocations_.of(leaf.out).buffer;
        start = scalarOperand(init);
        if (init->dtype() != result.dtype && result.dtype != of.monoid.dtypes[0]) {
          const kir::Ref rounded{temporary(result.dtype, out), pool_.zero(), 1};
          out.push_back({kir::Assign{rounded, start}});
          start = rounded;
        }
      }
      out.push_back({kir::Assign{carry(leaf, places, total), std::move(start)}});
      break;
    }
    case LeafRole::Clear:
      out.push_back({kir::Assign{carry(leaf, places, false), of.monoid.identity[0]}});
      break;
    case LeafRole::Exchange:
      exchangeOfScan(leaf, places, out);
      break;
    default:
      stepOfScan(leaf, places, out);
  }
}

void KernelBuilder::stepOfScan(Leaf& leaf, const Places& places, kir::Block& out) {
  const kir::Ref sum = carry(leaf, places, false);
  const Scalar inside = bounds_proven_ ? pool_.one() : predicates_.inBounds(leaf, places);
  const Scalar takes = pool_.logicalAnd(inside, takesOnce(leaf, true));
  guarded(takes,
          {{kir::Combine{carries_.at(leaf.out).monoid,
                         {sum},
                         {operand(leaf.expr->input(0), leaf.expr, leaf.out, places)}}}},
          out);
  if (leaf.role != LeafRole::Step) {
    return;
  }
  Scalar writes = inside;
  const Allocation& allocation = allocations_.of(leaf.out);
  if (allocation.buffer->memory != MemoryType::Local && !allocation.per_task) {
    writes = pool_.logicalAnd(
        writes, predicates_.writesOnce(leaf.out, leaf, allocation.buffer->memory, places));
  }
  guarded(writes, {{kir::Assign{markWritten(indexer_.write(leaf.out, places)), sum}}}, out);
}

/// Scans of one kind in front of each other share an exchange.
bool KernelBuilder::joinsBlockScan(const kir::BlockScan& scan, Scalar bytes,
                                   kir::Block& out) const {
  auto* before = out.empty() ? nullptr : std::get_if<kir::BlockScan>(&out.back().node);
  if (before == nullptr || before->backward != scan.backward ||
      !std::equal(std::begin(scan.dims), std::end(scan.dims), before->dims) ||
      before->monoid.op != scan.monoid.op || before->monoid.dtypes[0] != scan.monoid.dtypes[0] ||
      before->state.size() >= static_cast<size_t>(kMaxGroup)) {
    return false;
  }
  before->state.push_back(scan.state[0]);
  before->total.push_back(scan.total[0]);
  before->monoid.dtypes.push_back(scan.monoid.dtypes[0]);
  before->monoid.identity.push_back(scan.monoid.identity[0]);
  auto* shared = const_cast<kir::Buffer*>(before->workspace);
  shared->elements = pool_.add(shared->elements, bytes);
  return true;
}

void KernelBuilder::exchangeOfScan(const Leaf& leaf, const Places& places, kir::Block& out) {
  static constexpr ParallelType kTid[] = {ParallelType::TIDx, ParallelType::TIDy,
                                          ParallelType::TIDz};
  kir::BlockScan statement;
  statement.monoid = carries_.at(leaf.out).monoid;
  statement.state = {carry(leaf, places, false)};
  statement.total = {carry(leaf, places, true)};
  statement.backward = leaf.expr->as<ScanOp>()->isBackward();
  for (int position : threadsOfScan(leaf.out, loops_)) {
    const ParallelType type = loops_.of(leaf.out, position).parallel;
    for (int d = 0; d < 3; ++d) {
      statement.dims[d] |= kTid[d] == type;
    }
  }
  const Scalar bytes = pool_.mul(threadsOfBlock(), dataTypeSizeByte(statement.monoid.dtypes[0]));
  if (joinsBlockScan(statement, bytes, out)) {
    return;
  }
  const bool in_loop = std::any_of(leaf.path.begin(), leaf.path.end(), [](const LoopClass* loop) {
    return !loop->isThread() && !loop->extent->isConstant(1);
  });
  if (in_loop) {
    guarded(sharedAmongWarps(statement.dims),
            {{kir::Sync{kir::SyncKind::BlockBarrier, nullptr,
                        "the last iteration is done with the workspace"}}},
            out);
  }
  statement.workspace =
      workspace(text("scan_work", leaf.out->name()), MemoryType::Shared, bytes, false);
  out.push_back({std::move(statement)});
}

}  // namespace nvfuser
