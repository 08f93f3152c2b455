#include <capi/nvfuser_c.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include <capi/definition_text.h>
#include <capi/guarded.h>
#include <capi/operations.h>
#include <ir/builder.h>
#include <ops/arith.h>
#include <runtime/fusion_executor_cache.h>
#include <support/error.h>
#include <support/options.h>

using namespace nvfuser;
using namespace nvfuser::capi;

/// A fusion while it is defined, and then its executor.
struct nvf_fusion {
  Fusion graph;
  std::vector<Val*> values;                       ///< by id
  std::vector<std::string> statements;            ///< the definition as Python text
  std::unique_ptr<FusionExecutorCache> executor;  ///< from the first execution on
  std::mutex mutex;                               ///< of the making of the executor
};

namespace {

void requirePointer(const void* pointer, std::string_view what) {
  if (pointer == nullptr) {
    throw ArgumentError(text(what, " must not be null"));
  }
}

/// Also that it may still be defined.
void requireDefining(nvf_fusion* fusion) {
  requirePointer(fusion, "the fusion");
  if (fusion->executor != nullptr) {
    throw ArgumentError("the fusion was executed and can no longer be changed; make a new one");
  }
}

int64_t addValue(nvf_fusion& fusion, Val* val) {
  fusion.values.push_back(val);
  return static_cast<int64_t>(fusion.values.size()) - 1;
}

Val* valueOf(const nvf_fusion& fusion, int64_t id) {
  if (id < 0 || id >= static_cast<int64_t>(fusion.values.size())) {
    throw ArgumentError(text("there is no value with id ", id, "; the fusion has ",
                             fusion.values.size(), " values"));
  }
  return fusion.values[static_cast<size_t>(id)];
}

DataType elementTypeOf(int32_t code, std::string_view what) {
  const DataType dtype = dtypeOf(code);
  if (dtype == DataType::Null || dtype == DataType::Index) {
    throw ArgumentError(
        text(what, " needs a dtype other than ", std::string_view(nvf_dtype_name(code))));
  }
  return dtype;
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

void giveText(const std::string& given, char** out) {
  requirePointer(out, "text");
  *out = static_cast<char*>(std::malloc(given.size() + 1));
  if (*out == nullptr) {
    throw std::bad_alloc();
  }
  std::memcpy(*out, given.c_str(), given.size() + 1);
}

/// Ends the definition.
FusionExecutorCache& executorOf(nvf_fusion& fusion) {
  std::lock_guard<std::mutex> lock(fusion.mutex);
  if (fusion.executor == nullptr) {
    if (fusion.graph.outputs().empty()) {
      userError("execute: the fusion has no outputs");
    }
    // A copy, so that a definition that cannot be executed can be mended.
    fusion.executor = std::make_unique<FusionExecutorCache>(std::make_unique<Fusion>(fusion.graph));
  }
  return *fusion.executor;
}

int64_t visibleOutputs(const Fusion& fusion) {
  return std::count_if(fusion.outputs().begin(), fusion.outputs().end(), [&](const Val* output) {
    return fusion.getOutputAlias(output).visibility == OutputVisibility::kVisible;
  });
}

/// The tensors and numbers of one execution. Takes over managed tensors at once, so that none is
/// lost in an error.
class Inputs {
 public:
  Inputs(const nvf_argument* inputs, int64_t count) {
    std::string trouble;
    for (int64_t i = 0; i < count; ++i) {
      try {
        holder_.push(argument(inputs[i]));
      } catch (const std::exception& error) {
        if (trouble.empty()) {
          trouble = text("execute: input ", i, ": ", std::string_view(error.what()));
        }
      }
    }
    if (!trouble.empty()) {
      throw ArgumentError(trouble);
    }
  }

  const KernelArgumentHolder& holder() const { return holder_; }

  /// `output`, or a copy of it if it is in memory that the caller only lent.
  Tensor own(const Tensor& output) const {
    const auto* at = static_cast<const std::byte*>(output.data());
    for (const auto& [begin, end] : borrowed_) {
      if (at != nullptr && at >= begin && at < end) {
        return output.clone();
      }
    }
    return output;
  }

 private:
  KernelArgument argument(const nvf_argument& input) {
    switch (input.kind) {
      case NVF_ARG_TENSOR: {
        requirePointer(input.tensor, "the tensor");
        // Lent by a tensor object of our own, whose deleter leaves the caller's memory alone.
        auto lent = std::make_unique<nvfuser::DLManagedTensor>();
        lent->dl_tensor = *static_cast<const nvfuser::DLTensor*>(input.tensor);
        lent->deleter = [](nvfuser::DLManagedTensor* self) { delete self; };
        Tensor tensor = Tensor::fromDLPack(lent.release());
        remember(tensor);
        return tensor;
      }
      case NVF_ARG_MANAGED:
        requirePointer(input.tensor, "the tensor");
        return Tensor::fromDLPack(static_cast<nvfuser::DLManagedTensor*>(input.tensor));
      case NVF_ARG_BOOL:
        return PolymorphicValue(input.integer != 0);
      case NVF_ARG_INT:
        return PolymorphicValue(input.integer);
      case NVF_ARG_DOUBLE:
        return PolymorphicValue(input.real);
      case NVF_ARG_COMPLEX:
        return PolymorphicValue(std::complex<double>(input.real, input.imag));
      default:
        throw ArgumentError("is neither a tensor nor a number");
    }
  }

  void remember(const Tensor& tensor) {
    if (tensor.data() == nullptr || tensor.numel() == 0) {
      return;
    }
    const auto* begin = static_cast<const std::byte*>(tensor.data());
    const std::byte* end = begin + dataTypeSizeByte(tensor.dtype());
    for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
      end += (tensor.size(axis) - 1) * tensor.stride(axis) * dataTypeSizeByte(tensor.dtype());
    }
    borrowed_.emplace_back(begin, end);
  }

  KernelArgumentHolder holder_;
  std::vector<std::pair<const std::byte*, const std::byte*>> borrowed_;
};

}  // namespace

