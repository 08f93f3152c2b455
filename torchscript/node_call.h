/// A node of TorchScript's graph, as the rules of node_table.h see it: arguments by the names of
/// the operator's schema, profiled dtypes of its results, and the fusion that it becomes part of.
/// Knows nothing of PyTorch; lower_graph.h implements it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "definition.h"

namespace nvfuser::torchscript {

/// Asked for while it is decided what to fuse: the value of an argument that is no constant. What
/// it will be is seen at the first call; a kernel is made for each value.
struct NotYetKnown {};

class NodeCall {
 public:
  virtual ~NodeCall() = default;

  Definition& fusion() { return fusion_; }

  /// Whether the argument is there and not None.
  virtual bool given(const char* name) = 0;
  virtual Term tensor(const char* name) = 0;
  /// Not given: a term without id.
  Term optionalTensor(const char* name) { return given(name) ? tensor(name) : Term(); }
  virtual std::vector<Term> tensors(const char* name) = 0;
  /// A tensor, or a number, which may differ from call to call.
  virtual Operand operand(const char* name) = 0;

  // These become part of the kernel.
  virtual int64_t integer(const char* name) = 0;
  virtual bool flag(const char* name) = 0;
  virtual double real(const char* name) = 0;
  virtual std::string text(const char* name) = 0;
  virtual std::vector<int64_t> integers(const char* name) = 0;
  virtual std::vector<bool> flags(const char* name) = 0;
  /// Of a list of sizes, which are 1: all that the kernel depends on.
  virtual std::vector<bool> ones(const char* name) = 0;

  /// As profiled: axes of a tensor argument that have extent 1.
  virtual std::vector<bool> unitAxes(const char* name) = 0;
  /// Whether the argument comes from outside the group, and nothing else of the graph reads it: it
  /// may be updated in place.
  virtual bool mayUpdate(const char* name) = 0;
  /// As profiled; throws `Refusal` where nothing is known.
  virtual nvf_dtype resultType(size_t number = 0) = 0;
  /// Whether somebody uses the result.
  virtual bool wanted(size_t number) = 0;

  /// In the order of the node's results; those that are not wanted may be left out.
  void result(const Term& term) { results_.push_back(term); }
  const std::vector<Term>& results() const { return results_; }

 protected:
  explicit NodeCall(Definition& fusion) : fusion_(fusion) {}

 private:
  Definition& fusion_;
  std::vector<Term> results_;
};

}  // namespace nvfuser::torchscript
