/// Text of every node but scalars (scalar_text.cpp). What is printed here, fusion_reader.cpp reads.
/// A tensor prints as
///   T3_l_float[iS4{i0}, rS5{i2}] ca_pos( 1 )
/// memory (g, s, l), dtype, then each loop axis: kind (i iteration, r reduction, b broadcast, …),
/// binding (S serial, V, UR, blockIdx.x, …), number, extent; "rf" after the number marks an axis
/// made by an operation (reshape, slice). An operation prints its operands, then its fields.
#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/field_values.h>
#include <ir/spelling.h>

namespace nvfuser {

// ---- values

std::string IterDomain::toString(int) const {
  std::string out = text(iterTypeName(getIterType()), parallelTypeName(getParallelType()), name(),
                         isRFactorProduct() ? "rf" : "");
  if (isClusteredBlockDim()) {
    out += "c";
  }
  const LiteralTypes types = LiteralTypes::ofSizes();
  out += text("{", scalarText(extent(), types));
  if (hasExpandedExtent()) {
    out += text(" ex ", scalarText(expandedExtent(), types));
  }
  if (!start()->isZeroInt()) {
    out += text(" from ", scalarText(start(), types));
  }
  if (stopOffset() != nullptr) {
    out += text(" but ", scalarText(stopOffset(), types));
  }
  out += "}";
  if (hasPaddingToMultipleOfWarp()) {
    out += "_p";
    if (const auto size = getMaybeSizeAfterPadding()) {
      append(out, *size);
    }
  }
  return out;
}

std::string IterDomain::toInlineString(int indent_size) const { return toString(indent_size); }

std::string TensorDomain::toString(int) const { return text("[", join(loop(), ", "), "]"); }

std::string TensorView::toString(int) const {
  static constexpr char kMemory[] = {'l', 's', 'g'};
  std::string out = text("T", name(), "_", kMemory[static_cast<size_t>(fields_.memory_type)], "_",
                         dataTypeName(dtype()), domain()->toString());
  if (fields_.compute_at_pos > 0) {
    out += text(" ca_pos( ", fields_.compute_at_pos, " )");
  }
  if (fields_.max_producer_pos > 0) {
    out += text(" produce_pos( ", fields_.max_producer_pos, " )");
  }
  return out;
}

std::string TensorView::toInlineString(int) const { return text("T", name()); }

// ---- expressions

std::string Expr::getOpString() const {
  return visitExpr(this, [](const auto& op) {
    std::string name(std::decay_t<decltype(op)>::kName);
    forEachField<std::decay_t<decltype(op.fields())>>([&](const auto& field) {
      if (field.place == FieldPlace::InName) {
        if constexpr (std::is_enum_v<std::decay_t<decltype(op.fields().*(field.member))>>) {
          name += fieldText(op.fields().*(field.member));
        }
      }
    });
    return name;
  });
}

namespace {

/// Each that has not its default value: ", name = value", or ", name" for a flag.
std::string fieldsText(const Expr* expr, const LiteralTypes& types) {
  return visitExpr(expr, [&](const auto& op) {
    using Fields = std::decay_t<decltype(op.fields())>;
    const Fields defaults{};
    std::string out;
    forEachField<Fields>([&](const auto& field) {
      const auto& value = op.fields().*(field.member);
      using T = std::decay_t<decltype(value)>;
      if (field.place == FieldPlace::InName || value == defaults.*(field.member)) {
        return;
      }
      append(out, ", ");
      append(out, field.name);
      if constexpr (kIsNode<T>) {
        append(out, text(" = ", scalarText(value, types)));
      } else if constexpr (!std::is_same_v<T, bool>) {
        append(out, text(" = ", fieldText(value)));
      }
    });
    return out;
  });
}

bool isTransform(const Expr* expr) {
  return expr->isOneOf<Split, Merge, Swizzle, Swizzle1D, Resize>();
}

}  // namespace

std::string Expr::toString(int indent_size) const {
  const std::string indent(static_cast<size_t>(indent_size) * 2, ' ');
  if (isTransform(this)) {
    return text(indent, getOpString(), ": ", join(inputs(), ", "),
                fieldsText(this, LiteralTypes::ofSizes()), " -> ", join(outputs(), ", "));
  }
  const bool is_scalar = isA<BinaryOp>() && output(0)->isScalar();
  if (is_scalar && !infix(as<BinaryOp>()->getBinaryOpType()).empty()) {
    return text(indent, output(0), " = ", definitionText(this, LiteralTypes{}));
  }
  const std::string fields = fieldsText(this, LiteralTypes::of(output(0)->dtype()));
  const LiteralTypes types = LiteralTypes::ofOperands(kind_, output(0)->dtype());
  const std::string operands = join(inputs(), ", ", [&](const Val* val) {
    return val->isScalar() ? scalarText(val, types) : val->toInlineString();
  });
  const bool only_fields = operands.empty() && !fields.empty();
  return text(indent, join(outputs(), ", "), " = ", getOpString(), "( ", operands,
              only_fields ? fields.substr(2) : fields, " )");
}

}  // namespace nvfuser
