#include <ir/axis_reader.h>

#include <algorithm>
#include <cctype>

#include <ir/builder.h>
#include <ir/field_text.h>
#include <ir/field_values.h>

namespace nvfuser {

namespace {

/// The value whose name is next, the longest one.
template <typename Enum>
Enum takeValue(TextCursor& at, std::string_view what) {
  std::optional<Enum> found;
  for (const Enum value : allValues<Enum>()) {
    if (at.sees(valueName(value)) &&
        (!found || valueName(*found).size() < valueName(value).size())) {
      found = value;
    }
  }
  if (!found) {
    at.fail(text(what, ": one of ",
                 join(allValues<Enum>(), ", ", [](Enum value) { return valueName(value); })));
  }
  at.take(valueName(*found));
  return *found;
}

MemoryType takeMemory(TextCursor& at) {
  if (at.take("l_")) {
    return MemoryType::Local;
  }
  if (at.take("s_")) {
    return MemoryType::Shared;
  }
  at.expect("g_", "for global memory, 's_' or 'l_' for shared memory or registers");
  return MemoryType::Global;
}

/// "ca_pos( 1 )".
int64_t takePosition(TextCursor& at, std::string_view name) {
  if (!at.take(name)) {
    return 0;
  }
  at.expect("(", "before a position");
  const int64_t position = at.takeInteger("a position");
  at.expect(")", "behind a position");
  return position;
}

Contiguity takeContiguity(TextCursor& at) {
  at.expect("(", "before contiguity");
  Contiguity contiguity;
  while (!at.take(")")) {
    if (at.take("none")) {
      contiguity.emplace_back();
    } else {
      bool flag = false;
      readField(at, flag);
      contiguity.emplace_back(flag);
    }
    if (!at.take(",") && !at.sees(")")) {
      at.fail("',' or ')' in a list of contiguity");
    }
  }
  return contiguity;
}

}  // namespace

// ---- axes

AxisFields AxisReader::fields(TextCursor& at) {
  const LiteralTypes types = LiteralTypes::ofSizes();
  AxisFields fields;
  fields.start = fusion_.zeroVal(DataType::Index);
  at.expect("{", "before the extent of an axis");
  fields.extent = scalars_.read(at, types);
  if (at.take("ex ")) {
    fields.expanded_extent = scalars_.read(at, types);
  }
  if (at.take("from ")) {
    fields.start = scalars_.read(at, types);
  }
  if (at.take("but ")) {
    fields.stop_offset = scalars_.read(at, types);
  }
  at.expect("}", "behind the extent of an axis");
  fields.is_padded = at.take("_p");
  if (fields.is_padded && !at.atEnd() &&
      std::isdigit(static_cast<unsigned char>(at.rest().front())) != 0) {
    fields.padded_to = at.takeInteger("a size");
  }
  return fields;
}

IterDomain* AxisReader::axis(TextCursor& at) {
  const auto iter_type = takeValue<IterType>(at, "the kind of an axis");
  const auto parallel_type = takeValue<ParallelType>(at, "the binding of an axis");
  const int64_t number = at.takeInteger("the number of an axis");
  const bool is_rfactor = at.take("rf");
  const bool is_clustered = at.take("c");
  AxisFields read = fields(at);
  read.iter_type = iter_type;
  read.parallel_type = parallel_type;
  read.is_rfactor = is_rfactor;
  read.is_clustered = is_clustered;
  IterDomain*& known = axes_[number];
  if (known == nullptr) {
    known = IrBuilder::createInContainer<IterDomain>(&fusion_, read);
    names_.set(known, number);
  } else if (!sameFields(known->fields(), read)) {
    at.refuse(text("axis ", number, " is another one here than before, where it is ", known));
  }
  return known;
}

std::vector<IterDomain*> AxisReader::axes(TextCursor& at, std::string_view open,
                                          std::string_view close) {
  at.expect(open, "before axes");
  std::vector<IterDomain*> result;
  while (!at.take(close)) {
    result.push_back(axis(at));
    if (!at.take(",") && !at.sees(close)) {
      at.fail(text("',' or '", close, "' behind an axis"));
    }
  }
  return result;
}

// ---- tensors

TensorReader::Entry TensorReader::head(TextCursor& at) {
  Entry entry;
  at.expect("T", "and a number, for a tensor");
  entry.number = at.takeInteger("the number of a tensor");
  at.expect("_", "before the memory of a tensor");
  entry.tensor.memory_type = takeMemory(at);
  entry.dtype = ScalarReader::readType(at);
  entry.domain.loop = axes_.axes(at, "[", "]");
  entry.tensor.compute_at_pos = takePosition(at, "ca_pos");
  entry.tensor.max_producer_pos = takePosition(at, "produce_pos");
  return entry;
}

bool TensorReader::field(TextCursor& at, Entry& entry) {
  bool found = false;
  auto names = [&](std::string_view name) { return !found && at.sees(name); };
  forEachField<DomainFields>([&](const auto& field) {
    if (!names(field.name) || !at.rest().substr(field.name.size()).starts_with(":")) {
      return;
    }
    found = true;
    at.advance(field.name.size() + 1);
    auto& value = entry.domain.*(field.member);
    if constexpr (kIsNodes<std::decay_t<decltype(value)>>) {
      value = axes_.axes(at, "(", ")");
      entry.has_loop |= field.member == &DomainFields::loop;
      entry.has_initial_loop |= field.member == &DomainFields::initial_loop;
    } else {
      value = takeContiguity(at);
      entry.has_contiguity = true;
    }
  });
  forEachField<TensorFields>([&](const auto& field) {
    auto& value = entry.tensor.*(field.member);
    using T = std::decay_t<decltype(value)>;
    if constexpr (!kIsNode<T> && !std::is_same_v<T, MemoryType> && !std::is_same_v<T, int64_t>) {
      if (!names(field.name)) {
        return;
      }
      found = true;
      at.advance(field.name.size());
      if constexpr (std::is_same_v<T, bool>) {
        value = true;
      } else {
        at.expect(":", "behind the name of a field");
        readField(at, value);
      }
    }
  });
  return found;
}

TensorView* TensorReader::make(Entry entry) {
  DomainFields& domain = entry.domain;
  if (domain.logical.empty()) {
    domain.logical = domain.loop;
  }
  if (!entry.has_initial_loop) {
    domain.initial_loop = domain.logical;
  }
  if (!entry.has_contiguity) {
    domain.contiguity = TensorDomain::getContiguityFilledWith(
        domain.allocation.empty() ? domain.logical : domain.allocation, true);
  }
  entry.tensor.domain = IrBuilder::createInContainer<TensorDomain>(&fusion_, domain);
  auto* tv = IrBuilder::createInContainer<TensorView>(&fusion_, entry.tensor, entry.dtype);
  names_.set(tv, entry.number);
  return tensors_[entry.number] = tv;
}

TensorView* TensorReader::tensor(TextCursor& at) {
  Entry entry = head(at);
  const auto known = tensors_.find(entry.number);
  if (known == tensors_.end()) {
    return make(std::move(entry));
  }
  const TensorView* tv = known->second;
  const TensorFields& fields = tv->fields();
  if (tv->dtype() != entry.dtype || tv->getLoopDomain() != entry.domain.loop ||
      fields.memory_type != entry.tensor.memory_type ||
      fields.compute_at_pos != entry.tensor.compute_at_pos ||
      fields.max_producer_pos != entry.tensor.max_producer_pos) {
    at.refuse(text("T", entry.number, " is another one here than before, where it is ", tv));
  }
  return known->second;
}

TensorView* TensorReader::named(TextCursor& at) {
  at.expect("T", "and a number, for a tensor");
  const int64_t number = at.takeInteger("the number of a tensor");
  const auto known = tensors_.find(number);
  if (known == tensors_.end()) {
    at.refuse(text("T", number, " is read before it is computed; an input stands under 'Inputs:'"));
  }
  return known->second;
}

}  // namespace nvfuser
