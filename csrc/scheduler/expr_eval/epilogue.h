/// Epilogues: pointwise operations after a product of matrices that its library does itself, while
/// the numbers are at hand. The one table of what is one:
///
///   | after a matmul, or a linear                      | is                     |
///   |--------------------------------------------------|------------------------|
///   | + bias [columns] (where the product has none)    | a bias                 |
///   | relu, also after that                            | `Epilogue::Relu`       |
///   | tanh_gelu, also after that                       | `Epilogue::TanhGelu`   |
///
/// The product, the bias and the result have one dtype, Half, BFloat16 or Float; computed is in
/// Float in between, casts included, and rounded where the operations one by one are: after the
/// product, and at the end. All of it is read by the next operation alone. Anything else stays a
/// kernel; on a GPU so does what cuBLASLt would not round so (`external::takesEpilogue`).
#pragma once

#include <optional>
#include <vector>

#include <ir/external_ops.h>

namespace nvfuser {

struct ProductWithEpilogue {
  const Expr* product = nullptr;
  const TensorView* result = nullptr;
  const TensorView* bias = nullptr;  ///< null: none but the product's own
  Epilogue end = Epilogue::None;
};

/// What these operations are, which compute `result` from a product among them; nothing where one
/// of them is something else.
std::optional<ProductWithEpilogue> productWithEpilogue(const std::vector<Expr*>& exprs,
                                                       const TensorView* result);

}  // namespace nvfuser
