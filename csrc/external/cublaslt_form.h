/// A product in cuBLASLt's terms: C = A · B of row-major tensors is Cᵗ = Bᵗ · Aᵗ for the library,
/// whose matrices are column by column. Its A is therefore our B.
#pragma once

#include <optional>
#include <string>

#include <external/cublaslt.h>
#include <external/product.h>

namespace nvfuser::external::cublaslt {

/// A matrix, column by column as the library has it, or transposed.
struct Operand {
  int64_t rows, columns;  ///< as stored
  int64_t ld;
  bool transposed;
};

/// The library's names of a dtype: of the data, of what it computes in, of its scales.
struct Kinds {
  DataKind data;
  ComputeKind compute;
  DataKind scale;
};

/// Nothing for a dtype that the library does not multiply.
std::optional<Kinds> kindsOf(DataType dtype);

/// A product that the library takes: as it is given, and as the library sees it.
struct Form {
  Product given;
  Product p;  ///< the same with C's columns side by side
  Kinds kinds;
  Operand a, b, d;  ///< the library's: Bᵗ, Aᵗ and Cᵗ of `p`

  int64_t elementSize() const { return dataTypeSizeByte(given.dtype); }
  bool isWide() const { return kinds.compute == Compute64F || kinds.data == C_32F; }
  /// The innermost axis of batches is the library's own.
  Product::Batch inner() const {
    return p.batches.empty() ? Product::Batch{1, 0, 0, 0} : p.batches.back();
  }
};

/// Nothing for what the library does not take; `why` says what.
std::optional<Form> formOf(const Product& given, std::string* why);

}  // namespace nvfuser::external::cublaslt
