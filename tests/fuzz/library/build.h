/// A program as a Fusion, and its arguments as tensors on a device.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <evaluator/expression_evaluator.h>
#include <fuzz/library/program.h>
#include <ir/fusion.h>
#include <runtime/executor_kernel_arg.h>

namespace nvfuser::fuzz {

/// What is known of a value of a program.
struct Value {
  Val* val = nullptr;
  std::vector<int64_t> sizes = {};
  /// The longest way to it from inputs: operations, elements that its reductions combine, half an
  /// ulp of 1 of the widest dtype that is computed in.
  double operations = 0;
  double reduced = 1;
  double unit = 0;
  bool is_random = false;  ///< random numbers lead to it
};

/// A Fusion under construction: its owner may go on calling operations.
class Builder {
 public:
  /// With `noise`: each floating-point result that is rounded is multiplied by an input of its own,
  /// to be filled with 1 ± a few roundings (see `noiseArguments`). Reductions and composites get
  /// noise on their operands, too.
  /// `sized`: the sizes of all values are known, and follow from those of the inputs.
  explicit Builder(bool noise = false, bool sized = true);

  void add(const Input& input);
  void add(const ScalarInput& scalar);
  /// Throws what the operation throws, and `UserError` where it has another number of results than
  /// the call names or one of their sizes is not known.
  void add(const Call& call);
  void addOutput(int64_t id);
  void add(const Update& update);

  bool has(int64_t id) const { return values_.count(id) != 0; }
  const Value& at(int64_t id) const;
  const std::map<int64_t, Value>& values() const { return values_; }
  Fusion& fusion() { return *fusion_; }
  std::unique_ptr<Fusion> release() { return std::move(fusion_); }

  struct Noise {
    DataType dtype;
    std::vector<int64_t> sizes;
    double amplitude;
  };
  const std::vector<Noise>& noise() const { return noise_; }

 private:
  Val* sliced(const Call& call, Val* operand) const;
  Val* noisy(Val* val, const std::vector<int64_t>& sizes);
  std::vector<int64_t> sizesOf(const Val* val);
  std::vector<int64_t> sizesOfTensor(const TensorView* tv);

  std::unique_ptr<Fusion> fusion_;
  ExpressionEvaluator evaluator_;
  std::map<int64_t, Value> values_;
  bool has_noise_;
  bool is_sized_;
  std::vector<Noise> noise_;
};

/// The whole program. Throws as `Builder::add` does.
Builder build(const Program& program, bool noise = false);

/// Tensors and scalars in the order of the Fusion's inputs.
KernelArgumentHolder makeArguments(const Program& program, Device& device);
/// Those that follow them where there is noise: 1 ± 0.5 to 1.5 times the amplitude, drawn from
/// `seed`, all signs turned with `opposite`.
KernelArgumentHolder noiseArguments(const std::vector<Builder::Noise>& noise, uint64_t seed,
                                    bool opposite);

/// Elements that the storage of an input has.
int64_t storageElements(const Input& input);
/// Half an ulp of 1; 0 for what is no float.
double roundoff(DataType dtype);

}  // namespace nvfuser::fuzz
