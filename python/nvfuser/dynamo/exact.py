"""Exact numerics: results are those of eager PyTorch, bit by bit (but for the bits of a NaN).

Switched on by `torch.compile(..., options={"exact_numerics": True})` or NVFUSER_ENABLE=exact_numerics. Then

- an operation is fused only where its rule gives eager's bits: what is rounded correctly, and what is not rounded at
  all. PyTorch's own functions (exp, tanh, …) are approximations of its own, or of a library that it is built with, and
  are left to it;
- each result has its dtype's digits: a chain of half precision is rounded after each operation;
- an operation is decomposed only where that changes no bit; but for reductions, which have an order of our own.

The tables here say which is which; docs/numerics.md prints the first. Random programs found what they say, and hold
them to it: tests/python/torch_fuzz/pointwise.py.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as Promotion

from .decompositions import decompositions as usual
from .operators import RULES, meta
from .operators.pointwise import compute_dtype
from .operators.table import overload

NAME = "exact_numerics"


def switched_on(options):
    """What torch.compile's options say, else the environment."""
    if NAME in options:
        return bool(options[NAME])
    names = ",".join(os.environ.get(prefix + "NVFUSER_ENABLE", "") for prefix in ("", "PYTORCH_"))
    return NAME in [name.strip() for name in names.split(",")]


# Classes of dtypes, by what an operation computes in.
_WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_HALF = (torch.float16, torch.bfloat16)
_WIDE = (torch.float32, torch.float64)
_FLOATS = (*_HALF, *_WIDE)
_ALL = (*_WHOLE, *_FLOATS)


@dataclass(frozen=True)
class Exact:
    """Operations whose rules give eager's bits, of these dtypes and devices, where `where(node)` holds."""

    operations: str
    dtypes: tuple = _ALL
    why: str = ""  # not everywhere
    where: Callable | None = None
    devices: tuple = ("cpu", "cuda")


def _once(node):
    """The second operand as it is: not scaled."""
    args = node.args
    alpha = args[2] if len(args) > 2 else node.kwargs.get("alpha", 1)
    return alpha == 1 and not isinstance(alpha, bool)


def _of_numbers(node):
    """Bounds that are numbers, and no NaN."""
    bounds = [*node.args[1:], *node.kwargs.values()]
    return all(bound is None or (isinstance(bound, int | float) and bound == bound) for bound in bounds)


def _of_no_mode(node):
    return node.kwargs.get("rounding_mode") is None


def _power(*exponents):
    return lambda node: not isinstance(node.args[1], bool) and node.args[1] in exponents


EXACT = [
    Exact("neg abs sign sgn isnan isinf ceil floor round trunc nextafter mul true_divide where masked_fill"),
    Exact("logical_not logical_and logical_or logical_xor eq ne lt le gt ge"),
    Exact("bitwise_not bitwise_and bitwise_or bitwise_xor gcd", _WHOLE),
    Exact("__lshift__ __rshift__ bitwise_left_shift bitwise_right_shift", _WHOLE),
    Exact("fmod remainder maximum minimum fmax fmin relu clamp clamp_min clamp_max pow", _WHOLE),
    Exact("add sub rsub", _WHOLE),
    Exact("add sub rsub", _FLOATS, "`alpha` 1; another one is rounded once or twice, by the layout", _once),
    Exact("div", _WHOLE),
    Exact("div", _WIDE, devices=("cpu",)),
    Exact("div", _FLOATS, "no `rounding_mode`", _of_no_mode),
    Exact("reciprocal", _FLOATS),
    Exact("rsqrt", _WIDE, "that of half precision hangs on the layout", devices=("cpu",)),
    Exact("relu", _FLOATS, devices=("cpu",)),
    Exact(
        "clamp clamp_min clamp_max",
        _FLOATS,
        "bounds that are numbers; beside others signs of zeros hang on the layout",
        _of_numbers,
        ("cpu",),
    ),
    Exact("pow", _WIDE, "exponents 1, 2 and 3", _power(1, 2, 3)),
    Exact("pow", _WIDE, "exponent -1", _power(-1), ("cpu",)),
    Exact("pow", _HALF, "exponents 1 and 2", _power(1, 2)),
]


@functools.cache
def _rows():
    """Name of an operation: its rows."""
    rows = {}
    for row in EXACT:
        for name in row.operations.split():
            rows.setdefault(name, []).append(row)
    return rows


# Modules of operators/ whose rules compute; those of the others move elements, or reduce them in an order of our own.
_COMPUTING = ("pointwise", "division", "bits")


def left(graph):
    """Nodes that are PyTorch's in exact mode → why."""
    reasons = {}
    for node in graph.nodes:
        reason = _why_not(node) if node.op == "call_function" and node.target in RULES else None
        if reason is not None:
            reasons[node] = f"exact_numerics: {reason}"
    return reasons


