/// Reductions as text. A serial step is one expression; between threads the parts travel together
/// in a struct.
///
///   struct State0 {                                       // add of float
///     float v0;
///     static State0 identity() { return {0.0f}; }
///     static State0 combine(const State0& a, const State0& b) { return {a.v0 + b.v0}; }
///   };
#include <codegen/emitter.h>

namespace nvfuser::codegen {

namespace {

bool isLiteral(const kir::Operand& operand, int64_t value) {
  auto* literal = std::get_if<kir::Literal>(&operand);
  return literal != nullptr && literal->value == PolymorphicValue(value);
}

}  // namespace

std::string_view Emitter::monoidName(const kir::Monoid& monoid) {
  switch (monoid.kind) {
    case kir::Monoid::Kind::Welford:
      return "welford";
    case kir::Monoid::Kind::OnlineSoftmax:
      return "online softmax";
    default:
      return opName(monoid.op);
  }
}

const StateType& Emitter::groupType(std::string_view state, const std::vector<std::string>& members,
                                    DataType real, size_t parts) {
  check(parts > 0 && parts % members.size() == 0,
        text("a state ", state, " has ", members.size(), " parts, once for each of a group"));
  const size_t count = parts / members.size();
  std::string name = text(state, "<", typeName(real), ">");
  if (count > 1) {
    snippets_.add("state_group.cuh");
    name = text("StateGroup<", name, ", ", count, ">");
  }
  StateType& type = states_[name];
  type = {name, {}, std::vector<DataType>(parts, real)};
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& member : members) {
      type.members.push_back(count == 1 ? member : text("of[", i, "].", member));
    }
  }
  return type;
}

const StateType& Emitter::stateType(const kir::Monoid& monoid) {
  if (monoid.kind == kir::Monoid::Kind::Welford) {
    snippets_.add(monoid.dtypes.size() == 3 ? "welford.cuh" : "welford_group.cuh");
    return groupType("Welford", {"mean", "m2", "count"}, computeOf(monoid.dtypes[0]),
                     monoid.dtypes.size());
  }
  if (monoid.kind == kir::Monoid::Kind::OnlineSoftmax) {
    snippets_.add("online_softmax.cuh");
    return groupType("OnlineSoftmax", {"max", "sum"}, monoid.dtypes[0], monoid.dtypes.size());
  }
  check(!monoid.dtypes.empty() && monoid.identity.size() == monoid.dtypes.size(),
        "a reduction has an identity for each part of its state");
  StateType type;
  std::string fields;
  std::string identity;
  std::string combined;
  for (size_t i = 0; i < monoid.dtypes.size(); ++i) {
    const DataType dtype = resolved(monoid.dtypes[i]);
    const DataType compute = computeOf(dtype);
    const std::string member = text("v", i);
    append(fields, text("  ", typeName(dtype), " ", member, ";\n"));
    append(identity, text(i > 0 ? ", " : "", operandText(monoid.identity[i], dtype)));
    append(combined,
           text(i > 0 ? ", " : "", pointwise(monoid.op, compute, dtype,
                                             {converted("a." + member, dtype, compute),
                                              converted("b." + member, dtype, compute)})));
    type.members.push_back(member);
    type.dtypes.push_back(dtype);
  }
  const std::string key = fields + identity + combined;
  auto known = states_.find(key);
  if (known != states_.end()) {
    return known->second;
  }
  type.name = text("State", states_.size());
  TextWriter out(0);
  out.open(text("struct ", type.name, " {"),
           text(opName(monoid.op), " of ",
                join(type.dtypes, ", ", [](DataType d) { return typeText(d); })));
  for (size_t i = 0; i < type.members.size(); ++i) {
    out.line(text(typeText(type.dtypes[i]), " ", type.members[i], ";"));
  }
  out.line(text("static __device__ __forceinline__ ", type.name, " identity() { return {", identity,
                "}; }"));
  out.open(text("static __device__ __forceinline__ ", type.name, " combine(const ", type.name,
                "& a, const ", type.name, "& b) {"));
  out.line(text("return {", combined, "};"));
  out.close();
  out.close("};");
  state_definitions_ += out.take();
  return states_[key] = std::move(type);
}

void Emitter::loadState(const StateType& type, const std::vector<kir::Ref>& state,
                        std::string_view name) {
  check(state.size() == type.members.size(), "a reduction's state has as many parts as its monoid");
  // In the order in which the struct has its members.
  std::vector<std::string> values(state.size());
  const bool welford = type.name.find("Welford<") != std::string::npos;
  for (size_t i = 0; i < state.size(); ++i) {
    values[welford ? i / 3 * 3 + (i + 1) % 3 : i] =
        converted(refText(state[i]), storedAs(*state[i].buffer), type.dtypes[i]);
  }
  out_.line(text(type.name, " ", name, " = {", join(values, ", "), "};"));
}

void Emitter::storeState(const StateType& type, const std::vector<kir::Ref>& state,
                         std::string_view name) {
  for (size_t i = 0; i < state.size(); ++i) {
    out_.line(text(
        refText(state[i]), " = ",
        converted(text(name, ".", type.members[i]), type.dtypes[i], storedAs(*state[i].buffer)),
        ";"));
  }
}

void Emitter::emit(const kir::Combine& combine) {
  if (combine.monoid.kind == kir::Monoid::Kind::Welford) {
    combineWelford(combine);
    return;
  }
  if (combine.monoid.kind == kir::Monoid::Kind::OnlineSoftmax) {
    combineOnlineSoftmax(combine);
    return;
  }
  check(combine.value.size() == combine.state.size(),
        "a reduction step has a value for each part of its state");
  for (size_t i = 0; i < combine.state.size(); ++i) {
    const kir::Ref& part = combine.state[i];
    const DataType dtype = storedAs(*part.buffer);
    const DataType compute = computeOf(dtype);
    out_.line(text(refText(part), " = ",
                   pointwise(combine.monoid.op, compute, dtype,
                             {operandText(part, compute), operandText(combine.value[i], compute)}),
                   ";"));
  }
}

void Emitter::combineWelford(const kir::Combine& combine) {
  kir::Monoid monoid = combine.monoid;
  monoid.dtypes[0] = storedAs(*combine.state[0].buffer);  // it may be wider than the result
  const StateType& type = stateType(monoid);
  check(combine.value.size() == 3, "Welford's value is (avg, M2, n)");
  auto value = [&](size_t i) { return operandText(combine.value[i], type.dtypes[i]); };
  out_.open("{", "one step of Welford's mean and variance");
  loadState(type, combine.state);
  if (isLiteral(combine.value[1], 0) && isLiteral(combine.value[2], 1)) {
    out_.line(text("state.push(", value(0), ");"));
  } else {
    out_.line(text("state = ", type.name, "::combine(state, {", value(2), ", ", value(0), ", ",
                   value(1), "});"));
  }
  storeState(type, combine.state);
  out_.close();
}

void Emitter::combineOnlineSoftmax(const kir::Combine& combine) {
  const StateType& type = stateType(combine.monoid);
  check(combine.value.size() == 2, "the value of an online softmax is (max, sum)");
  auto value = [&](size_t i) { return operandText(combine.value[i], type.dtypes[i]); };
  out_.open("{", "one step of the greatest element and the sum of exponentials");
  loadState(type, combine.state);
  out_.line(isLiteral(combine.value[1], 1) ? text("state.push(", value(0), ");")
                                           : text("state = ", type.name, "::combine(state, {",
                                                  value(0), ", ", value(1), "});"));
  storeState(type, combine.state);
  out_.close();
}

}  // namespace nvfuser::codegen
