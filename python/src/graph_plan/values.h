/// The values of one call of a plan, by slot: objects of Python, tensors of PyTorch that are no
/// objects of Python (yet), views that are no tensors (yet), and integers.
///
/// A value changes its form as its readers need it: an object is read once, by the first step that
/// works on tensors' memory; a view becomes a tensor when PyTorch reads it, and an object when
/// Python does. Each at most once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph_plan/view_form.h"
#include "interpreter_lock.h"
#include "torch_value.h"

namespace nvfuser::python {

using SlotIndex = uint32_t;

/// An integer, known or of a slot.
struct PlanInteger {
  std::optional<SlotIndex> slot;
  int64_t known = 0;
};

class Values {
 public:
  /// `torch`: null where PyTorch's C functions are not as they should be; then all values are
  /// objects of Python.
  Values(const Torch* torch, size_t count) : torch_(torch), slots_(count) {}
  ~Values() { clear(); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  /// Of a call. Its lock may be given to others while a function here runs that needs none; those
  /// that need it take it. `is_observed`: somebody wants to see PyTorch's operations.
  void begin(InterpreterLock* lock, bool is_observed) {
    lock_ = lock;
    is_observed_ = is_observed;
    by_python_.clear();
  }
  bool isObserved() const { return is_observed_; }
  InterpreterLock& lock() { return *lock_; }
  const Torch* torch() const { return torch_; }
  /// The steps that Python carries out in this call.
  std::vector<size_t>& byPython() { return by_python_; }

  // ---- written ----
  /// Takes over a reference.
  void setObject(SlotIndex slot, PyObject* object);
  /// Takes over a plain tensor; false and untouched if it has too many axes.
  void setTensor(SlotIndex slot, TorchShim::Handle tensor);
  void setInteger(SlotIndex slot, int64_t integer);
  /// Of what `tensor(source)` has; the slot that has its memory must stay until the view is
  /// dropped.
  void setView(SlotIndex slot, SlotIndex source, const ViewForm& form);

  // ---- read ----
  /// Of a plain tensor of few axes: where and what it is, with the form relative to the tensor that
  /// has its memory. Null for all else.
  const ViewForm* form(SlotIndex slot);
  /// A plain tensor or a number, as a region reads it.
  bool read(SlotIndex slot, TorchValue& value);
  bool integer(SlotIndex slot, int64_t& value);
  bool integer(const PlanInteger& integer, int64_t& value) {
    value = integer.known;
    return !integer.slot || this->integer(*integer.slot, value);
  }
  /// Of a plain tensor: PyTorch's, owned here. Null for all else.
  TorchShim::Handle handle(SlotIndex slot);
  /// Borrowed. Takes the lock.
  PyObject* object(SlotIndex slot);

  void drop(SlotIndex slot);
  void clear();

 private:
  enum class State : uint8_t {
    Empty,
    Unread,  ///< an object that nobody has looked at
    Tensor,  ///< plain, of few axes
    Number,  ///< in `value`
    Opaque,  ///< an object that is neither
  };
  struct Slot {
    State state = State::Empty;
    bool owns_handle = false;
    PyObject* object = nullptr;          ///< owned
    TorchShim::Handle handle = nullptr;  ///< owned or in `object`; null for a view alone
    SlotIndex root = 0;                  ///< of a tensor: the slot that has its memory
    TorchValue value;                    ///< of a tensor or number; its spans are not used
    ViewForm form;                       ///< of a tensor, relative to `root`
  };

  void look(Slot& slot, SlotIndex index);
  void setFormOf(Slot& slot, SlotIndex index);
  void dropObject(PyObject* object);

  const Torch* torch_;
  InterpreterLock* lock_ = nullptr;
  bool is_observed_ = false;
  std::vector<size_t> by_python_;
  std::vector<Slot> slots_;
  std::vector<PyObject*> dropped_;  ///< references to objects that others keep, to be given up
};

}  // namespace nvfuser::python
