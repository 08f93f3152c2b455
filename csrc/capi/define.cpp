/// Defining a fusion: tensors, scalars, constants, operations, outputs.
#include <algorithm>
#include <complex>
#include <span>
#include <string>

#include <capi/definition_text.h>
#include <capi/fusion_handle.h>
#include <capi/guarded.h>
#include <capi/operations.h>
#include <ir/builder.h>
#include <ops/arith.h>
#include <support/error.h>

using namespace nvfuser;
using namespace nvfuser::capi;

namespace {

int64_t addValue(nvf_fusion& fusion, Val* val) {
  fusion.values.push_back(val);
  return static_cast<int64_t>(fusion.values.size()) - 1;
}

DataType elementTypeOf(int32_t code, std::string_view what) {
  const DataType dtype = dtypeOf(code);
  if (dtype == DataType::Null || dtype == DataType::Index) {
    throw ArgumentError(
        text(what, " needs a dtype other than ", std::string_view(nvf_dtype_name(code))));
  }
  return dtype;
}

/// More axes than any tensor of a framework has: rather a wrong argument.
constexpr int64_t kMostAxes = 1024;

void requireRank(int64_t ndims) {
  if (ndims < 0) {
    throw ArgumentError(text("define_tensor: a tensor cannot have ", ndims, " axes"));
  }
  if (ndims > kMostAxes) {
    userError("define_tensor: a tensor of ", ndims, " axes was asked for, but there are at most ",
              kMostAxes, "; pass the number of its sizes");
  }
}

void defineTensor(nvf_fusion& fusion, const std::vector<int64_t>& sizes,
                  const std::vector<bool>& contiguous, int32_t dtype_code, int64_t* id) {
  requirePointer(id, "id");
  const DataType dtype = elementTypeOf(dtype_code, "define_tensor");
  Contiguity contiguity;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1) {
      userError("define_tensor: the size ", sizes[i], " of axis ", i,
                " is neither -1 (symbolic), 1 (broadcast) nor a size");
    }
    contiguity.push_back(sizes[i] == 1 ? std::nullopt : std::optional<bool>(contiguous[i]));
  }
  FusionGuard guard(&fusion.graph);
  TensorView* tv = TensorViewBuilder().shape(sizes).contiguity(contiguity).dtype(dtype).build();
  fusion.graph.addInput(tv);
  *id = addValue(fusion, tv);
  fusion.statements.push_back(defineTensorText(*id, sizes, contiguous, dtype));
}

int defineConstant(nvf_fusion* fusion, const PolymorphicValue& value, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(id, "id");
    FusionGuard guard(&fusion->graph);
    *id = addValue(*fusion, IrBuilder::create<Val>(value));
    fusion->statements.push_back(defineConstantText(*id, value));
  });
}

}  // namespace

extern "C" {

int nvf_fusion_create(nvf_fusion** fusion) {
  return guarded([&] {
    requirePointer(fusion, "the place for the fusion");
    *fusion = new nvf_fusion;
  });
}

void nvf_fusion_destroy(nvf_fusion* fusion) {
  guarded([&] { delete fusion; });
}

int nvf_define_tensor(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                      const int8_t* contiguity, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requireRank(ndims);
    std::vector<int64_t> all_sizes(static_cast<size_t>(ndims), -1);
    std::vector<bool> contiguous(static_cast<size_t>(ndims), false);
    if (sizes != nullptr) {
      std::copy_n(sizes, ndims, all_sizes.begin());
    }
    if (contiguity != nullptr) {
      std::transform(contiguity, contiguity + ndims, contiguous.begin(),
                     [](int8_t flag) { return flag != 0; });
    }
    defineTensor(*fusion, all_sizes, contiguous, dtype, id);
  });
}

