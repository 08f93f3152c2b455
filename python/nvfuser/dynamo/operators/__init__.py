"""Which ATen operations can be fused, and how. One row an overload; docs/torch_compile.md lists them."""

from . import bits, casts, constants, division, draws, indexing, joins, pointwise, reductions, scans, scatters, views
from .table import DTYPES, LIKE, LOOPS, RULES, WITHIN, Rule, is_fused, meta, note_loops, why_without_rule

__all__ = [
    "DTYPES",
    "LIKE",
    "LOOPS",
    "RULES",
    "WITHIN",
    "Rule",
    "bits",
    "casts",
    "constants",
    "division",
    "draws",
    "indexing",
    "is_fused",
    "joins",
    "meta",
    "pointwise",
    "reductions",
    "scans",
    "scatters",
    "views",
    "why_without_rule",
]

note_loops(
    (bits, division, pointwise),
    by_number="clamp clamp_min clamp_max pow.Tensor_Scalar lerp.Scalar masked_fill.Scalar masked_fill.Tensor",
)
