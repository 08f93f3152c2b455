#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

std::vector<Val*> operands(std::vector<Val*> all, const std::vector<Val*>& rest) {
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

UnaryOp::UnaryOp(IrBuilderPasskey passkey, UnaryOpType type, Val* out, Val* in)
    : ExprOf(passkey, {{in}, {out}}, {type}) {}

BinaryOp::BinaryOp(IrBuilderPasskey passkey, BinaryOpType type, Val* out, Val* lhs, Val* rhs)
    : ExprOf(passkey, {{lhs, rhs}, {out}}, {type}) {}

TernaryOp::TernaryOp(IrBuilderPasskey passkey, TernaryOpType type, Val* out, Val* in1, Val* in2,
                     Val* in3)
    : ExprOf(passkey, {{in1, in2, in3}, {out}}, {type}) {}

LoadStoreOp::LoadStoreOp(IrBuilderPasskey passkey, LoadStoreOpType type, Val* out, Val* in,
                         CacheOp cache_op)
    : ExprOf(passkey, {{in}, {out}}, {type, cache_op}) {}

BroadcastOp::BroadcastOp(IrBuilderPasskey passkey, Val* out, Val* in,
                         const std::vector<bool>& is_broadcast)
    : ExprOf(passkey, {{in}, {out}}, {is_broadcast}) {}

SqueezeOp::SqueezeOp(IrBuilderPasskey passkey, Val* out, Val* in,
                     const std::vector<bool>& is_squeeze)
    : ExprOf(passkey, {{in}, {out}}, {is_squeeze}) {}

ExpandOp::ExpandOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<Val*>& extents)
    : ExprOf(passkey, {operands({in}, extents), {out}}) {}

RepeatOp::RepeatOp(IrBuilderPasskey passkey, Val* out, Val* in) : ExprOf(passkey, {{in}, {out}}) {}

ReshapeOp::ReshapeOp(IrBuilderPasskey passkey, Val* out, Val* in)
    : ExprOf(passkey, {{in}, {out}}) {}

SliceOp::SliceOp(IrBuilderPasskey passkey, Val* out, Val* in, const std::vector<Val*>& ranges)
    : ExprOf(passkey, {operands({in}, ranges), {out}}) {}

PadOp::PadOp(IrBuilderPasskey passkey, Val* out, Val* in, Val* value,
             const std::vector<Val*>& widths)
    : ExprOf(passkey, {operands({in, value}, widths), {out}}) {}

CatOp::CatOp(IrBuilderPasskey passkey, Val* out, const std::vector<Val*>& inputs, int64_t axis)
    : ExprOf(passkey, {inputs, {out}}, {axis}) {}

ViewAsScalar::ViewAsScalar(IrBuilderPasskey passkey, Val* out, Val* in)
    : ExprOf(passkey, {{in}, {out}}) {}

ReductionOp::ReductionOp(IrBuilderPasskey passkey, BinaryOpType type, Val* init, Val* out, Val* in,
                         bool is_allreduce)
    : ExprOf(passkey, {{in}, {out}}, {type, init, is_allreduce}) {}

bool isSum(const Expr* expr) {
  return expr->isA<ReductionOp>() &&
         expr->as<ReductionOp>()->getReductionOpType() == BinaryOpType::Add;
}

WelfordOp::WelfordOp(IrBuilderPasskey passkey, Val* out_avg, Val* out_var, Val* out_n, Val* in_avg,
                     Val* in_var, Val* in_n)
    : ExprOf(passkey, {{in_avg, in_var, in_n}, {out_avg, out_var, out_n}}) {}

OnlineSoftmaxOp::OnlineSoftmaxOp(IrBuilderPasskey passkey, Val* out_max, Val* out_sum, Val* in_max,
                                 Val* in_sum)
    : ExprOf(passkey, {{in_max, in_sum}, {out_max, out_sum}}) {}

FullOp::FullOp(IrBuilderPasskey passkey, Val* out, Val* fill) : ExprOf(passkey, {{fill}, {out}}) {}

