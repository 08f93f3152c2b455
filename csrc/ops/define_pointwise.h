/// How a pointwise function becomes an expression: by the dtype rule of its line in the table.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include <ir/interface_nodes.h>
#include <ops/table/pointwise.h>

namespace nvfuser::ops {

/// Throws `UserError` (naming `op`) unless all operands are tensors or scalars of one Fusion.
void requireOperands(std::string_view op, const std::vector<Val*>& operands);

/// The expression `type` on operands that have the compute dtype; tensors get one rank. A tensor if
/// any operand is one.
Val* define(UnaryOpType type, std::string_view op, DataType out, const std::vector<Val*>& operands);
Val* define(BinaryOpType type, std::string_view op, DataType out,
            const std::vector<Val*>& operands);
Val* define(TernaryOpType type, std::string_view op, DataType out,
            const std::vector<Val*>& operands);

/// The function `op`, which computes `type` by `rule`: checks operands, casts them, defines the
/// expression.
Val* applyRule(UnaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands);
Val* applyRule(BinaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands);
Val* applyRule(TernaryOpType type, DtypeRule rule, std::string_view op,
               const std::vector<Val*>& operands);

/// Throws `UserError` unless the operation is defined for the dtype it would compute in.
void requireAccepts(const PointwiseRow& row, std::string_view op, DataType compute);

}  // namespace nvfuser::ops
