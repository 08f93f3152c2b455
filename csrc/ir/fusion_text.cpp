/// Text of a Fusion: what it reads and writes, its operations, then each tensor's axes and whatever
/// else cannot be told from those. `Fusion::fromText` reads it (README.md has the grammar).
#include <algorithm>
#include <iostream>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/field_values.h>
#include <ir/spelling.h>

namespace nvfuser {

namespace {

/// Behind an output: whose storage it is written to.
std::string storageText(const AliasInfo& alias) {
  if (alias.aliased_io == nullptr) {
    return "";
  }
  return text(" storage( ", alias.aliased_io->toInlineString(), " )",
              alias.visibility == OutputVisibility::kHidden ? " hidden" : "",
              alias.type == AllocationType::Evaluate ? " evaluate" : "");
}

std::string contiguityText(const Contiguity& contiguity) {
  return text("(", join(contiguity, ", ", [](auto entry) { return fieldText(entry); }), ")");
}

/// Whether a list of axes is what a reader takes it for where it is not there.
bool isUsual(const DomainFields& domain, std::vector<IterDomain*> DomainFields::* list) {
  const std::vector<IterDomain*>& axes = domain.*list;
  if (list == &DomainFields::logical) {
    return false;
  }
  const bool follows_logical = list == &DomainFields::loop || list == &DomainFields::initial_loop;
  return follows_logical ? axes == domain.logical : axes.empty();
}

bool isUsual(const TensorDomain* domain, Contiguity DomainFields::*) {
  return domain->contiguity() ==
         TensorDomain::getContiguityFilledWith(domain->maybeAllocation(), true);
}

/// Lists in two turns: transforms make those of the second.
std::string listsText(const TensorDomain* domain, bool made_by_transforms) {
  std::string out;
  forEachField<DomainFields>([&](const auto& field) {
    const auto& value = domain->fields().*(field.member);
    if constexpr (kIsNodes<std::decay_t<decltype(value)>>) {
      const bool is_made = field.member == &DomainFields::loop ||
                           field.member == &DomainFields::initial_loop ||
                           field.member == &DomainFields::additional_ids;
      if (is_made == made_by_transforms && !isUsual(domain->fields(), field.member)) {
        append(out, text("    ", field.name, ": (", join(value, ", "), ")\n"));
      }
    } else if (made_by_transforms && !isUsual(domain, field.member)) {
      append(out, text("    ", field.name, ": ", contiguityText(value), "\n"));
    }
  });
  return out;
}

/// Fields that the line of a tensor does not show.
std::string tensorFieldsText(const TensorView* tv) {
  const TensorFields defaults{};
  std::string out;
  forEachField<TensorFields>([&](const auto& field) {
    const auto& value = tv->fields().*(field.member);
    using T = std::decay_t<decltype(value)>;
    if constexpr (!kIsNode<T> && !std::is_same_v<T, MemoryType> && !std::is_same_v<T, int64_t>) {
      if (value == defaults.*(field.member)) {
        return;
      }
      append(out, text("    ", field.name));
      append(out, std::is_same_v<T, bool> ? std::string("\n") : text(": ", fieldText(value), "\n"));
    }
  });
  return out;
}

/// Scalars whose names do not tell all of them: of an unusual dtype, or too long to be spelled out.
class NamedScalars {
 public:
  explicit NamedScalars(const Fusion& fusion) {
    for (const Val* val : fusion.usedMathVals()) {
      value(val);
    }
    for (const Expr* expr : fusion.exprs()) {
      for (const Val* val : expr->fieldVals()) {
        value(val);
      }
    }
    for (const SizeRequirement& sizes : fusion.sizeRequirements()) {
      value(sizes.found);
      value(sizes.needed);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void value(const Val* val) {
    if (val == nullptr || !seen_.insert(val).second) {
      return;
    }
    if (val->isA<TensorView>()) {
      const TensorDomain* domain = val->as<TensorView>()->domain();
      for (const IterDomain* id : domain->allIDs()) {
        for (const Val* part :
             {id->start(), id->extent(), id->expandedExtent(), id->stopOffset()}) {
          value(part);
        }
      }
      for (const Expr* transform : domain->allExprs()) {
        for (const Val* part : transform->fieldVals()) {
          value(part);
        }
      }
    } else if (val->isScalar()) {
      scalar(val);
    }
  }

  /// Operands before what is computed from them.
  void scalar(const Val* end) {
    std::vector<std::pair<const Val*, bool>> open{{end, false}};
    while (!open.empty()) {
      const auto [val, operands_are_done] = open.back();
      open.pop_back();
      if (operands_are_done) {
        line(val);
        continue;
      }
      if (val != end && !seen_.insert(val).second) {
        continue;
      }
      open.emplace_back(val, true);
      if (const Expr* definition = val->definition()) {
        for (const Val* in : definition->inputs()) {
          if (in->isScalar()) {
            open.emplace_back(in, false);
          }
        }
      }
    }
  }

  void line(const Val* val) {
    if (val->isConst()) {
      return;
    }
    const Expr* definition = val->definition();
    const bool computed = definition != nullptr && tensorOutputs(definition).empty();
    if (val->isA<NamedScalar>()) {
      out_ += text("  ", val, " : ", dataTypeName(val->dtype()), "\n");
    } else if (computed && !isSpelledOut(val)) {
      out_ += text("  ", val, " = ", definitionText(definition, LiteralTypes::ofSizes()), " : ",
                   dataTypeName(val->dtype()), "\n");
    } else if (!computed && val->dtype() != typeOfPrefix(prefixOf(val->dtype()).front())) {
      out_ += text("  ", val, " : ", dataTypeName(val->dtype()), "\n");
    }
  }

  std::unordered_set<const Val*> seen_;
  std::string out_;
};

std::string quoted(std::string_view message) {
  std::string out = "\"";
  for (const char c : message) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string sizesText(const Fusion& fusion) {
  const LiteralTypes types = LiteralTypes::ofSizes();
  std::string out;
  for (const SizeRequirement& sizes : fusion.sizeRequirements()) {
    const bool counts = sizes.kind == SizeRequirement::Kind::SameCount;
    out += text("  ", counts ? "same_count( " : "not_zero( ", scalarText(sizes.found, types),
                sizes.needed != nullptr ? text(", ", scalarText(sizes.needed, types)) : "", " ) ",
                quoted(sizes.message), "\n");
  }
  return out;
}

/// Of tensors that are there.
std::string standInsText(const Fusion& fusion) {
  std::unordered_set<const IterDomain*> there;
  for (const TensorView* tv : fusion.allTvs()) {
    for (const IterDomain* id : tv->domain()->allIDs()) {
      there.insert(id);
    }
  }
  std::string out;
  for (auto [stand_in, axis] : fusion.registeredExactMappings()) {
    if (there.count(stand_in) != 0 && there.count(axis) != 0) {
      out += text("  ", stand_in, " for ", axis, "\n");
    }
  }
  return out;
}

std::string kernelText(const Fusion& fusion) {
  std::string out = fusion.axesAreSettled() ? "  axes_are_settled\n" : "";
  const KernelHints defaults{};
  forEachField<KernelHints>([&](const auto& field) {
    const auto& value = fusion.kernelHints().*(field.member);
    if (value != defaults.*(field.member)) {
      append(out, text("  ", field.name));
      append(out, std::is_same_v<std::decay_t<decltype(value)>, bool>
                      ? std::string("\n")
                      : text(" = ", fieldText(value), "\n"));
    }
  });
  return out;
}

}  // namespace

std::string Fusion::mathString() const {
  std::string out = "Inputs:\n";
  for (Val* val : inputs_) {
    out += text("  ", val, "\n");
  }
  out += "Outputs:\n";
  for (Val* val : outputs_) {
    out += text("  ", val, storageText(getOutputAlias(val)), "\n");
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
    const TensorDomain* domain = tv->domain();
    const std::vector<Expr*> transforms = domain->allExprs();
    const std::string rest = listsText(domain, true) + tensorFieldsText(tv);
    if (!domain->hasRoot() && !domain->hasAllocation() && transforms.empty() && rest.empty()) {
      continue;  // its loops are its axes: the operations say it all
    }
    out += text("  ", tv, "\n", listsText(domain, false));
    for (const Expr* expr : transforms) {
      out += text(expr->toString(3), "\n");
    }
    out += rest;
  }
  out += "}\n";
  return out;
}

std::string Fusion::toString(bool include_transforms) const {
  std::string out = mathString();
  if (!include_transforms) {
    return out;
  }
  const std::string transforms = transformsString();
  if (transforms != "%transforms {\n}\n") {
    out += "\n" + transforms;
  }
  auto section = [&](std::string_view name, const std::string& lines) {
    if (!lines.empty()) {
      out += text("\n%", name, " {\n", lines, "}\n");
    }
  };
  section("scalars", NamedScalars(*this).take());
  section("sizes", sizesText(*this));
  section("stand_ins", standInsText(*this));
  section("kernel", kernelText(*this));
  return out;
}

void Fusion::print(std::ostream& os, bool include_transforms) const {
  os << toString(include_transforms) << "\n";
}
void Fusion::print() const { print(std::cout); }
void Fusion::printMath(bool) const { std::cout << mathString() << "\n"; }
void Fusion::printTransforms() const { std::cout << transformsString() << "\n"; }

}  // namespace nvfuser
