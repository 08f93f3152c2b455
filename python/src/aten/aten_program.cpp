#include "aten/aten_program.h"

#include <algorithm>
#include <bit>
#include <complex>

#include <evaluator/element_codec.h>
#include <ir/type.h>
#include <runtime/device.h>
#include <support/error.h>

namespace nvfuser::python {

namespace {

using Word = TorchDispatcher::Word;
using Handle = TorchShim::Handle;
using Status = int32_t;

/// Functions of PyTorch that cost less than a call of its dispatcher.
struct Functions {
  Status (*copy)(Handle to, Handle from, int32_t non_blocking) = nullptr;
  Status (*zero)(Handle tensor) = nullptr;
  Status (*subtract)(Handle a, Handle b, double alpha, Handle* made) = nullptr;
  Status (*undefined)(Handle* made) = nullptr;
  /// On CUDA alone.
  Status (*flash)(Handle query, Handle key, Handle value, double dropout_p, int32_t is_causal,
                  int32_t returns_mask, double* scale, Handle* output, Handle* logsumexp,
                  Handle* ends_q, Handle* ends_k, int64_t* most_q, int64_t* most_k, Handle* state,
                  Handle* unused, Handle* mask) = nullptr;
  Status (*cudnn)(Handle query, Handle key, Handle value, Handle* added, int32_t returns_logsumexp,
                  double dropout_p, int32_t is_causal, int32_t returns_mask, double* scale,
                  Handle* output, Handle* logsumexp, Handle* ends_q, Handle* ends_k,
                  int64_t* most_q, int64_t* most_k, Handle* seed, Handle* offset,
                  Handle* mask) = nullptr;
};

template <typename Function>
bool lookUp(Function& function, const char* name) {
  function = TorchShim::function<Function>(name);
  return function != nullptr;
}

const Functions& functions() {
  static const Functions found = [] {
    Functions all;
    lookUp(all.copy, "aoti_torch_copy_");
    lookUp(all.zero, "aoti_torch_zero_");
    lookUp(all.subtract, "aoti_torch_aten_subtract_Tensor");
    lookUp(all.undefined, "aoti_torch_new_uninitialized_tensor");
    lookUp(all.flash, "aoti_torch_cuda__scaled_dot_product_flash_attention");
    lookUp(all.cudnn, "aoti_torch_cuda__scaled_dot_product_cudnn_attention");
    return all;
  }();
  return found;
}

/// Whether `own` are the strides of a tensor with `wanted`; those of axes of one element do not
/// matter.
bool areAlike(std::span<const int64_t> sizes, std::span<const int64_t> own,
              std::span<const int64_t> wanted) {
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] != 1 && own[axis] != wanted[axis]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool AtenProgram::isThere() {
  const Functions& all = functions();
  return all.copy != nullptr && all.zero != nullptr && all.subtract != nullptr &&
         all.undefined != nullptr;
}

bool AtenProgram::hasFlashAttention() { return functions().flash != nullptr; }

bool AtenProgram::hasCudnnAttention() { return functions().cudnn != nullptr; }

AtenTensor AtenProgram::another(const AtenTensor& tensor) const {
  return {shim_, std::bit_cast<Handle>(dispatcher_.tensor(tensor.handle()))};
}

AtenProgram::AtenProgram(const Torch& torch, const TorchDispatcher& dispatcher,
                         const external::Call& call)
    : torch_(torch),
      shim_(*torch.shim),
      dispatcher_(dispatcher),
      call_(call),
      device_(isOnCuda() ? *cudaDevice(call.machine->index) : cpuDevice()) {}

AtenTensor AtenProgram::at(const TensorRef& memory) const {
  return {shim_, shim_.lend(memory.data, {memory.dtype, memory.sizes, memory.strides}, device_)};
}

AtenTensor AtenProgram::operand(size_t i) const { return at(call_.input(i), i); }

AtenTensor AtenProgram::at(const TensorRef& memory, size_t input) const {
  void* const known = knowsHandles() && call_.handleOfInput ? call_.handleOfInput(input) : nullptr;
  // Another form of a tensor of PyTorch's costs less than a stranger's memory, of which the driver
  // is asked; and it has no gradients.
  const bool is_same = known != nullptr && shim_.dataOf(known) == memory.data &&
                       shim_.dtypeOf(known) == memory.dtype;
  return is_same ? AtenTensor(shim_, shim_.view(known, {memory.sizes, memory.strides}, 0))
                 : at(memory);
}

AtenTensor AtenProgram::result(size_t i) const {
  if (call_.allocate) {
    call_.allocate();
  }
  const bool knows = knowsHandles() && call_.handleOfOutput;
  void* const known = knows ? call_.handleOfOutput(i) : nullptr;
  if (known == nullptr) {
    return at(call_.outputs.at(i));
  }
  return {shim_, std::bit_cast<Handle>(dispatcher_.tensor(known))};
}

/// Whether the caller's memory is PyTorch's.
bool AtenProgram::knowsHandles() const {
  return torch_.allocator != nullptr && call_.machine->allocator == torch_.allocator.get();
}

AtenTensor AtenProgram::empty(std::span<const int64_t> sizes, DataType dtype) const {
  const std::vector<int64_t> strides = rowMajorStrides({sizes.begin(), sizes.end()});
  const Handle made = shim_.empty({dtype, sizes, strides}, device_);
  if (made == nullptr) {
    refused("empty_strided");
  }
  return {shim_, made};
}

AtenTensor AtenProgram::view(const AtenTensor& tensor, std::span<const int64_t> sizes,
                             std::span<const int64_t> strides, int64_t offset) const {
  return {shim_, shim_.view(tensor.handle(), {sizes, strides}, offset)};
}

AtenTensor AtenProgram::transposed(const AtenTensor& tensor) const {
  std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
  std::vector<int64_t> strides(tensor.strides().begin(), tensor.strides().end());
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return view(tensor, sizes, strides);
}

AtenTensor AtenProgram::converted(const AtenTensor& tensor, DataType dtype) const {
  AtenTensor made = empty(tensor.sizes(), dtype);
  copy(made, tensor);
  return made;
}

AtenTensor AtenProgram::as(AtenTensor tensor, DataType dtype) const {
  return tensor.dtype() == dtype ? std::move(tensor) : converted(tensor, dtype);
}

AtenTensor AtenProgram::element(const void* on_host, DataType dtype) const {
  const AtenTensor held(shim_,
                        shim_.lend(const_cast<void*>(on_host), {dtype, {}, {}}, cpuDevice()));
  AtenTensor made = empty({}, dtype);
  run("aten::fill_", "Tensor", {made, held});  // a number of the host's goes as a kernel's argument
  return made;
}

AtenTensor AtenProgram::number(const PolymorphicValue& value, DataType dtype) const {
  AtenTensor made(shim_, shim_.empty({dtype, {}, {}}, cpuDevice()));
  check(made.handle() != nullptr, "PyTorch makes a tensor of one number");
  storeElement(dataOf(made), dtype, value);
  return made;
}

void AtenProgram::fill(const AtenTensor& tensor, const PolymorphicValue& value) const {
  run("aten::fill_", "Tensor", {tensor, number(value, tensor.dtype())});
}

AtenTensor AtenProgram::undefined() const {
  Handle made = nullptr;
  require(functions().undefined(&made), "undefined");
  return {shim_, made};
}

Word AtenProgram::word(const AtenArgument& argument) const {
  using enum AtenArgument::Kind;
  Word word = 0;
  switch (argument.kind) {
    case None:
      return 0;
    case Tensor:
      word = dispatcher_.tensor(argument.tensor->handle());
      break;
    case Number:
      word = std::bit_cast<Word>(argument.number);
      break;
    case Real:
      word = std::bit_cast<Word>(argument.real);
      break;
    case Text:
      word = dispatcher_.string(argument.text);
      break;
    case Dtype:
      word = static_cast<uint32_t>(shim_.codeOf(argument.dtype));
      break;
    case Integers: {
      std::vector<Word> items;
      for (int64_t integer : *argument.integers) {
        items.push_back(std::bit_cast<Word>(integer));
      }
      word = dispatcher_.list(items);
      break;
    }
    case Tensors: {
      std::vector<Word> items;
      for (const AtenTensor* tensor : *argument.list) {
        items.push_back(dispatcher_.optional(dispatcher_.tensor(tensor->handle())));
      }
      word = dispatcher_.list(items);
      break;
    }
  }
  return argument.is_optional ? dispatcher_.optional(word) : word;
}

std::vector<AtenTensor> AtenProgram::run(const char* name, const char* overload,
                                         std::initializer_list<AtenArgument> arguments,
                                         std::string_view returns,
                                         std::vector<int64_t>* numbers) const {
  std::vector<Word> stack;
  stack.reserve(std::max(arguments.size(), returns.size()));
  for (const AtenArgument& argument : arguments) {
    stack.push_back(word(argument));
  }
  stack.resize(std::max(arguments.size(), returns.size()));
  if (!dispatcher_.call(name, overload, stack.data())) {
    refused(name);
  }
  std::vector<AtenTensor> results;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (returns[i] == 'T') {
      results.emplace_back(shim_, std::bit_cast<Handle>(stack[i]));
    } else if (numbers != nullptr) {
      numbers->push_back(std::bit_cast<int64_t>(stack[i]));
    }
  }
  return results;
}

void AtenProgram::copy(const AtenTensor& to, const AtenTensor& from) const {
  require(functions().copy(to.handle(), from.handle(), 0), "copy_");
}

void AtenProgram::zero(const AtenTensor& tensor) const {
  require(functions().zero(tensor.handle()), "zero_");
}

AtenTensor AtenProgram::sum(const AtenTensor& a, const AtenTensor& b) const {
  Handle made = nullptr;
  require(functions().subtract(a.handle(), b.handle(), -1.0, &made), "subtract");
  return {shim_, made};
}

std::vector<AtenTensor> AtenProgram::owned(std::span<const Handle> made) const {
  std::vector<AtenTensor> results;
  for (Handle handle : made) {
    results.emplace_back(shim_, handle);
  }
  return results;
}

std::vector<AtenTensor> AtenProgram::flashAttention(const AtenTensor& query, const AtenTensor& key,
                                                    const AtenTensor& value, double dropout_p,
                                                    bool is_causal, double scale) const {
  check(functions().flash != nullptr, "PyTorch of CUDA has flash attention");
  Handle made[7]{};
  int64_t most_queries = 0, most_keys = 0;
  require(functions().flash(query.handle(), key.handle(), value.handle(), dropout_p,
                            is_causal ? 1 : 0, 0, &scale, &made[0], &made[1], &made[4], &made[5],
                            &most_queries, &most_keys, &made[2], &made[3], &made[6]),
          "_scaled_dot_product_flash_attention");
  return owned(made);
}

std::vector<AtenTensor> AtenProgram::cudnnAttention(const AtenTensor& query, const AtenTensor& key,
                                                    const AtenTensor& value, bool is_causal,
                                                    double scale) const {
  check(functions().cudnn != nullptr, "PyTorch of CUDA has cuDNN's attention");
  Handle made[7]{};
  int64_t most_queries = 0, most_keys = 0;
  require(functions().cudnn(query.handle(), key.handle(), value.handle(), nullptr, 1, 0.0,
                            is_causal ? 1 : 0, 0, &scale, &made[0], &made[1], &made[2], &made[3],
                            &most_queries, &most_keys, &made[4], &made[5], &made[6]),
          "_scaled_dot_product_cudnn_attention");
  std::vector<AtenTensor> results = owned(made);
  results.resize(2);
  return results;
}

void AtenProgram::give(size_t i, AtenTensor made) const {
  const TensorRef& wanted = call_.outputs.at(i);
  if (wanted.numel() == 0) {
    return;
  }
  const bool is_as_wanted = made.dtype() == wanted.dtype &&
                            areAlike(wanted.sizes, made.strides(), wanted.strides) &&
                            call_.adopt != nullptr && knowsHandles();
  if (!is_as_wanted) {
    return copy(result(i), made);
  }
  AtenTensor exact = view(made, wanted.sizes, wanted.strides);
  void* const data = shim_.dataOf(exact.handle());
  call_.adopt(i, data, exact.take());
}

void AtenProgram::require(int32_t status, const char* what) const {
  if (status != 0) {
    refused(what);
  }
}

void AtenProgram::refused(std::string_view name) const {
  const std::string said = dispatcher_.lastError();
  userError(call_.op->getOpString(), ": PyTorch's ", name,
            " refused it: ", said.empty() ? std::string("what it printed says why") : said, "; in ",
            call_.op->toString());
}

bool declined(const external::Call& call, std::string why) {
  if (call.declined != nullptr) {
    *call.declined = std::move(why);
  }
  return false;
}

}  // namespace nvfuser::python
