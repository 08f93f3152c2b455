#include <iteration_space/follow_transform.h>

namespace nvfuser {

using kir::Scalar;

void followTransform(const Expr* expr, Symbols& symbols, const IndexOf& get, const SetIndex& set) {
  kir::ScalarPool& pool = symbols.pool();
  switch (expr->kind()) {
    case ExprKind::Split: {
      auto* op = expr->as<Split>();
      Scalar inner_extent = symbols.extent(op->inner());
      if (Scalar in = get(op->in())) {
        set(op->outer(), pool.div(in, inner_extent));
        set(op->inner(), pool.mod(in, inner_extent));
      } else if (Scalar outer = get(op->outer())) {
        if (Scalar inner = get(op->inner())) {
          set(op->in(), pool.add(pool.mul(outer, inner_extent), inner));
        }
      }
      break;
    }
    case ExprKind::Merge: {
      auto* op = expr->as<Merge>();
      Scalar inner_extent = symbols.extent(op->inner());
      if (Scalar out = get(op->out())) {
        if (symbols.extent(op->outer()) == pool.one()) {
          set(op->outer(), pool.zero());
          set(op->inner(), out);
        } else {
          set(op->outer(), pool.div(out, inner_extent));
          set(op->inner(), pool.mod(out, inner_extent));
        }
      } else if (Scalar outer = get(op->outer())) {
        if (Scalar inner = get(op->inner())) {
          set(op->out(), pool.add(pool.mul(outer, inner_extent), inner));
        }
      }
      break;
    }
    case ExprKind::Resize: {
      auto* op = expr->as<Resize>();
      Scalar left = symbols.of(op->leftExpand());
      if (Scalar in = get(op->in())) {
        if (op->step() == 1) {  // else some elements are none of the result's
          set(op->out(), pool.add(in, left));
        }
      } else if (Scalar out = get(op->out())) {
        set(op->in(), pool.sub(pool.mul(out, pool.constant(op->step())), left));
      }
      break;
    }
    case ExprKind::Swizzle: {
      auto* op = expr->as<Swizzle>();
      const bool is_xor = op->swizzleType() == SwizzleType::XOR;
      Scalar extent = symbols.extent(op->inY());
      if (Scalar x = get(op->inX())) {
        if (Scalar y = get(op->inY())) {
          set(op->outX(), x);
          set(op->outY(), is_xor ? pool.bitXor(y, x) : pool.mod(pool.add(y, x), extent));
        }
      } else if (Scalar out_x = get(op->outX())) {
        if (Scalar out_y = get(op->outY())) {
          set(op->inX(), out_x);
          // (y + x) mod n backwards: (out + n − x mod n) mod n.
          set(op->inY(),
              is_xor
                  ? pool.bitXor(out_y, out_x)
                  : pool.mod(pool.add(out_y, pool.sub(extent, pool.mod(out_x, extent))), extent));
        }
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace nvfuser
