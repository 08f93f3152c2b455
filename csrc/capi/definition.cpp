#include <capi/definition.h>

#include <algorithm>

#include <capi/attempt.h>
#include <capi/definition_text.h>
#include <capi/fusion_text.h>
#include <capi/operations.h>
#include <ir/builder.h>
#include <ops/arith.h>
#include <support/error.h>

namespace nvfuser::capi {

DataType elementTypeOf(int32_t code, std::string_view what) {
  const DataType dtype = dtypeOf(code);
  if (dtype == DataType::Null || dtype == DataType::Index) {
    throw ArgumentError(
        text(what, " needs a dtype other than ", std::string_view(nvf_dtype_name(code))));
  }
  return dtype;
}

void requireRank(int64_t ndims) {
  /// More axes than any tensor of a framework has: rather a wrong argument.
  constexpr int64_t kMostAxes = 1024;
  if (ndims < 0) {
    throw ArgumentError(text("define_tensor: a tensor cannot have ", ndims, " axes"));
  }
  if (ndims > kMostAxes) {
    userError("define_tensor: a tensor of ", ndims, " axes was asked for, but there are at most ",
              kMostAxes, "; pass the number of its sizes");
  }
}

int64_t Definition::addValue(Val* val) {
  values.push_back(val);
  const auto id = static_cast<int64_t>(values.size()) - 1;
  ids_.emplace(val, id);
  return id;
}

int64_t Definition::idOf(const Val* val) const {
  const auto found = ids_.find(val);
  return found == ids_.end() ? -1 : found->second;
}

Val* Definition::valueOf(int64_t id) const {
  if (id < 0 || id >= static_cast<int64_t>(values.size())) {
    throw ArgumentError(
        text("there is no value with id ", id, "; the fusion has ", values.size(), " values"));
  }
  return values[static_cast<size_t>(id)];
}

int64_t Definition::defineTensor(const std::vector<int64_t>& sizes,
                                 const std::vector<bool>& contiguous, int32_t dtype_code) {
  requireRank(static_cast<int64_t>(sizes.size()));
  const DataType dtype = elementTypeOf(dtype_code, "define_tensor");
  Contiguity contiguity;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) {
      userError("define_tensor: the size ", sizes[i], " of axis ", i,
                " is neither -1 (symbolic), 1 (broadcast) nor a size");
    }
    contiguity.push_back(sizes[i] == 1 ? std::nullopt : std::optional<bool>(contiguous[i]));
  }
  FusionGuard guard(&graph);
  TensorView* tv = attempt(graph, [&] {
    return TensorViewBuilder().shape(sizes).contiguity(contiguity).dtype(dtype).build();
  });
  graph.addInput(tv);
  const int64_t id = addValue(tv);
  if (keepsStatements()) {
    statements.push_back(
        text(valueText(*this, id), " = ", defineTensorText(sizes, contiguous, dtype)));
  }
  return id;
}

int64_t Definition::defineTensorLike(std::span<const int64_t> sizes,
                                     std::span<const int64_t> strides, int32_t dtype) {
  std::vector<int64_t> symbolic(sizes.size(), -1);
  std::vector<bool> contiguous(sizes.size(), true);
  int64_t expected = 1;  // the stride that makes an axis contiguous with those to its right
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] < 0 || strides[i] < 0) {
      userError("define_tensor: axis ", i, " has size ", sizes[i], " and stride ", strides[i],
                "; neither may be negative");
    }
    if (sizes[i] == 1) {
      symbolic[i] = 1;
      continue;
    }
    contiguous[i] = strides[i] == expected;
    expected = strides[i] * sizes[i];
  }
  return defineTensor(symbolic, contiguous, dtype);
}

int64_t Definition::defineScalar(int32_t dtype) {
  const DataType type = elementTypeOf(dtype, "define_scalar");
  FusionGuard guard(&graph);
  Val* val = IrBuilder::create<Val>(type);
  graph.addInput(val);
  const int64_t id = addValue(val);
  if (keepsStatements()) {
    statements.push_back(text(valueText(*this, id), " = ", defineScalarText(type)));
  }
  return id;
}

int64_t Definition::defineConstant(const PolymorphicValue& value) {
  FusionGuard guard(&graph);
  const int64_t id = addValue(IrBuilder::create<Val>(value));
  if (keepsStatements()) {
    statements.push_back(
        text(valueText(*this, id), " = fd.define_constant(", constantText(value), ")"));
  }
  return id;
}

std::vector<int64_t> Definition::call(std::string_view name,
                                      std::span<const nvf_argument> arguments) {
  const Operation& operation = findOperation(name);
  const Call bound(operation.name, operation.parameters, arguments, values);
  FusionGuard guard(&graph);
  std::vector<int64_t> ids;
  for (Val* result : attempt(graph, [&] { return operation.define(bound); })) {
    ids.push_back(result == nullptr ? -1 : addValue(result));
  }
  if (std::any_of(ids.begin(), ids.end(),
                  [&](int64_t id) { return id >= 0 && valueOf(id)->isA<TensorView>(); })) {
    extended();
  }
  if (keepsStatements()) {
    statements.push_back(operationText(operation, bound, ids, *this));
  }
  return ids;
}

void Definition::addOutput(int64_t id) {
  Val* val = valueOf(id);
  FusionGuard guard(&graph);
  Val* output = val->dtype() == DataType::Index ? castOp(DataType::Int, val) : val;
  graph.addOutput(output->isA<TensorView>() ? output : tensor(output));
  if (keepsStatements()) {
    statements.push_back(text("fd.add_output(", valueText(*this, id), ")"));
  }
}

std::string Definition::pythonText(std::string_view function) const {
  const bool is_kept = keepsStatements() || is_scheduled_;
  return definitionText(function, is_kept ? statements : fusionStatements(graph));
}

void Definition::beforeScheduling() {
  if (!keepsStatements() && !is_scheduled_) {
    statements = fusionStatements(graph);
    is_scheduled_ = true;
  }
}

void Definition::extended() {
  if (is_scheduled_) {
    statements.clear();
    is_scheduled_ = false;
  }
}

}  // namespace nvfuser::capi