IotaOp::IotaOp(IrBuilderPasskey passkey, Val* out, Val* length, Val* start, Val* step)
    : ExprOf(passkey, {{length, start, step}, {out}}) {}

EyeOp::EyeOp(IrBuilderPasskey passkey, Val* out) : ExprOf(passkey, {{}, {out}}) {}

RNGOp::RNGOp(IrBuilderPasskey passkey, RNGOpType type, Val* out,
             const std::vector<Val*>& parameters, Val* philox_seed, Val* philox_offset)
    : ExprOf(passkey,
             {philox_seed ? operands(parameters, {philox_seed, philox_offset}) : parameters, {out}},
             {type}) {
  check(static_cast<int64_t>(parameters.size()) == numParameters(),
        "a random distribution has two parameters or none");
}

SelectOp::SelectOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index)
    : ExprOf(passkey, {{in, index}, {out}}, {dim}) {}

IndexSelectOp::IndexSelectOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index)
    : ExprOf(passkey, {{in, index}, {out}}, {dim}) {}

GatherOp::GatherOp(IrBuilderPasskey passkey, Val* out, Val* in, int64_t dim, Val* index,
                   bool exact_sizes)
    : ExprOf(passkey, {{in, index}, {out}}, {dim, exact_sizes}) {}

ScatterOp::ScatterOp(IrBuilderPasskey passkey, Val* out, Val* self, int64_t dim, Val* index,
                     Val* src, std::optional<BinaryOpType> accumulate_op)
    : ExprOf(passkey, {{self, index, src}, {out}}, {dim, accumulate_op}) {}

int64_t indexedAxis(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::SelectOp:
      return expr->as<SelectOp>()->dim();
    case ExprKind::IndexSelectOp:
      return expr->as<IndexSelectOp>()->dim();
    case ExprKind::GatherOp:
      return expr->as<GatherOp>()->dim();
    case ExprKind::ScatterOp:
      return expr->as<ScatterOp>()->dim();
    case ExprKind::WriteAtOp:
      return expr->as<WriteAtOp>()->dim();
    default:
      throw InternalError(text("no axis of ", expr->getOpString(), " is indexed"));
  }
}

WriteAtOp::WriteAtOp(IrBuilderPasskey passkey, Val* out, Val* target, int64_t dim, Val* index,
                     Val* src, std::optional<BinaryOpType> accumulate_op)
    : ExprOf(passkey, {{target, index, src}, {out}}, {dim, accumulate_op}) {}

WrittenOp::WrittenOp(IrBuilderPasskey passkey, Val* out, Val* target, Val* write)
    : ExprOf(passkey, {{target, write}, {out}}) {}

Split::Split(IrBuilderPasskey passkey, IterDomain* outer, IterDomain* inner, IterDomain* in,
             Val* factor, bool inner_split)
    : ExprOf(passkey, {{in}, {outer, inner}}, {factor, !inner_split}) {}

Merge::Merge(IrBuilderPasskey passkey, IterDomain* out, IterDomain* outer, IterDomain* inner)
    : ExprOf(passkey, {{outer, inner}, {out}}) {}

Swizzle::Swizzle(IrBuilderPasskey passkey, IterDomain* out_x, IterDomain* out_y, IterDomain* in_x,
                 IterDomain* in_y, SwizzleType type, SwizzleMode mode)
    : ExprOf(passkey, {{in_x, in_y}, {out_x, out_y}}, {type, mode}) {}

Swizzle1D::Swizzle1D(IrBuilderPasskey passkey, IterDomain* out, IterDomain* in, ParallelType type)
    : ExprOf(passkey, {{in}, {out}}, {type}) {}

Resize::Resize(IrBuilderPasskey passkey, IterDomain* out, IterDomain* in, Val* left, Val* right,
               int64_t step)
    : ExprOf(passkey, {{in}, {out}}, {left, right, step}) {}

}  // namespace nvfuser
