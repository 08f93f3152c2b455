"""Kinds of programs that models are made of: a table of statements for each, with what each needs.

A row is an expression, and behind ";" what its names are (kind_programs.py). What is not told: x is a floating-point
tensor, y one that can stand beside it, n integers of its sizes, m a mask of them; r and q are axes of x, s a number, k
a small whole number.
"""

from dataclasses import dataclass

import torch

from .rows_of_integers import LIMITS, WHOLE_NUMBERS
from .rows_of_layers import ATTENTION, LOSSES, LOWER, NORMS, POINTWISE, POOLS, PRODUCTS
from .rows_of_tensors import COMPLEX, EDGES, FACTORIES, LOOKUPS, PLACES, RUNNING, SCATTERS, VIEWS

FLOATS = {torch.float32: 5, torch.float64: 3, torch.bfloat16: 1, torch.float16: 1}
WIDE = {torch.float32: 3, torch.float64: 2}
INTEGERS = {torch.int64: 4, torch.int32: 3, torch.uint8: 1, torch.int8: 1, torch.int16: 1, torch.bool: 2}


@dataclass(frozen=True)
class Kind:
    """`dtypes` and `ranks` of the first inputs, with their chances; `values` of inputs; `neighbours`: the share of
    statements that are common ones, of POINTWISE; `within`: the dtypes of an autocast that the program runs in; `grad`:
    the share of inputs that have gradients; `without`: what statements are not drawn for having."""

    rows: str
    dtypes: dict
    ranks: tuple = (1, 2, 2, 3, 3, 4)
    values: str = "ordinary"
    neighbours: float = 0.3
    sizes: tuple = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17)
    within: tuple = ()
    grad: float = 0.7
    without: tuple = ()


_ALL_FLOAT = POINTWISE + NORMS + LOOKUPS + LOSSES + RUNNING + VIEWS + FACTORIES
_ROWS_OF_MODELS = POINTWISE + NORMS + LOOKUPS + RUNNING + SCATTERS + POOLS + VIEWS + FACTORIES + EDGES

KINDS = {
    "integers": Kind(WHOLE_NUMBERS, INTEGERS, neighbours=0.05),
    "half": Kind(_ROWS_OF_MODELS, {torch.float16: 2, torch.bfloat16: 1}),
    "empty": Kind(_ALL_FLOAT + EDGES + PRODUCTS + SCATTERS + WHOLE_NUMBERS, FLOATS, sizes=(0, 0, 1, 2, 3, 5)),
    # Eager's gelu at infinity and its gradient of hardtanh at NaN hang on the length of the tensor; its norms keep a
    # mean of infinity, which `torch.var_mean` gives as NaN.
    "missing": Kind(
        _ALL_FLOAT, WIDE, values="missing", neighbours=0.2, grad=0.4, without=("hardtanh", "relu6", "gelu", "{a}, {v}")
    ),
    "in place": Kind(PLACES, WIDE, neighbours=0.25),
    "autocast": Kind(LOWER, {torch.float32: 4, torch.bfloat16: 1}, within=("torch.bfloat16", "torch.float16")),
    "lookups": Kind(LOOKUPS, FLOATS),
    "losses": Kind(LOSSES, FLOATS),
    "attention": Kind(ATTENTION, FLOATS, ranks=(3, 4, 4)),
    "scatters": Kind(SCATTERS, FLOATS),
    "norms": Kind(NORMS, FLOATS),
    "pools": Kind(POOLS, FLOATS, ranks=(3, 4, 4, 4)),
    "edges": Kind(EDGES, FLOATS, ranks=(1, 2, 3, 3, 4, 4)),
    "products": Kind(PRODUCTS, FLOATS),
    "running": Kind(RUNNING, FLOATS),
    "complex": Kind(COMPLEX, {torch.complex64: 2, torch.complex128: 1}, neighbours=0.1),
    "views": Kind(VIEWS, FLOATS),
    "factories": Kind(FACTORIES, FLOATS),
    "limits": Kind(LIMITS, INTEGERS, values="special", neighbours=0.0),
    "no axes": Kind(_ALL_FLOAT + WHOLE_NUMBERS + EDGES, FLOATS, ranks=(0, 0, 1), sizes=(1, 1, 2)),
}
