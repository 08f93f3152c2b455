/// Structural identity of a Fusion: two definitions made by the same calls are equal, and so are
/// those that print alike but for numbers. Walks inputs, operations and outputs in order, so names
/// do not matter; scalars are what they are computed from, whichever nodes they are made of.
#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include <ir/axis_map.h>
#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/field_values.h>

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
      if (!tensorOutputs(expr).empty()) {
        expression(expr);
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
      value(sizes.found);
      if (sizes.needed != nullptr) {
        value(sizes.needed);
      }
    }
    out_ += "\nkernel:";
    members(fusion.kernelHints());
  }
  std::string take() { return std::move(out_); }

 private:
  void expression(const Expr* expr) {
    out_ += text("\n", exprKindName(expr->kind()), "(");
    forEachFieldOf(expr, [&](const auto&, const auto& part) { member(part); });
    for (const Val* val : expr->inputs()) {
      value(val);
    }
    out_ += ")->";
    for (const Val* val : expr->outputs()) {
      value(val);
    }
  }

  template <typename Fields>
  void members(const Fields& fields) {
    forEachField<Fields>([&](const auto& field) { member(fields.*(field.member)); });
  }

  template <typename T>
  void member(const T& part) {
    if constexpr (kIsNode<T>) {
      if (part != nullptr) {
        value(part);
      }
    } else if constexpr (kIsNodes<T>) {
      out_ += "[";
      for (const auto* node : part) {
        value(node);
      }
      out_ += "]";
    } else if constexpr (std::is_same_v<T, MemoryType>) {
      out_ += memoryTypeName(part);
    } else if constexpr (std::is_same_v<T, Contiguity>) {
      for (const auto& entry : part) {
        out_ += entry ? (*entry ? "t" : "f") : "n";
      }
    } else if constexpr (std::is_same_v<T, DeviceMesh>) {
      out_ += part.empty() ? std::string() : fieldText(part);
    } else {
      out_ += text(fieldText(part), ",");
    }
  }

  void value(const Val* val) {
    if (val->isConst()) {
      out_ += text(dataTypeName(val->dtype()), ":", val->value().toString(), ",");
    } else if (val->isScalar()) {
      out_ += text("%", scalar(val), ",");
    } else {
      node(val);
    }
  }

  void node(const Val* val) {
    const auto [place, is_new] = number_.emplace(val, next_);
    if (!is_new) {
      out_ += text("%", place->second, ",");
      return;
    }
    out_ += text("%", next_++, ":");
    if (val->isA<IterDomain>()) {
      members(val->as<IterDomain>()->fields());
    } else if (val->isA<TensorDomain>()) {
      domain(val->as<TensorDomain>());
    } else {
      out_ += dataTypeName(val->dtype());
      members(val->as<TensorView>()->fields());
    }
    out_ += ",";
  }

  void domain(const TensorDomain* td) {
    for (const Expr* transform : td->allExprs()) {
      expression(transform);
    }
    members(td->fields());
  }

  /// Its number, after it has been described: equal ones have one number.
  size_t scalar(const Val* end) {
    std::vector<const Val*> open{end};
    while (!open.empty()) {
      const Val* val = open.back();
      if (number_.count(val) != 0) {
        open.pop_back();
        continue;
      }
      const Expr* definition = val->definition();
      const bool is_function = definition != nullptr && tensorOutputs(definition).empty() &&
                               definition->outputs().size() == 1 &&
                               std::all_of(definition->inputs().begin(), definition->inputs().end(),
                                           [](const Val* in) { return in->isScalar(); });
      const size_t before = open.size();
      if (is_function) {
        for (const Val* in : definition->inputs()) {
          if (!in->isConst() && number_.count(in) == 0) {
            open.push_back(in);
          }
        }
      }
      if (open.size() > before) {
        continue;
      }
      open.pop_back();
      number_[val] = is_function ? numberOf(val, definition) : numberOfSymbol(val);
    }
    return number_.at(end);
  }

  size_t numberOf(const Val* val, const Expr* definition) {
    const std::string form = text(dataTypeName(val->dtype()), definition->getOpString(), "(",
                                  join(definition->inputs(), ",",
                                       [&](const Val* in) {
                                         return in->isConst() ? text(dataTypeName(in->dtype()), ":",
                                                                     in->value().toString())
                                                              : text("%", number_.at(in));
                                       }),
                                  ")");
    const auto [place, is_new] = forms_.emplace(form, next_);
    if (is_new) {
      out_ += text("%", next_++, "=", form, ",");
    }
    return place->second;
  }

  size_t numberOfSymbol(const Val* val) {
    out_ += text("%", next_, ":", dataTypeName(val->dtype()),
                 val->isA<NamedScalar>() ? val->as<NamedScalar>()->symbol() : std::string(), ",");
    return next_++;
  }

  std::string out_;
  size_t next_ = 0;
  std::unordered_map<const Val*, size_t> number_;
  std::map<std::string, size_t> forms_;
};

}  // namespace

size_t Fusion::hash() const { return std::hash<std::string>()(Describer(*this).take()); }

bool Fusion::sameDefinition(const Fusion& other) const {
  return this == &other || Describer(*this).take() == Describer(other).take();
}

}  // namespace nvfuser
