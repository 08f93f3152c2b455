"""Rules of integers as bits."""

from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Promotion

from nvfuser._C.direct import ops

from .pointwise import compute_dtype, direct_rule, operands
from .table import rule

direct_rule("bitwise_not", ops.bitwise_not)
for _name in ["and", "or", "xor"]:
    direct_rule(f"bitwise_{_name}.Tensor bitwise_{_name}.Scalar", getattr(ops, f"bitwise_{_name}"))
direct_rule("gcd", ops.gcd)


def _scales(node):
    dtype = compute_dtype(Promotion.DEFAULT, *node.args[:2])
    return "floating point times a power of two" if dtype.is_floating_point else None


@rule(
    "__lshift__.Scalar __lshift__.Tensor bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar "
    "bitwise_left_shift.Scalar_Tensor",
    refuse=_scales,
)
def _shift_left(scope, node, a, b):
    return ops.bitwise_left_shift(*operands(scope, Promotion.DEFAULT, a, b))


@rule(
    "__rshift__.Scalar __rshift__.Tensor bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar "
    "bitwise_right_shift.Scalar_Tensor",
    refuse=_scales,
)
def _shift_right(scope, node, a, b):
    return ops.bitwise_right_shift(*operands(scope, Promotion.DEFAULT, a, b))
