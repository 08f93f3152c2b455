// define_tensor, define_scalar and the operations, on the active fusion.

#include <cmath>

#include "arguments.h"
#include "direct/bindings.h"
#include "direct/fusion.h"
#include "dtypes.h"
#include "not_implemented.h"
#include <capi/attempt.h>
#include <capi/definition_text.h>
#include <ir/builder.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Sizes = std::vector<int64_t>;

DataType elementType(nvf_dtype dtype, const char* what) {
  requireDtype(dtype);
  return capi::elementTypeOf(dtype, what);
}

void requireSizes(const Sizes& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < -1) {
      userError("define_tensor: The value ", shape[i], " at index ", i,
                " was neither symbolic(-1), zero_element(0), broadcast(1), or static(>1).");
    }
  }
}

/// `contiguity` in memory order; none: broadcast, expanded where the size is not 1.
nb::object makeTensor(const Sizes& shape, Contiguity contiguity, DataType dtype, bool is_cpu,
                      const Sizes& stride_order) {
  const DefinitionPtr& definition = activeDefinition("define_tensor");
  capi::requireRank(static_cast<int64_t>(shape.size()));
  requireSizes(shape);
  const size_t rank = shape.size();
  if (contiguity.size() != rank) {
    userError("define_tensor: Length of contiguity argument (", contiguity.size(),
              ") must match that of shape argument (", rank, ")");
  }
  if (is_cpu && rank != 0) {
    userError(
        "define_tensor: is_cpu is for a CPU scalar, a tensor without axes, but the shape has ",
        rank, " entries");
  }
  std::vector<bool> expanded(rank, false);
  if (stride_order.empty() || stride_order.size() == rank) {
    for (size_t i = 0; i < rank; ++i) {
      const auto order = static_cast<int64_t>(rank);
      int64_t place = stride_order.empty() ? order - 1 - static_cast<int64_t>(i) : stride_order[i];
      place = place < 0 ? place + order : place;
      if (place < 0 || place >= order) {
        continue;  // the builder says what is wrong
      }
      std::optional<bool>& flag = contiguity[static_cast<size_t>(order - 1 - place)];
      if (shape[i] == 1) {
        flag = std::nullopt;
      }
      expanded[i] = !flag && shape[i] != 1;
    }
  }
  FusionGuard guard(&definition->graph);
  TensorView* tv = capi::attempt(definition->graph, [&] {
    return TensorViewBuilder()
        .shape(shape)
        .contiguity(contiguity)
        .dtype(dtype)
        .expanded(expanded)
        .strideOrder(stride_order)
        .build();
  });
  tv->setCpuScalar(is_cpu);
  const int64_t id = definition->addValue(tv);
  if (definition->keepsStatements()) {
    definition->statements.push_back(
        text(capi::valueText(*definition, id), " = ",
             capi::defineTensorText({shape, contiguity, dtype, is_cpu, stride_order})));
  }
  return wrap(definition, tv);
}

nb::object defineTensor(const Sizes& shape, const Contiguity& contiguity, nvf_dtype dtype,
                        bool is_cpu, const Sizes& stride_order) {
  return makeTensor(shape, contiguity, elementType(dtype, "define_tensor"), is_cpu, stride_order);
}

nb::object defineTensorWithFlag(const Sizes& shape, bool contiguity, nvf_dtype dtype, bool is_cpu,
                                const Sizes& stride_order) {
  return makeTensor(shape, Contiguity(shape.size(), contiguity),
                    elementType(dtype, "define_tensor"), is_cpu, stride_order);
}

nb::object defineTensorLike(const Sizes& sizes, const Sizes& strides, nvf_dtype dtype,
                            bool static_sizes, bool is_cpu) {
  const TensorDescriptor lies = describeTensor(sizes, strides, "define_tensor");
  Sizes shape = sizes;
  for (int64_t& size : shape) {
    size = static_sizes || size == 1 ? size : -1;
  }
  return makeTensor(shape, lies.contiguity, elementType(dtype, "define_tensor"), is_cpu,
                    lies.stride_order);
}

nb::object defineSymbol(nvf_dtype dtype) {
  const DefinitionPtr& definition = activeDefinition("define_scalar");
  const DataType type = elementType(dtype, "define_scalar");
  FusionGuard guard(&definition->graph);
  Val* val = IrBuilder::create<Val>(type);
  const int64_t id = definition->addValue(val);
  if (definition->keepsStatements()) {
    definition->statements.push_back(
        text(capi::valueText(*definition, id), " = ", capi::defineScalarText(type)));
  }
  return wrap(definition, val);
}

/// Whether a constant of the dtype can be the number: only rounding may change it.
bool fits(const PolymorphicValue& number, DataType type) {
  if (isComplexType(number.dtype())) {
    return isComplexType(type);
  }
  if (!isIntegralType(type)) {
    return true;
  }
  const bool is_unsigned = isUnsignedIntegralType(type);
  const int bits = static_cast<int>(8 * dataTypeSizeByte(type)) - (is_unsigned ? 0 : 1);
  const double least = is_unsigned ? 0 : -std::ldexp(1.0, bits);
  const auto real = number.as<double>();
  return std::isfinite(real) && std::trunc(real) == real && real >= least &&
         (real < std::ldexp(1.0, bits) || (number.is<int64_t>() && bits >= 63));
}

