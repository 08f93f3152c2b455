#include <segmenter/questions.h>

#include <algorithm>
#include <bit>
#include <unordered_set>

#include <ir/axis_map.h>
#include <ir/expr_visit.h>
#include <ir/field_text.h>
#include <ir/field_values.h>
#include <support/text.h>

namespace nvfuser {

Part makePart(const FusionTraits& traits, std::vector<int> units) {
  Part part;
  part.units = std::move(units);
  auto inside = [&](int unit) {
    return std::binary_search(part.units.begin(), part.units.end(), unit);
  };
  for (int unit : part.units) {
    for (int t : traits.unit(unit).writes) {
      const TensorTraits& tensor = traits.tensor(t);
      if (tensor.is_output || !std::all_of(tensor.readers.begin(), tensor.readers.end(), inside)) {
        part.stored.insert(t);
      }
    }
  }
  return part;
}

Group groupOf(const FusionTraits& traits, const Part& part) {
  std::vector<Expr*> exprs;
  std::unordered_set<const Expr*> known;
  for (int unit : part.units) {
    for (Expr* expr : traits.unit(unit).exprs) {
      if (known.insert(expr).second) {
        exprs.push_back(expr);
      }
    }
  }
  std::unordered_set<const TensorView*> stored;
  for (int t : part.stored) {
    stored.insert(traits.tensor(t).tv);
  }
  return makeGroup(std::move(exprs), [&](const TensorView* tv) { return stored.count(tv) != 0; });
}

int Questions::number(const std::string& text) {
  return texts_.emplace(text, static_cast<int>(texts_.size())).first->second;
}

int Questions::formOf(const Expr* expr) {
  const auto [place, is_new] = forms_.emplace(expr, 0);
  if (!is_new) {
    return place->second;
  }
  std::string form(exprKindName(expr->kind()));
  forEachFieldOf(expr, [&](const auto&, const auto& value) {
    append(form, "|");
    if constexpr (kIsNode<std::decay_t<decltype(value)>>) {
      append(form, value != nullptr && value->isConst() ? value->toInlineString() : "?");
    } else {
      append(form, fieldText(value));
    }
  });
  for (const Val* in : expr->inputs()) {
    if (in->isScalar()) {
      append(form, in->isConst() ? text(" ", in->dtype(), in->toInlineString()) : " ?");
    }
  }
  return place->second = number(form);
}

namespace {

/// A size as far as it decides whether a scheduler takes a group: small ones as they are, others by
/// their power of two, so that the steps of a chain that shrinks are of one form.
int64_t magnitude(int64_t size) {
  constexpr int64_t kExact = 64;
  return size <= kExact ? size : -static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(size)));
}

}  // namespace

int Questions::formOf(const TensorView* tv) {
  const auto [place, is_new] = forms_.emplace(tv, 0);
  if (!is_new) {
    return place->second;
  }
  std::string form = text(tv->dtype(), tv->isCpuScalar() ? " cpu" : "");
  for (const IterDomain* id : tv->getLogicalDomain()) {
    append(form,
           text(" ", static_cast<int>(id->getIterType()), ":", magnitude(traits_.extent(id))));
  }
  for (const IterDomain* id : tv->getAllocationDomain()) {
    const auto& logical = tv->getLogicalDomain();
    append(form, text(" @", std::find(logical.begin(), logical.end(), id) - logical.begin()));
  }
  for (const std::optional<bool>& contiguous : tv->getContiguity()) {
    append(form, !contiguous.has_value() ? "b" : *contiguous ? "t" : "f");
  }
  if (tv->isFusionInput()) {
    append(form, text(" input ", call_.layout ? call_.layout(tv) : std::string()));
  }
  return place->second = number(form);
}

std::vector<int> Questions::formOf(const Part& part) {
  std::vector<int> form;
  std::unordered_map<const void*, int> numbers;  // tensors, scalars
  std::unordered_map<int, int> classes;
  auto axis = [&](const IterDomain* id) {
    const int id_class = traits_.classOf(id);
    form.push_back(classes.emplace(id_class, static_cast<int>(classes.size())).first->second);
  };
  auto value = [&](const Val* val) {
    const auto [place, is_new] = numbers.emplace(val, static_cast<int>(numbers.size()));
    form.push_back(place->second);
    if (is_new && val->isA<TensorView>()) {
      const auto* tv = val->as<TensorView>();
      form.push_back(formOf(tv));
      for (const auto* list : {&tv->getRootDomain(), &tv->getLogicalDomain()}) {
        form.push_back(static_cast<int>(list->size()));
        for (const IterDomain* id : *list) {
          axis(id);
        }
      }
    }
  };
  for (int number_of_unit : part.units) {
    const UnitTraits& unit = traits_.unit(number_of_unit);
    for (const Expr* expr : unit.exprs) {
      form.push_back(formOf(expr));
      for (const Val* in : expr->inputs()) {
        if (!in->isConst()) {
          value(in);
        }
      }
      for (const Val* out : expr->outputs()) {
        value(out);
      }
    }
    for (int t : unit.writes) {
      form.push_back(part.stored.count(t) != 0 ? -2 : -3);
    }
  }
  return form;
}

bool Questions::takes(const Part& part) {
  auto ask = [&] {
    ++asked_;
    asked_units_ += static_cast<int64_t>(part.units.size());
    return takes_(groupOf(traits_, part));
  };
  if (!call_.one_answer_per_form) {
    return ask();
  }
  looked_up_units_ += static_cast<int64_t>(part.units.size());
  const auto [answer, is_new] = answers_.emplace(formOf(part), false);
  if (is_new) {
    answer->second = ask();
  }
  return answer->second;
}

}  // namespace nvfuser