def _why_not(node):
    value = meta(node)
    tensors = [v for v in (value, *map(meta, node.all_input_nodes)) if isinstance(v, torch.Tensor)]
    if any(tensor.dtype not in _ALL for tensor in tensors):
        return "8-bit floats"
    module = RULES[node.target].define.__module__.rpartition(".")[2]
    if module == "casts":
        return _why_not_cast(node)
    if node.target in _RANGES:
        return "ranges of floating point" if value.dtype.is_floating_point else None
    if module not in _COMPUTING:
        return None
    name = node.target.__name__.partition(".")[0]
    rows = _rows().get(name, [])
    dtype = _computed_in(node)
    rows = [row for row in rows if dtype in row.dtypes and value.device.type in row.devices]
    if not rows:
        return f"PyTorch's {name} has roundings of its own"
    if not any(row.where is None or row.where(node) for row in rows):
        return f"{name}: {rows[0].why}"
    return None


_RANGES = [found for found in map(overload, ("arange.start_step", "arange.start", "arange")) if found is not None]


def _why_not_cast(node):
    """What a number beyond an integer's range becomes is left open by C++, and by PyTorch."""
    before, after = meta(node.args[0]).dtype, meta(node).dtype
    to_integer = before.is_floating_point and after in _WHOLE and after is not torch.bool
    return "a cast to integers" if to_integer else None


def _computed_in(node):
    operands = [argument for argument in node.args if isinstance(meta(argument), torch.Tensor | int | float)]
    dtype = compute_dtype(Promotion.DEFAULT, *operands)
    gives_float = meta(node).dtype.is_floating_point and not dtype.is_floating_point
    return meta(node).dtype if gives_float else dtype


# Decompositions that only move elements, or compare them.
_MOVES = [
    "__and__",
    "__or__",
    "__xor__",
    "_chunk_cat",
    "_reshape_alias",
    "alias_copy",
    "all",
    "aminmax",
    "arange",
    "argwhere",
    "cat",
    "channel_shuffle",
    "clamp_max",
    "clamp_min",
    "copy",
    "detach",
    "diag_embed",
    "diagonal_backward",
    "diagonal_copy",
    "empty_like",
    "expand_copy",
    "eye",
    "fill",
    "fill_",
    "floor_divide",
    "hardtanh",
    "hardtanh_",
    "hardtanh_backward",
    "index_copy",
    "index_copy_",
    "index_fill",
    "index_fill_",
    "index_select_backward",
    "isin",
    "isneginf",
    "isposinf",
    "lift",
    "leaky_relu",
    "leaky_relu_",
    "leaky_relu_backward",
    "masked_fill",
    "masked_fill_",
    "max",
    "min",
    "native_channel_shuffle",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "one_hot",
    "ones",
    "ones_like",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "repeat_interleave",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
    "resize_as",
    "roll",
    "rot90",
    "select_backward",
    "select_scatter",
    "slice_backward",
    "split_with_sizes_copy",
    "squeeze",
    "squeeze_copy",
    "stack",
    "sum",
    "t",
    "t_copy",
    "take",
    "threshold",
    "threshold_",
    "threshold_backward",
    "tile",
    "transpose",
    "transpose_copy",
    "tril",
    "tril_",
    "triu",
    "triu_",
    "type_as",
    "unfold_copy",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze_copy",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
    "value_selecting_reduction_backward",
    "where",
    "zero",
    "zero_",
    "zeros",
    "zeros_like",
]
# Decompositions to reductions, whose order is ours.
_REDUCTIONS = [
    "_batch_norm_with_update",
    "_fused_rms_norm",
    "_log_softmax",
    "_log_softmax_backward_data",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_safe_softmax",
    "_softmax",
    "_softmax_backward_data",
    "count_nonzero",
    "frobenius_norm",
    "linalg_vector_norm",
    "logsumexp",
    "mean",
    "native_batch_norm",
    "native_batch_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
    "native_layer_norm",
    "native_layer_norm_backward",
    "nll_loss2d_backward",
    "nll_loss2d_forward",
    "nll_loss_backward",
    "nll_loss_forward",
    "norm",
    "std",
    "std_mean",
    "sum_to_size",
    "trace",
    "var",
    "var_mean",
]


@functools.cache
def decompositions():
    """Those that change no bit of an element, and those of reductions."""
    kept = {*_MOVES, *_REDUCTIONS}
    return {
        operation: define for operation, define in usual().items() if _name(operation) in kept or _is_own(operation)
    }


def _name(operation):
    return operation.name().rpartition("::")[2].partition(".")[0]


def _is_own(operation):
    """Whether eager PyTorch itself computes it by other operations: always, or of lists of tensors."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return _name(operation).startswith("_foreach_") or has(operation.name(), "CompositeImplicitAutograd")


_NAMES = {
    _WHOLE: "integers and bool",
    _HALF: "half precision",
    _WIDE: "float32 and float64",
    _FLOATS: "floating point",
    _ALL: "all",
}


def described():
    """The table for docs/numerics.md."""
    yield "| operations | dtypes | where |"
    yield "|---|---|---|"
    for row in EXACT:
        names = ", ".join(f"`{name}`" for name in row.operations.split())
        on = "" if len(row.devices) > 1 else f"on {row.devices[0]}"
        where = "; ".join(part for part in (row.why, on) if part) or "everywhere"
        yield f"| {names} | {_NAMES[row.dtypes]} | {where} |"