nb::object defineScalar(nb::handle value, std::optional<nvf_dtype> dtype) {
  if (value.is_none()) {
    return defineSymbol(dtype.value_or(NVF_DOUBLE));
  }
  const DefinitionPtr& definition = activeDefinition("define_scalar");
  const PolymorphicValue number = numberOf(value, "define_scalar");
  const DataType type = dtype ? elementType(*dtype, "define_scalar") : number.dtype();
  if (!fits(number, type)) {
    userError("define_scalar: Scalar value ", number.toString(),
              " is not compatible with the expected data type: ", dataTypeName(type),
              ". Leave the dtype out, or pass a value that it has");
  }
  FusionGuard guard(&definition->graph);
  Val* val = IrBuilder::create<Val>(number, type);
  const int64_t id = definition->addValue(val);
  if (definition->keepsStatements()) {
    definition->statements.push_back(text(capi::valueText(*definition, id), " = fd.define_scalar(",
                                          capi::constantText(number),
                                          ", dtype=", capi::dtypeText(type), ")"));
  }
  return wrap(definition, val);
}

constexpr struct {
  const char* name;
  const char* why;
} kUnsupported[] = {
    {"cutlass_nvfp4_grouped_mm", "its formats need a Blackwell GPU and are not supported"},
    {"nv_block_quantize", "block-scaled formats need a Blackwell GPU and are not supported"},
    {"nv_grouped_block_quantize",
     "block-scaled formats need a Blackwell GPU and are not supported"},
    {"preprocess_grouped_matmul_input_sf",
     "block-scaled formats need a Blackwell GPU and are not supported"},
};

void bindOperations(nb::module_& direct) {
  nb::module_ ops = direct.def_submodule(
      "ops",
      "The operations: output = fd.ops.NAME(arguments). Operands are TensorViews and Vals of the "
      "fusion, or numbers; a sequence of sizes or axes may be a list, a tuple or a torch.Size. "
      "`axes`, `dims` and `dim` name the same parameter, as do `keepdim` and `keep_dim`. A wrong "
      "argument is a TypeError, one that makes no sense a RuntimeError.");
  for (const capi::Operation& operation : capi::operations()) {
    nb::cpp_function_def(
        [&operation](const nb::args& arguments, const nb::kwargs& named) {
          return callOperation(
              activeDefinition(operation.name.c_str()), operation, arguments, named,
              [](const DefinitionPtr& owner, Val* val) { return wrap(owner, val); });
        },
        nb::scope(ops), nb::name(operation.name.c_str()),
        nb::sig(pythonSignature(operation, true).c_str()), pythonDoc(operation).c_str());
  }
  for (const auto& [name, why] : kUnsupported) {
    nb::cpp_function_def([why = text(std::string_view(name), ": ", std::string_view(why))](
                             const nb::args&, const nb::kwargs&) { notImplemented(why); },
                         nb::scope(ops), nb::name(name), why);
  }
}

}  // namespace

void bindDefinition(nb::module_& direct) {
  using namespace nb::literals;
  direct
      .def("define_tensor", &defineTensor, "shape"_a, "contiguity"_a, "dtype"_a = NVF_FLOAT,
           "is_cpu"_a = false, "stride_order"_a = Sizes(),
           "A tensor of this shape: -1 any size, 1 broadcast, else constant. Contiguity in memory "
           "order, outermost first: whether an axis is contiguous with the next; None for "
           "broadcast axes, which are expanded where the size is not 1. stride_order[i] is the "
           "position of axis i from the innermost. is_cpu: a tensor without axes that lies on "
           "the CPU wherever the others are; kernels take its value as a parameter.")
      .def("define_tensor", &defineTensorWithFlag, "shape"_a, "contiguity"_a = false,
           "dtype"_a = NVF_FLOAT, "is_cpu"_a = false, "stride_order"_a = Sizes(),
           "The same with one flag for all axes that are no broadcasts.")
      .def("define_tensor", &defineTensorLike, "sizes"_a, "strides"_a, "dtype"_a = NVF_FLOAT,
           "static_sizes"_a = false, "is_cpu"_a = false,
           "A tensor like one of these sizes and strides; sizes but 1 become symbolic unless "
           "static_sizes.")
      .def("define_scalar", &defineSymbol, "dtype"_a = NVF_DOUBLE, "A scalar known at run time.")
      .def("define_scalar", &defineScalar, "value"_a.none(), "dtype"_a.none() = nb::none(),
           "A constant; Bool, Int, Double or ComplexDouble as the value is, unless a dtype is "
           "given.")
      .def(
          "compute_tensor_descriptor",
          [](const Sizes& sizes, const Sizes& strides) {
            TensorDescriptor lies = describeTensor(sizes, strides, "compute_tensor_descriptor");
            return std::pair(lies.contiguity, lies.stride_order);
          },
          "sizes"_a, "strides"_a,
          "(contiguity, stride_order) of a tensor, as define_tensor takes.");
  bindOperations(direct);
}

}  // namespace nvfuser::python
