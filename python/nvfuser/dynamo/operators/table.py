"""The table of ATen operations that can be fused: overload → rule.

A rule defines the operation in a fusion: `define(scope, node, *args, **kwargs)`, with the arguments of the FX node as
they are and `scope` (definition.py) to turn them into tensors and scalars of the fusion. It may refuse a node, with a
reason that explain() shows. An overload without a rule is left to PyTorch, never an error.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..placement import Kind

# Dtypes that fused operations read and write.
DTYPES = frozenset(
    (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
)


@dataclass(frozen=True)
class Rule:
    define: Callable
    kind: Kind = Kind.FUSED
    refuse: Callable | None = None  # (node) -> reason or None
    moves_only: bool = False  # copies: nothing is gained by fusing one alone


RULES = {}

# What PyTorch computes by its loop over elements, which decides how the result lies in memory: overload → whether
# numbers and tensors without axes are operands of the loop.
LOOPS = {}

# What gives a result that lies in memory as its operand does.
LIKE = set()

# Why operations without a rule are left to PyTorch, by their name; the others are simply not in the table.
LEFT = {}


def leave(names, reason):
    """Operations, by name without overload, that are PyTorch's for a reason."""
    for name in names.split():
        LEFT[name] = reason


def why_without_rule(target):
    name = getattr(getattr(target, "overloadpacket", target), "__name__", str(target))
    return LEFT.get(name, "no rule for the operation")


leave(
    "mm addmm bmm baddbmm addmv addbmm mv dot vdot _int_mm _scaled_mm _grouped_mm linear matmul",
    "products of matrices are a library's",
)
leave(
    "convolution convolution_backward _convolution cudnn_convolution mkldnn_convolution",
    "convolutions are a library's",
)
leave(
    "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward "
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward "
    "_scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward "
    "_scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward",
    "attention is a library's",
)
leave("sort topk kthvalue median mode unique_consecutive argsort", "sorting is a library's")
leave("logcumsumexp", "scans of logarithms are a library's")
leave(
    "bernoulli rand randn rand_like randn_like randint uniform normal randperm multinomial native_dropout",
    "PyTorch's generator draws",
)
leave("empty empty_like empty_strided new_empty", "memory without values")
leave(
    "index_put scatter scatter_add scatter_reduce index_add index_copy index_fill index_reduce put masked_scatter "
    "index_put_ scatter_ scatter_add_ scatter_reduce_ index_add_ index_copy_ index_fill_ index_reduce_ put_ "
    "masked_scatter_ embedding_dense_backward _unsafe_index_put nonzero",
    "indices decide where it writes",
)
leave("copy_ set_ resize_", "writes to memory that it is given")
leave("argmax argmin max min", "positions of extremes")
leave("_local_scalar_dense item", "a number for the host")
leave("_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_", "a list of tensors at once")


def overload(name):
    """torch.ops' overload by its name, "add.Tensor"; None where this PyTorch does not have it."""
    space, _, path = name.rpartition("::")
    operation, _, variant = path.partition(".")
    packet = getattr(getattr(torch.ops, space or "aten"), operation, None)
    return getattr(packet, variant or "default", None)


def is_fused(node):
    """Whether a rule takes the node."""
    found = RULES.get(node.target)
    return found is not None and not (found.refuse and found.refuse(node))


def add(names, define, **facts):
    """Enters one rule for all these overloads, `names` separated by blanks."""
    for name in names.split():
        found = overload(name)
        if found is not None:
            assert found not in RULES, f"{name} has two rules"
            RULES[found] = Rule(define, **facts)


def rule(names, **facts):
    """The same as a decorator."""

    def enter(define):
        add(names, define, **facts)
        return define

    return enter


def note_loops(modules, by_number):
    """All rules of these modules are loops over elements; of those `by_number`, numbers are no operands."""
    names = {module.__name__ for module in modules}
    LOOPS.update((operation, True) for operation, found in RULES.items() if found.define.__module__ in names)
    LOOPS.update((found, False) for found in map(overload, by_number.split()) if found is not None)


WITHIN = "nvfuser_within"  # of a node that reads at indices: none is negative, or beyond its axis


def meta(argument):
    """What is known of an argument before the call: a FakeTensor, a SymInt, a tuple of them, or the number itself."""
    return argument.meta.get("val") if isinstance(argument, torch.fx.Node) else argument


def lowest_bits(number, dtype):
    """A whole number as an integer dtype keeps it: PyTorch casts it, whatever is lost."""
    ends = torch.iinfo(dtype)
    return (int(number) - ends.min) % (ends.max - ends.min + 1) + ends.min


def has_not(dtype, *numbers):
    """Why PyTorch refuses to fill memory of a dtype with these numbers, or to take them as bounds; None: it takes them.
    (An unsigned dtype takes those below zero, from its end.)"""
    if dtype is torch.bool or dtype.is_complex:
        return None
    ends = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    least = -ends.max if ends.min == 0 else ends.min
    known = [number for number in numbers if isinstance(number, int | float) and math.isfinite(number)]
    if all(least <= number <= ends.max for number in known):
        return None
    return "a number that the dtype does not have is an error in PyTorch"


def is_symbolic(*values):
    return any(isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) for value in values)
