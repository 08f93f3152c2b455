/// Reads axes and tensors as printer.cpp and fusion_text.cpp write them. The number of a node is
/// its identity: a node that is named again has to be the same.
#pragma once

#include <map>

#include <ir/scalar_reader.h>

namespace nvfuser {

class AxisReader {
 public:
  AxisReader(Fusion& fusion, NodeNames& names, ScalarReader& scalars)
      : fusion_(fusion), names_(names), scalars_(scalars) {}

  /// "iS4{i0}", "rthreadIdx.x7rf{128}_p".
  IterDomain* axis(TextCursor& at);
  /// Axes between `open` and `close`.
  std::vector<IterDomain*> axes(TextCursor& at, std::string_view open, std::string_view close);

 private:
  AxisFields fields(TextCursor& at);
  Fusion& fusion_;
  NodeNames& names_;
  ScalarReader& scalars_;
  std::map<int64_t, IterDomain*> axes_;
};

class TensorReader {
 public:
  TensorReader(Fusion& fusion, NodeNames& names, AxisReader& axes)
      : fusion_(fusion), names_(names), axes_(axes) {}

  /// "T3_l_float[iS4{i0}, rS5{i2}] ca_pos( 1 )": one that is there already, or a tensor whose loop
  /// domain is all its axes.
  TensorView* tensor(TextCursor& at);
  /// "T3".
  TensorView* named(TextCursor& at);

  /// What an entry of %transforms says of a tensor.
  struct Entry {
    int64_t number;
    DataType dtype;
    TensorFields tensor;
    DomainFields domain;
    bool has_loop = false, has_initial_loop = false, has_contiguity = false;
  };
  Entry head(TextCursor& at);
  /// Whether the line is one of the tensor's fields ("logical domain: (…)"), which is read then.
  bool field(TextCursor& at, Entry& entry);
  TensorView* make(Entry entry);

 private:
  Fusion& fusion_;
  NodeNames& names_;
  AxisReader& axes_;
  std::map<int64_t, TensorView*> tensors_;
};

}  // namespace nvfuser