extern "C" {

const char* nvf_version(void) { return NVFUSER_VERSION; }
const char* nvf_last_error(void) { return lastError(); }

const char* nvf_dtype_name(int32_t dtype) {
  static constexpr const char* kNames[NVF_DTYPE_COUNT] = {
      "Null",   "Double", "Float", "Half",         "BFloat16",     "Float8_e4m3fn", "Float8_e5m2",
      "Char",   "Short",  "Int32", "Int",          "Byte",         "UInt16",        "UInt32",
      "UInt64", "Index",  "Bool",  "ComplexFloat", "ComplexDouble"};
  return dtype >= 0 && dtype < NVF_DTYPE_COUNT ? kNames[dtype] : nullptr;
}

int64_t nvf_op_count(void) {
  int64_t count = -1;
  guarded([&] { count = static_cast<int64_t>(operations().size()); });
  return count;
}

const char* nvf_op_name(int64_t index) {
  return index >= 0 && index < nvf_op_count()
             ? operations()[static_cast<size_t>(index)].name.c_str()
             : nullptr;
}

const char* nvf_op_doc(int64_t index) {
  return index >= 0 && index < nvf_op_count() ? operations()[static_cast<size_t>(index)].doc.c_str()
                                              : nullptr;
}

const char* nvf_op_signature(int64_t index) {
  const char* signature = nullptr;
  guarded([&] {
    static const std::vector<std::string> kSignatures = [] {
      std::vector<std::string> all;
      for (const Operation& operation : operations()) {
        all.push_back(operation.signature());
      }
      return all;
    }();
    if (index >= 0 && index < static_cast<int64_t>(kSignatures.size())) {
      signature = kSignatures[static_cast<size_t>(index)].c_str();
    }
  });
  return signature;
}

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
    if (ndims < 0) {
      throw ArgumentError(text("define_tensor: a tensor cannot have ", ndims, " axes"));
    }
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
    if (ndims < 0) {
      throw ArgumentError(text("define_tensor: a tensor cannot have ", ndims, " axes"));
    }
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

int nvf_print(nvf_fusion* fusion, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(fusion->graph.toString(false), text);
  });
}

int nvf_definition(nvf_fusion* fusion, int64_t fusion_id, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(definitionText(fusion_id, fusion->statements), text);
  });
}

int nvf_dumps_definition(void) {
  bool dumps = false;
  guarded([&] { dumps = Options::current().dumps(DebugDumpOption::PythonDefinition); });
  return dumps ? 1 : 0;
}

int nvf_kernels(nvf_fusion* fusion, char** text) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    giveText(join(executorOf(*fusion).getMostRecentCode(), "\n"), text);
  });
}

void nvf_free_text(char* text) { std::free(text); }

int nvf_execute(nvf_fusion* fusion, const nvf_argument* inputs, int64_t input_count,
                struct ::DLManagedTensor** outputs, int64_t capacity, int64_t* count) {
  return guarded([&] {
    const Inputs arguments(inputs, inputs == nullptr ? 0 : input_count);
    requirePointer(fusion, "the fusion");
    requirePointer(count, "count");
    FusionExecutorCache& executor = executorOf(*fusion);
    const int64_t expected = visibleOutputs(fusion->graph);
    if (expected > capacity) {
      throw ArgumentError(
          text("execute: there are ", expected, " outputs, but room for ", capacity));
    }
    const KernelArgumentHolder results = executor.runFusionWithInputs(arguments.holder());
    std::vector<Tensor> tensors;
    for (const KernelArgument& result : results) {
      tensors.push_back(arguments.own(result.tensor()));
    }
    check(static_cast<int64_t>(tensors.size()) == expected, "an execution gives each output");
    for (size_t i = 0; i < tensors.size(); ++i) {
      outputs[i] = reinterpret_cast<struct ::DLManagedTensor*>(tensors[i].toDLPack());
    }
    *count = expected;
  });
}

int nvf_output_count(nvf_fusion* fusion, int64_t* count) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    requirePointer(count, "count");
    *count = visibleOutputs(fusion->graph);
  });
}

int nvf_set_random_state(nvf_fusion* fusion, uint64_t seed, uint64_t offset) {
  return guarded([&] {
    requirePointer(fusion, "the fusion");
    executorOf(*fusion).setRandomState(seed, offset);
  });
}

}  // extern "C"
