#include "torch_inside.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <malloc.h>

namespace nvfuser::python {

namespace {

using Words = std::span<const uint64_t>;

uint64_t toldKeys(const nb::object& torch, const nb::object& tensor) {
  return nb::cast<uint64_t>(torch.attr("_C").attr("_dispatch_keys")(tensor).attr("raw_repr")());
}

/// The words of the object that a handle points to. It has a block of memory for itself.
Words wordsOf(TorchShim::Handle handle) {
  auto* object = *static_cast<uint64_t**>(handle);
  return {object, malloc_usable_size(object) / sizeof(uint64_t)};
}

}  // namespace

std::optional<TorchInside> TorchInside::find(const nb::object& torch, const TorchShim& shim) {
  const TorchShim::Handle tensor = shim.empty({DataType::ComplexFloat, {}, {}}, cpuDevice());
  if (tensor == nullptr) {
    return std::nullopt;
  }
  TorchInside inside;
  const auto held = *static_cast<const uint64_t*>(tensor);  // a handle is an at::Tensor
  const nb::object plain = shim.toObject(tensor);
  const Words object(reinterpret_cast<const uint64_t*>(plain.ptr()),
                     nb::cast<size_t>(plain.type().attr("__basicsize__")) / sizeof(uint64_t));
  const auto place =
      std::find(object.begin() + sizeof(PyObject) / sizeof(uint64_t), object.end(), held);
  if (place == object.end()) {
    return std::nullopt;
  }
  inside.tensor_ = static_cast<size_t>(place - object.begin()) * sizeof(uint64_t);

  const nb::object conjugated = plain.attr("conj")();
  const nb::object negated = conjugated.attr("imag");
  const nb::object elsewhere = torch.attr("empty")(0, nb::arg("device") = "meta");
  const std::array known = {plain, conjugated, negated, elsewhere};
  const Words words = wordsOf(inside.handleOf(plain.ptr()));
  for (size_t i = 1; i < words.size() && inside.keys_ == 0; ++i) {  // the first is of its class
    inside.keys_ = i * sizeof(uint64_t);
    const bool fits = std::all_of(known.begin(), known.end(), [&](const nb::object& one) {
      return i < wordsOf(inside.handleOf(one.ptr())).size() &&
             inside.keysOf(one.ptr()) == toldKeys(torch, one);
    });
    inside.keys_ = fits ? inside.keys_ : 0;
  }
  if (inside.keys_ == 0) {
    return std::nullopt;
  }
  const uint64_t of_conjugated = inside.keysOf(conjugated.ptr()) ^ inside.keysOf(plain.ptr());
  const uint64_t of_negated = inside.keysOf(negated.ptr()) ^ inside.keysOf(plain.ptr());
  inside.lazy_ = of_conjugated | of_negated;
  const nb::object c = torch.attr("_C");
  inside.plain_ = inside.keysOf(plain.ptr());
  for (const char* key : {"CUDA", "AutocastCUDA"}) {  // where the CPU's tensors have theirs
    const nb::object keys = c.attr("DispatchKeySet")(c.attr("DispatchKey").attr(key));
    inside.plain_ |= nb::cast<uint64_t>(keys.attr("raw_repr")());
  }
  const bool one_each = std::has_single_bit(of_conjugated) && std::has_single_bit(of_negated) &&
                        std::popcount(inside.lazy_) == 2 && !inside.isLazy(plain.ptr());
  return one_each ? std::optional(inside) : std::nullopt;
}

}  // namespace nvfuser::python
