// Where roundings decide between results that lie far apart: beside a jump, a pole, a zero or the
// end of a function's domain, and where a number may be any.
#include <cmath>
#include <limits>

#include <evaluator/operations.h>
#include <evaluator/rounding_error.h>
#include <ir/internal_nodes.h>

namespace nvfuser::reference {

Array disturbedIntegers(const Expr* expr, const Array& result, uint64_t seed, Context& context) {
  Array out = result;
  for (const Val* val : expr->inputs()) {
    const Array operand = val->isA<TensorView>() ? context.operand(val) : Array{};
    if (!val->isA<TensorView>() || operand.kind() != HostNumber::Real) {
      continue;
    }
    const Array is_any =
        mapElements<int64_t, double>(std::array<Array, 1>{operand}, operand.sizes, DataType::Bool,
                                     [](double x) { return int64_t{isUndetermined(x)}; });
    uint64_t i = 0;
    out = mapElements<int64_t, int64_t>(std::array<Array, 2>{out, is_any}, result.sizes,
                                        result.dtype, [&](int64_t was, int64_t may_be_any) {
                                          const bool other = direction(seed, i++) > 0;
                                          return may_be_any != 0 ? int64_t{other} : was;
                                        });
  }
  return out;
}

}  // namespace nvfuser::reference
