/// Text of every node, in one place. A tensor prints as
///   T3_l_float[iS4{i0}, rS5{i2}] ca_pos( 1 )
/// memory (g, s, l), dtype, then each loop axis: kind (i iteration, r reduction, b broadcast, …),
/// binding (S serial, V, UR, blockIdx.x, …), number, extent; "rf" after the number marks an axis
/// made by an operation (reshape, slice).
#include <algorithm>
#include <cstdio>
#include <iostream>

#include <ir/axis_map.h>
#include <ir/builder.h>
#include <ir/spelling.h>

namespace nvfuser {

namespace {

std::string prefixOf(DataType dtype) {
  if (isBooleanType(dtype)) {
    return "b";
  }
  if (isIntegralType(dtype)) {
    return "i";
  }
  if (isComplexType(dtype)) {
    return "c";
  }
  if (dtype == DataType::Float) {
    return "f";
  }
  if (dtype == DataType::Double) {
    return "d";
  }
  return "h";
}

std::string lower(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') {
      if (!out.empty()) {
        out += '_';
      }
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c;
    }
  }
  return out;
}

using enum BinaryOpType;

/// Operators that read best between their operands; empty for functions.
std::string_view infix(BinaryOpType type) {
  switch (type) {
    case Add:
      return "+";
    case Sub:
      return "-";
    case Mul:
      return "*";
    case Div:
      return "/";
    case Mod:
      return "%";
    case Lshift:
      return "<<";
    case Rshift:
      return ">>";
    case BitwiseAnd:
      return "&";
    case BitwiseOr:
      return "|";
    case BitwiseXor:
      return "^";
    case LogicalAnd:
      return "&&";
    case LogicalOr:
      return "||";
    case Eq:
      return "==";
    case NE:
      return "!=";
    case LT:
      return "<";
    case LE:
      return "<=";
    case GT:
      return ">";
    case GE:
      return ">=";
    default:
      return "";
  }
}

std::string inlineOperands(const Expr* expr) {
  return join(expr->inputs(), ", ", [](Val* val) { return val->toInlineString(); });
}

}  // namespace

bool isSpelledOut(const Val* scalar) {
  constexpr int kMostOperations = 40;
  std::vector<const Val*> open{scalar};
  for (int operations = 0; !open.empty();) {
    const Val* top = open.back();
    open.pop_back();
    if (top->isConst() || top->definition() == nullptr) {
      continue;
    }
    if (++operations > kMostOperations) {
      return false;
    }
    const std::vector<Val*>& operands = top->definition()->inputs();
    open.insert(open.end(), operands.begin(), operands.end());
  }
  return true;
}

// ---- values

std::string Val::toString(int) const {
  if (isConst()) {
    return value_.toString();
  }
  return text(prefixOf(dtype_), name());
}

std::string Val::toInlineString(int indent_size) const {
  if (isConst() || definition() == nullptr || !isSpelledOut(this)) {
    return toString(indent_size);
  }
  return text("( ", definition()->toInlineString(), " )");
}

std::string IterDomain::toString(int) const {
  std::string out = text(iterTypeName(getIterType()), parallelTypeName(getParallelType()), name(),
                         isRFactorProduct() ? "rf" : "");
  if (isClusteredBlockDim()) {
    out += "c";
  }
  out += text("{", extent_->toInlineString());
  if (hasExpandedExtent()) {
    out += text(" ex ", expanded_extent_->toInlineString());
  }
  out += "}";
  if (hasPaddingToMultipleOfWarp()) {
    out += padded_to_ ? text("_p", *padded_to_) : std::string("_p");
  }
  return out;
}

std::string IterDomain::toInlineString(int indent_size) const { return toString(indent_size); }

std::string TensorDomain::toString(int) const { return text("[", join(loop_, ", "), "]"); }

std::string TensorView::toString(int) const {
  static constexpr char kMemory[] = {'l', 's', 'g'};
  std::string out = text("T", name(), "_", kMemory[static_cast<size_t>(memory_type_)], "_",
                         dataTypeName(dtype()), domain_->toString());
  if (compute_at_pos_ > 0) {
    out += text(" ca_pos( ", compute_at_pos_, " )");
  }
  if (max_producer_pos_ > 0) {
    out += text(" produce_pos( ", max_producer_pos_, " )");
  }
  return out;
}

std::string TensorView::toInlineString(int) const { return text("T", name()); }

// ---- expressions

