"""Which ATen operations can be fused, and how. One row an overload; docs/torch_compile.md lists them."""

from . import indexing, pointwise, reductions, shapes
from .table import DTYPES, LIKE, LOOPS, RULES, Rule, meta, why_without_rule

__all__ = [
    "DTYPES",
    "LIKE",
    "LOOPS",
    "RULES",
    "Rule",
    "indexing",
    "meta",
    "pointwise",
    "reductions",
    "shapes",
    "why_without_rule",
]
