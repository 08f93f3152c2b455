/// Rows of the operation table that compute nothing on elements, or make them: casts, copies,
/// shapes, parts and joins, factories, random numbers.
#include <doctest/doctest.h>

#include "operation_table.h"
#include <ir/builder.h>
#include <ops/alias.h>
#include <ops/arith.h>
#include <ops/composite.h>
#include <ops/indexing.h>

namespace nvfuser::table {

namespace {

std::string nameOf(DataType dtype) { return std::string(dataTypeName(dtype)); }
Val* num(int64_t value) { return IrBuilder::create<Val>(PolymorphicValue(value)); }

void castTable(Table& table) {
  const Sizes sizes = {11, 13};
  const Sizes none = {0, 13};
  for (DataType from : allDataTypes()) {
    table.program("set", nameOf(from), [&](Definition& d) {
      d.accuracy.exact = true;
      d.output(set(d.tensor(sizes, from, Values::Special, none)));
      d.output(set(d.tensor({}, from)));
    });
    for (DataType to : allDataTypes()) {
      const std::string name = text(dataTypeName(from), " to ", dataTypeName(to));
      table.program("castOp", name, [&](Definition& d) {
        // What goes to reduced precision goes by Float, and may be rounded twice.
        d.accuracy.exact = !isReducedPrecisionFloat(to) || isReducedPrecisionFloat(from) ||
                           from == DataType::Float;
        d.output(castOp(to, d.tensor(sizes, from, Values::Special, none)));
        d.output(castOp(to, d.tensor({}, from)));
        d.output(full({num(3)}, castOp(to, d.scalar(from)), to));
      });
      auto bits = [&](Definition& d) {
        d.accuracy.exact = true;
        d.output(set(bitCastOp(to, d.tensor(sizes, from, Values::Special, none))));
        d.output(set(bitCastOp(to, d.tensor({}, from))));
      };
      if (dataTypeSizeByte(from) != dataTypeSizeByte(to)) {
        table.refused("bitCastOp", name, "BitCast only works for types of the same size", bits);
      } else if (isBooleanType(to) && !isBooleanType(from)) {
        table.program("bitCastOp", name, [&](Definition& d) {  // a Bool has two patterns
          d.output(set(bitCastOp(to, d.tensor(sizes, from, Values::Factor, none))));
        });
      } else {
        table.program("bitCastOp", name, bits);
      }
    }
  }
}

/// One program for each operation and dtype, with inputs of any layout.
void shapeTable(Table& table) {
  for (DataType dtype : allDataTypes()) {
    using Make = std::function<Val*(TensorView*)>;
    auto row = [&](const std::string& kind, const Sizes& sizes, const std::optional<Sizes>& empty,
                   const std::vector<Make>& results) {
      table.program(kind, nameOf(dtype), [&](Definition& d) {
        d.accuracy.exact = true;
        TensorView* x = d.tensor(sizes, dtype, Values::Special, empty);
        for (const Make& make : results) {
          d.output(make(x));
        }
      });
    };
    const Sizes cube = {3, 5, 7};
    const Sizes hollow = {3, 0, 7};
    row("broadcast", {5, 7}, Sizes{0, 7},
        {[](TensorView* x) { return broadcast(x, {false, true, false}); },
         [](TensorView* x) { return broadcast(x, {true, false, false, true}); }});
    row("broadcast of 0-dim", {}, std::nullopt,
        {[](TensorView* x) { return broadcast(x, {true, true}); }});
    row("unsqueeze", {5, 7}, Sizes{0, 7},
        {[](TensorView* x) { return unsqueeze(x, 0); },
         [](TensorView* x) { return unsqueeze(x, -1); }});
    row("squeeze", {5, 1, 7}, Sizes{0, 1, 7}, {[](TensorView* x) { return squeeze(x, {1}); }});
    row("expand", {5, 1, 7}, Sizes{0, 1, 7},
        {[](TensorView* x) { return set(expand(x, {num(-1), num(4), num(-1)})); },
         [](TensorView* x) { return set(expand(x, {num(2), num(-1), num(3), num(-1)})); }});
    row("repeat", {3, 5}, Sizes{0, 5}, {[](TensorView* x) { return repeat(x, {2, 3}); }});
    row("permute", cube, hollow,
        {[](TensorView* x) { return permute(x, {2, 0, 1}); },
         [](TensorView* x) { return permute(x, {1, 2, 0}); }});
    row("transpose", cube, hollow,
        {[](TensorView* x) { return transpose(x, 0, 2); },
         [](TensorView* x) { return transpose(x, -1, 1); }});
    row("reshape", {4, 6}, std::nullopt,
        {[](TensorView* x) { return reshape(x, {4, 6}, {2, 12}); },
         [](TensorView* x) { return reshape(x, {4, 6}, {3, 8}); },
         [](TensorView* x) { return reshape(x, {num(-1)}); },
         [](TensorView* x) { return reshape(x, {4, 6}, {4, 2, 1, 3}); }});
    row("reshape to one axis", {4, 6}, Sizes{0, 6},
        {[](TensorView* x) { return reshape(x, {num(-1)}); }});
    row("reshape of nothing", {0, 6}, std::nullopt,
        {[](TensorView* x) { return reshape(x, {0, 6}, {2, 0}); },
         [](TensorView* x) { return reshape(x, {0, 6}, {0}); },
         [](TensorView* x) { return reshape(x, {0, 6}, {3, 0, 2, 1}); }});
    row("reshape of 0-dim", {}, std::nullopt,
        {[](TensorView* x) { return reshape(x, {}, {1, 1}); }});
    row("flatten", cube, hollow,
        {[](TensorView* x) { return flatten(x); }, [](TensorView* x) { return flatten(x, 1); },
         [](TensorView* x) { return flatten(x, 0, 1); }});
    row("slice", {6, 11}, Sizes{0, 11},
        {[](TensorView* x) { return slice(x, {1, 2}, {5, 9}); },
         [](TensorView* x) { return slice(x, {0, -4}, {6, 100}); },
         [](TensorView* x) { return slice(x, {2, 3}, {2, 5}); }});
    row("pad", {4, 7}, Sizes{0, 7},
        {[](TensorView* x) { return pad(x, {num(2), num(1)}); },
         [](TensorView* x) { return pad(x, {num(0), num(3), num(1), num(0)}); },
         [](TensorView* x) { return pad(x, {num(-1), num(2)}); }});
    table.program("cat", nameOf(dtype), [&](Definition& d) {
      d.accuracy.exact = true;
      TensorView* a = d.tensor({3, 7}, dtype, Values::Special, Sizes{0, 7});
      TensorView* b = d.tensor({5, 7}, dtype, Values::Special, Sizes{5, 7});
      TensorView* c = d.tensor({3, 7}, dtype, Values::Special, Sizes{0, 7});
      d.output(cat({a, b}, 0));
      d.output(cat({a, c}, -1));
      d.output(cat({a, b, c}, 0));
    });
    row("select", {4, 7}, Sizes{4, 0}, {[](TensorView* x) { return select(x, 0, num(2)); }});
    row("select of the last axis", {4, 7}, Sizes{0, 7},
        {[](TensorView* x) { return select(x, -1, num(-1)); }});
    // Once nothing is taken, once what is taken has no elements.
    for (bool no_index : {true, false}) {
      table.program(
          "indexSelect, gather, takeAlongAxis",
          text(nameOf(dtype), no_index ? ", empty: the index" : ", empty: the tensor"),
          [&](Definition& d) {
            d.accuracy.exact = true;
            auto tensor = [&](const Sizes& sizes, const Sizes& empty) {
              return d.tensor(sizes, dtype, Values::Special,
                              no_index ? std::nullopt : std::optional<Sizes>(empty));
            };
            auto index = [&](const Sizes& sizes, DataType type, const Sizes& empty) {
              return d.tensor(sizes, type, Values::Counter, empty);
            };
            d.output(indexSelect(tensor({5, 6}, {5, 0}), 0,
                                 index({7}, DataType::Int, {no_index ? 0 : 7})));
            d.output(gather(tensor({5, 6}, {5, 0}), 0, index({3, 4}, DataType::Int32, {3, 0})));
            d.output(takeAlongAxis(
                tensor({5, 6}, {5, 0}),
                index({3, 6}, DataType::Int, no_index ? Sizes{0, 6} : Sizes{3, 0}), 0));
          });
    }
    table.program("triu", nameOf(dtype), [&](Definition& d) {
      d.accuracy.exact = true;
      TensorView* x = d.tensor({5, 7}, dtype, Values::Special, Sizes{0, 7});
      d.output(triu(x, num(0)));
      d.output(triu(x, num(-2)));
    });
    if (isComplexType(dtype)) {
      table.program("view_as_real", nameOf(dtype), [&](Definition& d) {
        d.accuracy.exact = true;
        d.output(view_as_real(d.tensor({5, 7}, dtype, Values::Special, Sizes{0, 7})));
      });
      for (Values values : {Values::Special, Values::Ordinary}) {
        table.program("complex",
                      text(dataTypeName(dtype), values == Values::Special ? " special" : ""),
                      [&](Definition& d) {
                        d.accuracy.exact = true;
                        const DataType part = getTypeFromComplexType(dtype);
                        d.output(complex(d.tensor({12, 13}, part, values, Sizes{0, 13}),
                                         d.tensor({12, 13}, part, values, Sizes{0, 13})));
                      });
      }
    } else {
      table.refused("view_as_real", nameOf(dtype),
                    "view_as_real: Operand of view_as_real must have complex dtype",
                    [&](Definition& d) { d.output(view_as_real(d.tensor({5, 7}, dtype))); });
    }
  }
}

void factoryTable(Table& table) {
  const bool kAccepted = true;
  for (DataType dtype : allDataTypes()) {
    auto row = [&](const std::string& kind, bool accepted, const std::string& wording,
                   const Table::Define& define) {
      accepted ? table.program(kind, nameOf(dtype), define)
               : table.refused(kind, nameOf(dtype), wording, define);
    };
    const bool complex = isComplexType(dtype);
    const bool counts = !complex && !isBooleanType(dtype);
    row("full", kAccepted, "", [&](Definition& d) {
      d.output(
          full({num(5), d.scalar(DataType::Int, PolymorphicValue(7))}, d.scalar(dtype), dtype));
      d.output(zeros({num(37)}, dtype));
      d.output(ones({num(3), num(1), num(4)}, dtype));
      d.output(ones({}, dtype));
      d.output(full_like(d.tensor({3, 5}, dtype, Values::Special, Sizes{0, 5}), d.scalar(dtype)));
    });
    row("iota", counts, "the dtype must be an integer or floating-point type", [&](Definition& d) {
      d.output(iota(num(13), nullptr, nullptr, dtype));
      d.output(iota(d.scalar(DataType::Int, PolymorphicValue(40)), nullptr, nullptr, dtype));
    });
    row("arange", counts, "iota: the dtype must be an integer or floating-point type",
        [&](Definition& d) {
          d.output(arange(num(3), num(30), num(4), dtype));
          d.output(arange(d.scalar(DataType::Int, PolymorphicValue(17)), dtype));
        });
    row("eye", kAccepted, "", [&](Definition& d) {
      d.output(eye(num(5), dtype));
      d.output(eye(num(4), d.scalar(DataType::Int, PolymorphicValue(6)), dtype));
    });
    row("random", isFloatingPointType(dtype),
        "Random distributions only create floating point types", [&](Definition& d) {
          d.accuracy.ulps = 16;
          d.accuracy.absolute = true;
          Val* size = d.scalar(DataType::Int, PolymorphicValue(77));
          Val* seed = num(42);
          d.output(rand({size}, dtype));
          d.output(randn({size}, dtype));
          d.output(uniform({size, num(3)}, IrBuilder::create<Val>(-1.0),
                           IrBuilder::create<Val>(2.5), dtype, seed, num(8)));
          d.output(normal({size}, IrBuilder::create<Val>(0.5), IrBuilder::create<Val>(2.0), dtype,
                          seed, num(16)));
          d.output(rand_like(d.tensor({5, 7}, dtype, Values::Ordinary, Sizes{0, 7})));
        });
    row("dropout", isFloatingPointType(dtype), "a floating-point tensor is needed",
        [&](Definition& d) {
          d.accuracy.ulps = 8;
          const ForwardDropoutResult r =
              dropout(d.tensor({9, 13}, dtype, Values::Special, Sizes{0, 13}),
                      IrBuilder::create<Val>(0.25));
          d.output(r.output);
          d.output(r.mask);
        });
  }
}

void runCasts(Device& device) {
  Table table("casts", device);
  castTable(table);
  table.run(4000);
}
void runShapes(Device& device) {
  Table table("shapes, parts and joins", device);
  shapeTable(table);
  table.run(2000);
}
void runFactories(Device& device) {
  Table table("factories and random numbers", device);
  factoryTable(table);
  table.run(300);
}

}  // namespace

TEST_CASE("operation table: casts on cpu") { runCasts(cpuDevice()); }
TEST_CASE("operation table: casts on CUDA") { runCasts(table::cudaLike()); }
TEST_CASE("operation table: shapes on cpu") { runShapes(cpuDevice()); }
TEST_CASE("operation table: shapes on CUDA") { runShapes(table::cudaLike()); }
TEST_CASE("operation table: factories on cpu") { runFactories(cpuDevice()); }
TEST_CASE("operation table: factories on CUDA") { runFactories(table::cudaLike()); }

}  // namespace nvfuser::table
