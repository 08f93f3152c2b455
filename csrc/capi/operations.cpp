#include <capi/operations.h>

#include <algorithm>
#include <numeric>

#include <ops/all_ops.h>
#include <ops/table/pointwise.h>

namespace nvfuser::capi {

namespace {

std::vector<Val*> callTable(const Call& call) {
  std::vector<Val*> operands;
  for (size_t i = 0; i < call.size(); ++i) {
    operands.push_back(call.get<Val*>(i));
  }
  return {callPointwise(call.name(), operands)};
}

Operation fromTable(const PointwiseFunction& function) {
  static constexpr std::string_view kOne[] = {"arg"};
  static constexpr std::string_view kTwo[] = {"lhs", "rhs"};
  static constexpr std::string_view kThree[] = {"a", "b", "c"};
  Operation operation;
  operation.name = function.name;
  operation.result = kSameAsOperands;
  operation.doc = function.doc;
  operation.define = &callTable;
  const std::string_view* names = function.arity == 1 ? kOne : function.arity == 2 ? kTwo : kThree;
  for (int i = 0; i < function.arity; ++i) {
    const TypeName type = typeName<Val*>();
    operation.parameters.push_back(
        {std::string(names[i]), std::string(type.text), type.is_operand, std::nullopt});
  }
  return operation;
}

std::vector<Operation> makeOperations() {
  std::vector<Operation> all = operationTable();
  const auto has = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const Operation& o) { return o.name == name; });
  };
  for (const PointwiseFunction& function : pointwiseFunctions()) {
    if (!has(function.name)) {
      all.push_back(fromTable(function));
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Operation& a, const Operation& b) { return a.name < b.name; });
  for (size_t i = 1; i < all.size(); ++i) {
    check(all[i - 1].name != all[i].name, "names of operations are unique");
  }
  return all;
}

/// Number of letters to insert, delete or replace.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

/// The names most like `name`, best first.
std::vector<std::string> namesLike(std::string_view name) {
  constexpr size_t kMost = 5;
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const Operation& operation : operations()) {
    size_t distance = editDistance(name, operation.name);
    const bool contains = name.size() >= 3 && (operation.name.find(name) != std::string::npos ||
                                               name.find(operation.name) != std::string::npos);
    if (contains) {
      distance = std::min<size_t>(distance, 2);
    }
    if (distance <= std::max<size_t>(2, name.size() / 3)) {
      ranked.emplace_back(distance, operation.name);
    }
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), kMost));
  std::vector<std::string> names;
  for (auto& [distance, like] : ranked) {
    names.push_back(std::move(like));
  }
  return names;
}

}  // namespace

std::string Operation::signature() const {
  std::string out = text(name, "(");
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    append(out, text(i == 0 ? "" : ", ", parameter.name, ": ", parameter.type));
    if (parameter.default_text) {
      append(out, text(*parameter.default_text == "None" ? " | None" : "", " = ",
                       *parameter.default_text));
    } else if (parameter.may_be_none) {
      append(out, " | None");
    }
  }
  return text(out, ") -> ", result);
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> kOperations = makeOperations();
  return kOperations;
}

const Operation& findOperation(std::string_view name) {
  const std::vector<Operation>& all = operations();
  auto found = std::lower_bound(all.begin(), all.end(), name,
                                [](const Operation& o, std::string_view n) { return o.name < n; });
  if (found != all.end() && found->name == name) {
    return *found;
  }
  const std::vector<std::string> like = namesLike(name);
  throw ArgumentError(text("there is no operation \"", name, "\"",
                           like.empty() ? text("; nvf_op_name lists all ", all.size())
                                        : text("; names like it are ", join(like, ", "))));
}

}  // namespace nvfuser::capi
