/// Fusions by id: one registry for the process, in which a fusion stays until the process ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <capi/nvfuser_c.h>
#include <nanobind/nanobind.h>

namespace nvfuser::python {

namespace nb = nanobind;

class Fusion {
 public:
  explicit Fusion(int64_t id);
  Fusion(const Fusion&) = delete;
  Fusion& operator=(const Fusion&) = delete;

  /// A new one, with the next id.
  static std::shared_ptr<Fusion> create();
  /// The one with this id; throws `UserError` if there is none. From any thread.
  static std::shared_ptr<Fusion> find(int64_t id);

  int64_t id() const { return id_; }
  bool defined() const { return state_ == State::Defined; }
  /// The definition as a Python function, and as intermediate representation.
  std::string definition() const;
  std::string ir() const;

  /// Throws `UserError` if it is (being) defined already.
  void beginDefinition();
  /// `keep`: else what was defined is dropped, and it may be defined anew.
  void endDefinition(bool keep);
  nvf_fusion* handle() const { return handle_.get(); }
  /// The fusion for functions that define; throws `UserError` outside of a definition.
  nvf_fusion* defining() const;

  /// Inputs are numbers and tensors of any framework that speaks DLPack. Outputs belong to the
  /// framework of the first tensor. Other Python threads run meanwhile.
  nb::list execute(const nb::sequence& inputs);

 private:
  enum class State : uint8_t { Empty, Defining, Defined };
  using Handle = std::unique_ptr<nvf_fusion, decltype(&nvf_fusion_destroy)>;
  static Handle makeHandle();
  void requireDefined() const;

  const int64_t id_;
  Handle handle_;
  std::atomic<State> state_ = State::Empty;
  std::atomic<bool> dumped_ = false;
};

using FusionPtr = std::shared_ptr<Fusion>;

}  // namespace nvfuser::python