std::string Expr::getOpString() const {
  switch (kind_) {
    case ExprKind::UnaryOp:
      return std::string(opName(as<UnaryOp>()->getUnaryOpType()));
    case ExprKind::BinaryOp:
      return std::string(opName(as<BinaryOp>()->getBinaryOpType()));
    case ExprKind::TernaryOp:
      return std::string(opName(as<TernaryOp>()->getTernaryOpType()));
    case ExprKind::LoadStoreOp: {
      auto type = as<LoadStoreOp>()->opType();
      if (type == LoadStoreOpType::Set) {
        return "set";
      }
      return lower(loadStoreOpTypeName(type));
    }
    case ExprKind::ReductionOp:
      return text("reduction_", opName(as<ReductionOp>()->getReductionOpType()));
    case ExprKind::ScanOp:
      return text("scan_", opName(as<ScanOp>()->scanType()));
    case ExprKind::WriteAtOp:
      return "write_at";
    case ExprKind::TopKOp:
      return "topk";
    case ExprKind::CommunicationOp:
      return std::string(communicationName(as<CommunicationOp>()->type()));
    case ExprKind::SdpaFwdOp:
      return "sdpfa_fwd";
    case ExprKind::SdpaBwdOp:
      return "sdpfa_bwd";
    case ExprKind::ScaledMmaOp:
      return "scaled_mm";
    case ExprKind::GroupedMmaOp:
      return "grouped_mm";
    case ExprKind::RNGOp: {
      static constexpr std::string_view kNames[] = {"rand", "uniform", "randn", "normal"};
      return std::string(kNames[static_cast<size_t>(as<RNGOp>()->getRNGOpType())]);
    }
    default: {
      std::string name = lower(exprKindName(kind_));
      if (name.size() > 3 && name.ends_with("_op")) {
        name.resize(name.size() - 3);
      }
      return name;
    }
  }
}

std::string Expr::toInlineString(int) const {
  if (isA<BinaryOp>()) {
    auto* op = as<BinaryOp>();
    std::string_view symbol = infix(op->getBinaryOpType());
    if (!symbol.empty()) {
      return text(op->lhs()->toInlineString(), " ", symbol, " ", op->rhs()->toInlineString());
    }
  }
  if (isA<UnaryOp>() && as<UnaryOp>()->getUnaryOpType() == UnaryOpType::Cast) {
    return text("(", dataTypeName(output(0)->dtype()), ")", input(0)->toInlineString());
  }
  return text(getOpString(), "( ", inlineOperands(this), " )");
}

namespace {

std::string attributesText(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::BroadcastOp:
      return text(", flags = {",
                  join(expr->as<BroadcastOp>()->flags(), ", ",
                       [](int64_t f) { return f != 0 ? "true" : "false"; }),
                  "}");
    case ExprKind::SqueezeOp:
      return text(", flags = {",
                  join(expr->as<SqueezeOp>()->flags(), ", ",
                       [](int64_t f) { return f != 0 ? "true" : "false"; }),
                  "}");
    case ExprKind::ReductionOp:
      return text(", init = ", expr->as<ReductionOp>()->init()->toInlineString(),
                  expr->as<ReductionOp>()->isAllreduce() ? ", allreduce" : "");
    case ExprKind::CatOp:
      return text(", dim = ", expr->as<CatOp>()->concatenatedDim());
    case ExprKind::SelectOp:
    case ExprKind::IndexSelectOp:
    case ExprKind::GatherOp:
      return text(", dim = ", expr->attribute<int64_t>(0));
    case ExprKind::ScatterOp: {
      const auto accumulate = expr->as<ScatterOp>()->accumulateOp();
      return text(", dim = ", expr->attribute<int64_t>(0),
                  accumulate ? text(", accumulate = ", opName(*accumulate)) : std::string());
    }
    case ExprKind::WriteAtOp: {
      const auto accumulate = expr->as<WriteAtOp>()->accumulateOp();
      return text(", dim = ", expr->as<WriteAtOp>()->dim(),
                  accumulate ? text(", accumulate = ", opName(*accumulate)) : std::string());
    }
    case ExprKind::ScanOp:
      return text(", dim = ", expr->as<ScanOp>()->dim(),
                  expr->as<ScanOp>()->isBackward() ? ", backward" : "");
    case ExprKind::CommunicationOp: {
      const auto* op = expr->as<CommunicationOp>();
      const bool combines = op->type() == CommunicationType::Allreduce ||
                            op->type() == CommunicationType::ReduceScatter;
      return text(", along = ", parallelTypeName(op->along()), ", mesh = ", op->mesh().toString(),
                  combines ? text(", reduction = ", opName(op->reduction())) : std::string());
    }
    case ExprKind::ArgsortOp:
      return text(", dim = ", expr->as<ArgsortOp>()->dim(),
                  expr->as<ArgsortOp>()->isDescending() ? ", descending" : "");
    case ExprKind::TopKOp:
      return text(", dim = ", expr->as<TopKOp>()->dim(),
                  expr->as<TopKOp>()->isLargest() ? ", largest" : ", smallest");
    case ExprKind::SdpaFwdOp:
      return text(expr->attribute<bool>(0) ? ", bias" : "",
                  expr->attribute<bool>(1) ? ", mask" : "",
                  expr->attribute<bool>(2) ? ", scale" : "");
    default:
      return "";
  }
}

