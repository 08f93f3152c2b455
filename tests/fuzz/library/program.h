/// A random program as data: inputs, calls of operations by their names in the table of operations
/// (capi/operations.h), outputs. It can be written to a file, read back, built as a Fusion, and cut
/// down.
///
///   fuzz 1
///   seed 42                     which draw it was; for readers alone
///   mode exact                  exact, normal or special values
///   values 7                    seed of the inputs' elements and of random operations
///   schedule 9 steps 12         seed of the manual schedules; how many steps they have
///   index wide                  automatic runs count in 64 bits; `narrow`: as the sizes need
///   input v0 float sizes=[3,5] strides=[5,1] offset=2 axes=[s,s] contiguity=[1,1]
///   scalar v1 double 2.5
///   v2 = add(v0, v1)
///   v3, v4 = var_mean(v2, axes=[0], keepdim=True)
///   output v3
///
/// A program whose sizes vary has a line `sizes vary`, and further calls of the same fusion behind
/// its inputs, each with what differs from the first one:
///
///   again v0 sizes=[1,5] strides=[5,1] offset=0 v1=3
///
/// and may write results to the memory of its inputs: `update v4 in v0`.
///
/// A program for several devices says how many there are along x, y and z, and how they share
/// tensors: the axis that is cut along each, or −1.
///
///   devices [2,3]
///   share v0 [1,-1]
///
/// An axis of an input is s (symbolic), c (of constant size), b (broadcast, of size 1) or e
/// (expanded, of stride 0). `order=[1,0]`: logical axes as they lie in memory, outermost first;
/// contiguity follows that order. `below=7`: elements are indices below 7. `same=v0`: the very
/// tensor of v0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ir/type.h>

namespace nvfuser::fuzz {

struct Argument {
  enum class Kind : uint8_t { None, Value, Bool, Int, Double, Dtype, List };
  Kind kind = Kind::None;
  int64_t integer = 0;  ///< a value's id, an integer, a truth value
  double real = 0;
  DataType dtype = {};
  std::vector<Argument> items = {};
  std::string name = {};  ///< of the parameter; empty: by position

  friend bool operator==(const Argument&, const Argument&) = default;
};
Argument value(int64_t id);
Argument integer(int64_t number);
Argument real(double number);
Argument truth(bool flag);
Argument dtypeOf(DataType dtype);
Argument integers(const std::vector<int64_t>& numbers);
Argument named(std::string name, Argument argument);

struct Input {
  int64_t id = 0;
  DataType dtype;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;     ///< of the first element in its storage, in elements
  std::string axes = {};  ///< a letter for each
  std::vector<int64_t> contiguity = {};
  std::vector<int64_t> order = {};  ///< empty: row-major
  int64_t below = 0;                ///< not 0: elements are indices
  int64_t same = -1;                ///< id of the input whose tensor this is, or −1

  friend bool operator==(const Input&, const Input&) = default;
};

struct ScalarInput {
  int64_t id = 0;
  DataType dtype;  ///< Double or Int
  double value = 0;

  friend bool operator==(const ScalarInput&, const ScalarInput&) = default;
};

struct Call {
  std::string operation;
  std::vector<int64_t> results;  ///< −1 for one that is not given
  std::vector<Argument> arguments;

  friend bool operator==(const Call&, const Call&) = default;
};

/// A result that is written to the memory of an input, and no output.
struct Update {
  int64_t result = 0;
  int64_t input = 0;

  friend bool operator==(const Update&, const Update&) = default;
};

/// A tensor on the mesh of devices: which of its axes each axis of the mesh cuts, −1 for none.
struct Share {
  int64_t id = 0;
  std::vector<int64_t> cut;

  friend bool operator==(const Share&, const Share&) = default;
};

/// A further call of the same fusion.
struct Again {
  struct Layout {
    int64_t id = 0;  ///< of the input
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    int64_t offset = 0;

    friend bool operator==(const Layout&, const Layout&) = default;
  };
  std::vector<Layout> layouts;
  std::map<int64_t, double> scalars;  ///< by id

  friend bool operator==(const Again&, const Again&) = default;
};

enum class ValueMode : uint8_t {
  Exact,   ///< small integers in every dtype, operations that keep them exact: equal bit for bit
  Normal,  ///< numbers of many magnitudes
  Special  ///< with NaN, infinities, zeros of both signs, subnormal and extreme numbers among them
};
std::string_view modeName(ValueMode mode);

struct Program {
  uint64_t seed = 0;
  ValueMode mode = ValueMode::Normal;
  uint64_t value_seed = 0;
  uint64_t schedule_seed = 0;
  int64_t schedule_steps = 12;
  bool wide_index = false;
  std::vector<Input> inputs;
  std::vector<ScalarInput> scalars;
  std::vector<Call> calls;
  std::vector<int64_t> outputs;
  /// Its sizes come out as they may, in several calls (run_calls.h): what each comes to is said by
  /// shapes.h, not by the Fusion.
  bool sizes_vary = false;
  std::vector<Again> again = {};
  std::vector<Update> updates = {};
  std::vector<int64_t> devices = {};  ///< along x, y, z; empty: one, without a mesh
  std::vector<Share> shares = {};

  std::string toString() const;
  friend bool operator==(const Program&, const Program&) = default;
};

/// Reads what `toString` writes. Throws `UserError` that names the line.
Program parseProgram(std::string_view file);

/// Ids that an argument mentions, also inside lists.
void collectValues(const Argument& argument, std::vector<int64_t>& ids);
/// The program with the arguments of one of its calls, from 0, and no others.
Program callOf(const Program& program, size_t call);
/// Leaves out calls and inputs that no output needs.
Program withoutDeadCode(const Program& program);

}  // namespace nvfuser::fuzz