int nvf_define_tensor_like(nvf_fusion* fusion, int64_t ndims, const int64_t* sizes,
                           const int64_t* strides, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requireRank(ndims);
    if (ndims > 0) {
      requirePointer(sizes, "sizes");
      requirePointer(strides, "strides");
    }
    const auto rank = static_cast<size_t>(ndims);
    std::vector<int64_t> symbolic(rank, -1);
    std::vector<bool> contiguous(rank, true);
    int64_t expected = 1;  // the stride that makes an axis contiguous with those to its right
    for (size_t i = rank; i-- > 0;) {
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
    defineTensor(*fusion, symbolic, contiguous, dtype, id);
  });
}

int nvf_define_scalar(nvf_fusion* fusion, int32_t dtype, int64_t* id) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(id, "id");
    const DataType type = elementTypeOf(dtype, "define_scalar");
    FusionGuard guard(&fusion->graph);
    Val* val = IrBuilder::create<Val>(type);
    fusion->graph.addInput(val);
    *id = addValue(*fusion, val);
    fusion->statements.push_back(defineScalarText(*id, type));
  });
}

int nvf_define_constant_double(nvf_fusion* fusion, double value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value), id);
}
int nvf_define_constant_int(nvf_fusion* fusion, int64_t value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value), id);
}
int nvf_define_constant_bool(nvf_fusion* fusion, int32_t value, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(value != 0), id);
}
int nvf_define_constant_complex(nvf_fusion* fusion, double real, double imag, int64_t* id) {
  return defineConstant(fusion, PolymorphicValue(std::complex<double>(real, imag)), id);
}

int nvf_op(nvf_fusion* fusion, const char* name, const nvf_argument* arguments,
           int64_t argument_count, int64_t* ids, int64_t capacity, int64_t* count) {
  return guarded([&] {
    requireDefining(fusion);
    requirePointer(name, "the name of the operation");
    requirePointer(ids, "ids");
    requirePointer(count, "count");
    const Operation& operation = findOperation(name);
    if (argument_count > 0) {
      requirePointer(arguments, "arguments");
    }
    const std::span<const nvf_argument> given(arguments, static_cast<size_t>(argument_count));
    const Call call(operation.name, operation.parameters, given, fusion->values);
    FusionGuard guard(&fusion->graph);
    const std::vector<Val*> results = operation.define(call);
    if (static_cast<int64_t>(results.size()) > capacity) {
      throw ArgumentError(text(operation.name, ": has ", results.size(),
                               " results, but there is room for ", capacity));
    }
    std::vector<int64_t> result_ids;
    for (Val* result : results) {
      result_ids.push_back(result == nullptr ? -1 : addValue(*fusion, result));
    }
    fusion->statements.push_back(operationText(operation, call, result_ids));
    std::copy(result_ids.begin(), result_ids.end(), ids);
    *count = static_cast<int64_t>(result_ids.size());
  });
}

int nvf_add_output(nvf_fusion* fusion, int64_t id) {
  return guarded([&] {
    requireDefining(fusion);
    Val* val = valueOf(*fusion, id);
    FusionGuard guard(&fusion->graph);
    Val* output = val->dtype() == DataType::Index ? castOp(DataType::Int, val) : val;
    fusion->graph.addOutput(output->isA<TensorView>() ? output : tensor(output));
    fusion->statements.push_back(text("fd.add_output(", valueText(fusion->values, id), ")"));
  });
}

int nvf_value_info(nvf_fusion* fusion, int64_t id, int32_t* is_tensor, int64_t* ndims,
                   int32_t* dtype) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    Val* val = valueOf(*fusion, id);
    const auto* tv = val->isA<TensorView>() ? val->as<TensorView>() : nullptr;
    if (is_tensor != nullptr) {
      *is_tensor = tv != nullptr ? 1 : 0;
    }
    if (ndims != nullptr) {
      *ndims = tv != nullptr ? static_cast<int64_t>(Axes{}.of(tv).size()) : 0;
    }
    if (dtype != nullptr) {
      *dtype = codeOf(val->dtype());
    }
  });
}

}  // extern "C"