std::string transformText(const Expr* expr) {
  switch (expr->kind()) {
    case ExprKind::Split: {
      auto* op = expr->as<Split>();
      return text(op->innerSplit() ? "Split: " : "Outer split: ", op->in(), " by factor ",
                  op->factor()->toInlineString(), " -> ", op->outer(), ", ", op->inner());
    }
    case ExprKind::Merge: {
      auto* op = expr->as<Merge>();
      return text("Merge: ", op->outer(), " and ", op->inner(), " -> ", op->out());
    }
    case ExprKind::Resize: {
      auto* op = expr->as<Resize>();
      return text("Resize: ", op->in(), " by ", op->leftExpand()->toInlineString(), " and ",
                  op->rightExpand()->toInlineString(), " -> ", op->out());
    }
    case ExprKind::Swizzle: {
      auto* op = expr->as<Swizzle>();
      return text(op->swizzleType() == SwizzleType::XOR ? "Swizzle (XOR): " : "Swizzle (shift): ",
                  op->inX(), ", ", op->inY(), " -> ", op->outX(), ", ", op->outY());
    }
    default: {
      auto* op = expr->as<Swizzle1D>();
      return text("Swizzle1D: ", op->in(), " -> ", op->out());
    }
  }
}

bool isTransform(const Expr* expr) {
  return expr->isOneOf<Split, Merge, Swizzle, Swizzle1D, Resize>();
}

}  // namespace

std::string Expr::toString(int indent_size) const {
  std::string indent(static_cast<size_t>(indent_size) * 2, ' ');
  if (isTransform(this)) {
    return indent + transformText(this);
  }
  std::string args;
  bool scalar_infix = isA<BinaryOp>() && !infix(as<BinaryOp>()->getBinaryOpType()).empty() &&
                      !input(0)->isA<TensorView>() && !input(1)->isA<TensorView>();
  if (scalar_infix) {
    return text(indent, output(0), " = ", toInlineString());
  }
  args = join(inputs(), ", ", [](Val* val) {
    return val->isA<TensorView>() ? val->toInlineString() : val->toInlineString();
  });
  return text(indent, join(outputs(), ", "), " = ", getOpString(), "( ", args, attributesText(this),
              " )");
}

// ---- fusions

std::string Fusion::mathString() const {
  std::string out = "Inputs:\n";
  for (Val* val : inputs_) {
    out += text("  ", val, "\n");
  }
  out += "Outputs:\n";
  for (Val* val : outputs_) {
    out += text("  ", val, "\n");
  }
  out += "\n%kernel_math {\n";
  for (Expr* expr : exprs()) {
    if (tensorOutputs(expr).empty()) {
      continue;
    }
    out += text(expr->toString(1), "\n");
  }
  out += "}\n";
  return out;
}

std::string Fusion::transformsString() const {
  std::string out = "%transforms {\n";
  for (TensorView* tv : allTvs()) {
    out += text("  ", tv, "\n");
    auto list = [&](const char* name, const std::vector<IterDomain*>& ids) {
      out += text("    ", name, ": (", join(ids, ", "), ")\n");
    };
    if (tv->hasRoot()) {
      list("root domain", tv->getRootDomain());
    }
    list("logical domain", tv->getLogicalDomain());
    if (tv->hasAllocation()) {
      list("allocation domain", tv->getAllocationDomain());
    }
    for (Expr* expr : tv->domain()->allExprs()) {
      out += text(expr->toString(3), "\n");
    }
    if (tv->getLoopDomain() != tv->getLogicalDomain()) {
      list("loop domain", tv->getLoopDomain());
    }
  }
  out += "}\n";
  return out;
}

std::string Fusion::toString(bool include_transforms) const {
  std::string out = mathString();
  if (include_transforms) {
    out += "\n" + transformsString();
  }
  return out;
}

void Fusion::print(std::ostream& os, bool include_transforms) const {
  os << toString(include_transforms) << "\n";
}
void Fusion::print() const { print(std::cout); }
void Fusion::printMath(bool) const { std::cout << mathString() << "\n"; }
void Fusion::printTransforms() const { std::cout << transformsString() << "\n"; }

}  // namespace nvfuser
