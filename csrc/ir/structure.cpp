/// Structural identity of a Fusion: two definitions made by the same calls are equal. Walks both in
/// parallel over inputs, expressions and outputs, matching node by node, so names do not matter.
#include <functional>
#include <unordered_map>

#include <ir/fusion.h>
#include <ir/internal_nodes.h>

namespace nvfuser {

namespace {

/// Gives every value a number in order of first meeting and describes nodes by those numbers.
class Describer {
 public:
  explicit Describer(const Fusion& fusion) {
    out_ += "in:";
    for (const Val* val : fusion.inputs()) {
      value(val);
    }
    for (const Expr* expr : fusion.exprs()) {
      out_ += text("\n", exprKindName(expr->kind()), "(");
      for (const Attribute& attribute : expr->attributes()) {
        describe(attribute);
      }
      for (const Val* val : expr->inputs()) {
        value(val);
      }
      out_ += ")->";
      for (const Val* val : expr->outputs()) {
        value(val);
      }
    }
    out_ += "\nout:";
    for (const Val* val : fusion.outputs()) {
      value(val);
      const AliasInfo& alias = fusion.getOutputAlias(val);
      if (alias.aliased_io != nullptr) {
        out_ += text("~", static_cast<int>(alias.type), static_cast<int>(alias.visibility));
        value(alias.aliased_io);
      }
    }
    for (const SizeRequirement& sizes : fusion.sizeRequirements()) {
      out_ += "\nsizes:";
      extent(sizes.found);
      if (sizes.needed != nullptr) {
        extent(sizes.needed);
      }
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void describe(const Attribute& attribute) {
    if (auto* b = std::get_if<bool>(&attribute)) {
      out_ += text(*b, ",");
    }
    if (auto* i = std::get_if<int64_t>(&attribute)) {
      out_ += text(*i, ",");
    }
    if (auto* d = std::get_if<double>(&attribute)) {
      out_ += text(*d, ",");
    }
    if (auto* t = std::get_if<DataType>(&attribute)) {
      out_ += text(t->toString(), ",");
    }
    if (auto* list = std::get_if<std::vector<int64_t>>(&attribute)) {
      out_ += text("{", join(*list, ","), "}");
    }
    if (auto* val = std::get_if<Val*>(&attribute)) {
      if (*val != nullptr) {
        value(*val);
      }
    }
  }

  void value(const Val* val) {
    auto found = number_.find(val);
    if (found != number_.end()) {
      out_ += text("%", found->second, ",");
      return;
    }
    if (val->isConst()) {
      out_ += text(dataTypeName(val->dtype()), ":", val->value().toString(), ",");
      return;
    }
    number_[val] = number_.size();
    out_ += text("%", number_[val], ":", dataTypeName(val->dtype()));
    if (val->isA<NamedScalar>()) {
      out_ += val->as<NamedScalar>()->symbol();
    }
    if (val->isA<TensorView>()) {
      tensor(val->as<TensorView>());
    }
    out_ += ",";
  }

  void tensor(const TensorView* tv) {
    const TensorDomain* td = tv->domain();
    auto axes = [&](const std::vector<IterDomain*>& ids) {
      out_ += "[";
      for (const IterDomain* id : ids) {
        axis(id);
      }
      out_ += "]";
    };
    axes(td->root());
    for (const Expr* expr : td->allExprs()) {
      out_ += text(exprKindName(expr->kind()), "(");
      for (const Attribute& attribute : expr->attributes()) {
        describe(attribute);
      }
      for (const Val* val : expr->inputs()) {
        axis(val->as<IterDomain>());
      }
      out_ += ")->";
      for (const Val* val : expr->outputs()) {
        axis(val->as<IterDomain>());
      }
    }
    axes(td->logical());
    axes(td->allocation());
    axes(td->loop());
    for (const auto& c : td->contiguity()) {
      out_ += c ? (*c ? "t" : "f") : "n";
    }
    if (tv->hasDeviceMesh()) {
      out_ +=
          text(tv->getDeviceMesh().toString(), "[", join(tv->getDeviceMesh().shape(), ","), "]");
    }
    out_ += text(tv->isCpuScalar() ? "c" : "", memoryTypeName(tv->getMemoryType()),
                 tv->getComputeAtPosition());
  }

  void axis(const IterDomain* id) {
    auto found = number_.find(id);
    if (found != number_.end()) {
      out_ += text("%", found->second, ",");
      return;
    }
    number_[id] = number_.size();
    out_ += text(iterTypeName(id->getIterType()), parallelTypeName(id->getParallelType()),
                 id->isRFactorProduct() ? "rf" : "");
    extent(id->extent());
    if (id->hasExpandedExtent()) {
      extent(id->expandedExtent());
    }
  }

  /// An extent is described by how it is computed.
  void extent(const Val* val) {
    if (number_.count(val) == 0 && val->definition() != nullptr && !val->isConst()) {
      const Expr* def = val->definition();
      out_ += text(def->getOpString(), "<");
      for (const Val* in : def->inputs()) {
        extent(in);
      }
      out_ += ">";
    }
    value(val);
  }

  std::string out_;
  std::unordered_map<const Val*, size_t> number_;
};

}  // namespace

size_t Fusion::hash() const { return std::hash<std::string>()(Describer(*this).take()); }

bool Fusion::sameDefinition(const Fusion& other) const {
  return this == &other || Describer(*this).take() == Describer(other).take();
}

}  // namespace nvfuser
