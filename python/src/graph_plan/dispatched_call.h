/// Any operation of PyTorch by its dispatcher, without Python, from the description of its operands
/// that the operation's schema gives:
///
///   aten::index_copy_   tensor v5 | integer 2 | tensor v6 | tensor v19
///   aten::clone         tensor v3 | code aoti_torch_memory_format_contiguous_format, optional
///
/// By its stable C functions (torch_dispatcher.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph_plan/library_call.h"
#include "graph_plan/values.h"
#include "torch_dispatcher.h"

namespace nvfuser::python {

struct DispatchedOperand {
  enum class Kind : uint8_t {
    None,      ///< of an optional one
    Tensor,    ///< of `slot`
    Integer,   ///< the first of `integers`; of a bool, 0 or 1
    Integers,  ///< a list; of bools, likewise
    Real,
    Code  ///< what a C function of PyTorch's, without parameters, says: of a dtype, a layout, …
  };
  Kind kind = Kind::None;
  bool is_optional = false;  ///< by the schema
  SlotIndex slot = 0;
  std::vector<PlanInteger> integers;
  double real = 0;
  std::string function;
};

/// The results are tensors, or nothing that anybody reads.
class DispatchedCall final : public LibraryCall {
 public:
  /// Null where this PyTorch has no such function. `name`: with its namespace.
  static std::unique_ptr<DispatchedCall> make(std::string_view name, std::string_view overload,
                                              std::vector<DispatchedOperand> operands);

  bool run(Values& values, std::span<const SlotIndex> results) const override;

 private:
  DispatchedCall(const TorchDispatcher& dispatcher, std::string_view name,
                 std::string_view overload, std::vector<DispatchedOperand> operands)
      : dispatcher_(dispatcher), name_(name), overload_(overload), operands_(std::move(operands)) {}

  bool canRead(Values& values, bool& takes_long) const;
  uint64_t word(size_t place, Values& values) const;

  const TorchDispatcher& dispatcher_;
  std::string name_;
  std::string overload_;
  std::vector<DispatchedOperand> operands_;
  std::vector<uint64_t> codes_;  ///< of operands that are codes
};

}  // namespace nvfuser::python
