#include <ir/index_error.h>

#include <ir/internal_nodes.h>
#include <support/text.h>

namespace nvfuser {

namespace {

template <class Op, class Type>
bool isOp(const Val* val, Type (Op::*type)() const, Type wanted) {
  const Expr* def = val->definition();
  return def != nullptr && def->isA<Op>() && (def->as<Op>()->*type)() == wanted;
}

/// What was asked for, where an operation reads at `x < 0 ? x + extent : x`: x; else null.
const Val* countedFromTheEnd(const Expr& op) {
  const Val* index = op.isA<SelectOp>() ? op.input(1) : nullptr;
  if (index == nullptr || !isOp(index, &TernaryOp::getTernaryOpType, TernaryOpType::Where)) {
    return nullptr;
  }
  const Expr* choice = index->definition();
  const Val* asked = choice->input(2);
  const bool wraps = isOp(choice->input(0), &BinaryOp::getBinaryOpType, BinaryOpType::LT) &&
                     isOp(choice->input(1), &BinaryOp::getBinaryOpType, BinaryOpType::Add) &&
                     choice->input(0)->definition()->input(0)->sameAs(asked) &&
                     choice->input(1)->definition()->input(0)->sameAs(asked);
  return wraps ? asked : nullptr;
}

}  // namespace

void indexOutOfRange(const Expr& op, int64_t index, int64_t extent) {
  std::string read = op.toInlineString();
  const Val* asked = countedFromTheEnd(op);
  if (asked != nullptr) {
    const std::string computed = op.input(1)->toInlineString();
    if (const size_t at = read.find(computed); at != std::string::npos) {
      read.replace(at, computed.size(), asked->toInlineString());
    }
    index = index < 0 ? index - extent : index;
  }
  const bool from_beginning = asked == nullptr && index < 0 && index >= -extent;
  throw IndexRangeError(text(
      op.getOpString(), ": index ", index, " is out of range for an axis of extent ", extent,
      ", in ", join(op.outputs(), ", ", [](const Val* out) { return out->toInlineString(); }),
      " = ", read, "; ",
      extent > 0 ? text("pass indices from ", asked == nullptr ? 0 : -extent, " to ", extent - 1)
                 : std::string("nothing can be read of an axis without elements"),
      from_beginning ? ", counted from the beginning alone" : ""));
}

}  // namespace nvfuser
