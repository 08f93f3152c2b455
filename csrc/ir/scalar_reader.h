/// Reads scalars as scalar_text.cpp writes them. Equal ones become one node.
#pragma once

#include <map>
#include <string>

#include <ir/node_names.h>
#include <ir/spelling.h>
#include <ir/text_cursor.h>

namespace nvfuser {

class ScalarReader {
 public:
  ScalarReader(Fusion& fusion, NodeNames& names) : fusion_(fusion), names_(names) {}

  /// "i0", "2.0:float", "( ceilDiv( i2, 128 ) )".
  Val* read(TextCursor& at, const LiteralTypes& types);
  /// "i7 : int64_t" or "i9 = i7 + 2 : nvfuser_index_t": a whole line.
  void declare(TextCursor& at);
  static DataType readType(TextCursor& at);

 private:
  struct Operation {
    ScalarOperation type;
    std::vector<Val*> operands;
    DataType expected;
  };
  Val* literal(TextCursor& at, const LiteralTypes& types);
  Operation operation(TextCursor& at, const LiteralTypes& types);
  Operation function(TextCursor& at, const LiteralTypes& types);
  Val* constant(const PolymorphicValue& value, DataType dtype);
  Val* symbol(TextCursor& at, std::string_view name, std::optional<DataType> dtype);
  /// The value of an operation: one that is there already, or a new one.
  Val* valueOf(const Operation& operation, DataType dtype, std::optional<int64_t> number);

  Fusion& fusion_;
  NodeNames& names_;
  std::map<std::string, Val*, std::less<>> symbols_;
  std::map<std::string, Val*> made_;  ///< by what they are made from
};

}  // namespace nvfuser
