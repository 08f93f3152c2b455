#include <capi/fusion_text.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <capi/definition_text.h>
#include <capi/operation_of_expr.h>
#include <ops/axes.h>
#include <support/error.h>

namespace nvfuser::capi {

namespace {

/// Whether Python's number has the constant's dtype: then it stands where it is read. Sizes are
/// given as integers.
bool standsInline(const Val* val) {
  const DataType dtype = val->dtype();
  return val->isConst() &&
         (dtype == val->value().dtype() || (dtype == DataType::Index && val->isConstInt()));
}

InputTensor described(const TensorView* tv) {
  InputTensor tensor;
  tensor.dtype = tv->dtype();
  tensor.is_cpu = tv->isCpuScalar();
  tensor.contiguity = tv->getContiguity();
  const std::vector<IterDomain*>& logical = tv->getLogicalDomain();
  const std::vector<IterDomain*>& memory = tv->getMaybeAllocationDomain();
  bool is_row_major = true;
  for (size_t i = 0; i < logical.size(); ++i) {
    tensor.shape.push_back(ops::constantOf(ops::extentOf(logical[i])).value_or(-1));
    const auto place = std::find(memory.begin(), memory.end(), logical[i]) - memory.begin();
    tensor.stride_order.push_back(static_cast<int64_t>(memory.size()) - 1 - place);
    is_row_major &= static_cast<size_t>(place) == i;
  }
  if (is_row_major) {
    tensor.stride_order.clear();
  }
  return tensor;
}

class Translator {
 public:
  explicit Translator(const Fusion& fusion) : fusion_(fusion) {
    for (Expr* expr : fusion.exprs()) {
      if (expr->isA<RNGOp>() && !expr->as<RNGOp>()->isDeterministic()) {
        draws_.push_back(writtenDraw(expr->as<RNGOp>()));
      }
    }
  }

  std::vector<std::string> statements() {
    for (Val* in : fusion_.inputs()) {
      if (in->isA<TensorView>()) {
        line(text(nameOf(in), " = ", defineTensorText(described(in->as<TensorView>()))));
      } else {
        line(text(nameOf(in), " = ", defineScalarText(in->dtype())));
      }
      setTold(in);
    }
    for (Val* out : fusion_.outputs()) {
      tell(out);
    }
    for (Val* out : fusion_.outputs()) {
      addOutput(out);
    }
    return std::move(lines_);
  }

 private:
  /// What has to be told before a value can be.
  std::vector<Val*> needsOf(Val* val) const {
    std::vector<Val*> needs;
    Expr* def = val->definition();
    if (def == nullptr) {
      return needs;
    }
    // Unseeded draws are counted: their order is a part of what they are.
    const auto own = std::find(draws_.begin(), draws_.end(), def);
    for (auto draw = draws_.begin(); own != draws_.end() && draw != own; ++draw) {
      needs.push_back((*draw)->output(0));
    }
    for (const WrittenArgument& argument : operationOf(def).arguments) {
      for (Val* operand : argument.values) {
        needs.push_back(withoutRealCopy(operand));
      }
    }
    return needs;
  }

  /// Tells what a value is, and all that it needs before.
  void tell(Val* target) {
    struct Open {
      Val* val;
      std::vector<Val*> needs;
      size_t next = 0;
    };
    std::vector<Open> open;
    auto visit = [&](Val* val) {
      if (!isTold(val)) {
        open.push_back({val, needsOf(val)});
      }
    };
    visit(target);
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next < top.needs.size()) {
        visit(top.needs[top.next++]);
        continue;
      }
      Val* val = top.val;
      open.pop_back();
      if (!isTold(val)) {
        write(val);
      }
    }
  }

  void write(Val* val) {
    if (Expr* def = val->definition()) {
      const WrittenCall call = operationOf(def);
      std::string names = join(def->outputs(), ", ", [&](Val* out) { return nameOf(out); });
      for (size_t i = 0; i < call.more_results; ++i) {
        append(names, ", _");
      }
      line(text(names, " = fd.ops.", call.operation, "(",
                join(call.arguments, ", ", [&](const auto& a) { return argumentText(a); }), ")"));
      for (Val* out : def->outputs()) {
        setTold(out);
      }
      return;
    }
    if (val->isConst()) {
      line(text(nameOf(val), " = fd.define_scalar(", constantText(val->value()),
                ", dtype=", dtypeText(val->dtype()), ")"));
    } else if (const auto axis = axes_.find(val); axis != axes_.end()) {
      line(text(nameOf(val), " = fd.ops.size(", nameOf(axis->second.first),
                ", dim=", axis->second.second, ")"));
    } else {
      userError("translate_fusion: ", val->toString(),
                " is read but neither an input nor computed; make it an input with add_input");
    }
    setTold(val);
  }

  std::string argumentText(const WrittenArgument& argument) const {
    std::string value = argument.text;
    if (argument.is_list) {
      value = text("[", join(argument.values, ", ", [&](Val* v) { return readText(v); }), "]");
    } else if (!argument.values.empty()) {
      value = readText(argument.values.front());
    }
    return argument.name.empty() ? value : text(argument.name, "=", value);
  }

  /// A value where it is read.
  std::string readText(Val* val) const {
    val = withoutRealCopy(val);
    if (standsInline(val)) {
      return constantText(val->value());
    }
    const auto known = val->isScalar() ? scalars_.find(val->fingerprint()) : scalars_.end();
    return known != scalars_.end() ? known->second : nameOf(val);
  }

  void addOutput(Val* out) {
    const AliasInfo& alias = fusion_.getOutputAlias(out);
    const bool is_written = alias.type == AllocationType::ReuseBuffer;
    if (is_written && written_.insert(out).second) {
      line(text("fd.add_output(", nameOf(out), ", ", nameOf(alias.aliased_io), ")"));
    }
    if (!is_written || alias.visibility == OutputVisibility::kVisible) {
      line(text("fd.add_output(", nameOf(out), ")"));
    }
  }

  static std::string nameOf(const Val* val) {
    return text(val->isA<TensorView>() ? "tv" : "c", val->name());
  }

  bool isTold(const Val* val) const {
    return val->isScalar() ? standsInline(val) || scalars_.count(val->fingerprint()) != 0
                           : tensors_.count(val) != 0;
  }

  void setTold(Val* val) {
    if (val->isScalar()) {
      scalars_.emplace(val->fingerprint(), nameOf(val));
      return;
    }
    tensors_.insert(val);
    const std::vector<IterDomain*> axes = ops::axesOf(val->as<TensorView>());
    for (size_t i = 0; i < axes.size(); ++i) {
      axes_.emplace(ops::extentOf(axes[i]), std::pair(val, i));
    }
  }

  void line(std::string statement) { lines_.push_back(std::move(statement)); }

  const Fusion& fusion_;
  std::vector<std::string> lines_;
  std::vector<const Expr*> draws_;  ///< in the order in which they are numbered
  std::unordered_set<const Val*> tensors_;
  std::unordered_map<Fingerprint, std::string, FingerprintHash> scalars_;
  std::unordered_map<const Val*, std::pair<const Val*, size_t>> axes_;  ///< whose extent it is
  std::unordered_set<const Val*> written_;
};

}  // namespace

std::vector<std::string> fusionStatements(const Fusion& fusion) {
  return Translator(fusion).statements();
}

}  // namespace nvfuser::capi
