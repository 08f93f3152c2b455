#include <preseg_passes/wide_combines.h>

#include <functional>

#include <ir/composite_nodes.h>
#include <ops/arith.h>
#include <ops/axes.h>
#include <ops/indexing.h>
#include <preseg_passes/rewrite.h>

namespace nvfuser::preseg_passes {

namespace {

bool isOrder(BinaryOpType type) { return type != BinaryOpType::Add && type != BinaryOpType::Mul; }

/// The dtype in which threads combine numbers of `dtype`; that itself where they can as it is, or
/// where nothing is wider.
DataType combinedIn(DataType dtype, BinaryOpType type, bool is_scan) {
  switch (dtype.type) {
    case PrimDataType::Half:
    case PrimDataType::BFloat16:
      return is_scan ? dtype : DataType::Float;
    case PrimDataType::Float8_e4m3fn:
    case PrimDataType::Float8_e5m2:
      return DataType::Float;
    case PrimDataType::Char:
    case PrimDataType::Byte:
    case PrimDataType::Short:
    case PrimDataType::UInt16:
      return DataType::Int32;
    case PrimDataType::UInt32:
      return DataType::Int;
    case PrimDataType::UInt64:
      return isOrder(type) ? dtype : DataType::Int;
    default:
      return dtype;
  }
}

/// Applies a combination to operands in another dtype; null stands for those it does not have.
using Again = std::function<TensorView*(TensorView* in, Val* other)>;

/// `other`: the initial value of a scan, the source of a scatter.
TensorView* widened(TensorView* in, Val* other, BinaryOpType type, bool is_scan,
                    const Again& again) {
  const DataType dtype = in->dtype();
  if (isComplexType(dtype) && type == BinaryOpType::Add) {
    const auto part = [&](auto of) {
      return again(of(in)->template as<TensorView>(), other == nullptr ? nullptr : of(other));
    };
    return complex(part([](Val* all) { return real(all); }),
                   part([](Val* all) { return imag(all); }));
  }
  const DataType wide = combinedIn(dtype, type, is_scan);
  if (wide == dtype) {
    return nullptr;
  }
  TensorView* result = again(castOp(wide, in), other == nullptr ? nullptr : castOp(wide, other));
  return castOp(dtype, result);
}

TensorView* widenedScan(const ScanOp* op) {
  const auto scanned = [op](TensorView* in, Val* init) {
    return scan(in, op->dim(), op->scanType(), init, op->isBackward());
  };
  return widened(op->input(0)->as<TensorView>(), op->init(), op->scanType(), true, scanned);
}

TensorView* widenedScatter(const ScatterOp* op) {
  auto* self = op->input(0)->as<TensorView>();
  auto* index = op->input(1)->as<TensorView>();
  Val* source = op->input(2);
  const bool is_number = !source->isA<TensorView>() && !isComplexType(self->dtype());
  if (!is_number && !source->isA<TensorView>()) {
    return nullptr;
  }
  if (is_number) {
    source = full(ops::sizesOf(index), source, self->dtype());
  }
  const auto scattered = [&](TensorView* in, Val* of) {
    return scatter(in, op->dim(), index, of, op->accumulateOp());
  };
  TensorView* result =
      op->accumulateOp() ? widened(self, source, *op->accumulateOp(), false, scattered) : nullptr;
  return result == nullptr && is_number ? scattered(self, source) : result;
}

}  // namespace

void widenCombines(Fusion& fusion) {
  FusionGuard guard(&fusion);
  for (const Expr* expr : fusion.exprs()) {
    TensorView* result = expr->isA<ScanOp>()      ? widenedScan(expr->as<ScanOp>())
                         : expr->isA<ScatterOp>() ? widenedScatter(expr->as<ScatterOp>())
                                                  : nullptr;
    if (result != nullptr) {
      replaceTensor(expr->output(0)->as<TensorView>(), result);
    }
  }
}

}  // namespace nvfuser::preseg_passes
