/// A fusion while a program defines it: values by id, operations by name, and the same definition
/// as Python text. What the C interface and the Python module share.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <capi/nvfuser_c.h>
#include <ir/fusion.h>
#include <ir/polymorphic_value.h>

namespace nvfuser::capi {

/// Where the text of a definition comes from.
enum class TextOf : uint8_t {
  Statements,  ///< what was entered, one after the other
  Graph,       ///< what it made of it
};

/// Functions that define throw `ArgumentError` for arguments of the wrong kind and `UserError` for
/// those that make no sense; the definition is then as it was.
struct Definition {
  explicit Definition(TextOf source = TextOf::Statements) : text_of_(source) {}

  Fusion graph;
  std::vector<Val*> values;             ///< by id
  std::vector<std::string> statements;  ///< Python text, where it does not come from the graph

  /// The next id; the statement that defines it is the caller's.
  int64_t addValue(Val* val);
  /// The first id of a value; −1 if it has none.
  int64_t idOf(const Val* val) const;
  /// The value with this id; an `ArgumentError` if there is none.
  Val* valueOf(int64_t id) const;

  /// `sizes`: −1 symbolic, 1 broadcast; `contiguous`: with the axis to its right.
  int64_t defineTensor(const std::vector<int64_t>& sizes, const std::vector<bool>& contiguous,
                       int32_t dtype);
  /// Sizes become symbolic (but 1 stays), and contiguity follows.
  int64_t defineTensorLike(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                           int32_t dtype);
  int64_t defineScalar(int32_t dtype);
  int64_t defineConstant(const PolymorphicValue& value);
  /// Ids of the results; −1 for one that was not asked for.
  std::vector<int64_t> call(std::string_view operation, std::span<const nvf_argument> arguments);
  /// A scalar comes out as a tensor without axes, Index as Int.
  void addOutput(int64_t id);

  bool keepsStatements() const { return text_of_ == TextOf::Statements; }
  /// The Python function of this name that defines it again.
  std::string pythonText(std::string_view function) const;
  /// Scheduling is about to change the operations: the text stays as it is until `extended`.
  void beforeScheduling();
  /// There are an operation or an output more.
  void extended();

 private:
  TextOf text_of_;
  std::map<const Val*, int64_t> ids_;
  bool is_scheduled_ = false;  ///< the statements are those of the graph before it was
};

/// Throws unless a tensor can have so many axes.
void requireRank(int64_t ndims);
/// The dtype of elements or of a scalar; throws for Null and Index. `what` asks.
DataType elementTypeOf(int32_t code, std::string_view what);

}  // namespace nvfuser::capi
