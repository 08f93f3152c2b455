"""Strides of axes of one element, as eager PyTorch gives them.

Nothing is stored by them, but programs can see them. Traced tensors have other ones than eager's, as they are traced
with numbers where eager has tensors without axes. So the rule of PyTorch's loops over elements is followed here, for
graphs that have such axes:

    all operands of one shape, contiguous (or alike in another dense order)  the result is so, too
    otherwise                                                                axes in the order of the operands' strides;
                                                                             of equal ones the larger axis is outside
"""

import operator

import torch
from torch._guards import detect_fake_mode

from .drawn_numbers import dropout_mask
from .operators import LIKE, LOOPS, RULES, meta
from .placement import Kind

aten = torch.ops.aten


def note_strides(graph):
    """Corrects what is noted of results with axes of one element, and of views of them."""
    changed = set()
    for node in graph.nodes:
        if node.op != "call_function" or not _has_ones(meta(node)):
            continue
        if any(meta(source) is None for source in node.all_input_nodes):
            continue
        if node.target in LOOPS:
            strides = _of_loop_node(node)
        elif node.target in LIKE and node.kwargs.get("memory_format") in (None, torch.preserve_format):
            shape, found = _shape_and_strides(meta(node.args[0]))
            strides = found if _is_dense(shape, found) else meta(node).stride()
        elif (source := _masked(node)) is not None:
            strides = meta(source).stride()
            node.args = (node.args[0], node.args[1], list(strides))
        elif (
            changed.intersection(node.all_input_nodes)
            and RULES.get(node.target)
            and RULES[node.target].kind is Kind.FREE
        ):
            strides = _called(node).stride()
        else:
            continue
        value = meta(node)
        if strides != value.stride():
            changed.add(node)
            with detect_fake_mode([value]):
                node.meta["val"] = torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device)


def _masked(node):
    """The operand of a dropout whose result `node` lays out as a GPU's kernel does, which is like that operand."""
    if node.target is not aten.as_strided.default:
        return None
    product = node.args[0].args[0] if node.args[0].target is aten.mul.Tensor else None
    mask, source = product.args if product is not None and product.target is aten.mul.Tensor else (None, None)
    if mask is None or mask.target is dropout_mask:
        return source
    drawn = mask.args[0] if mask.target is operator.getitem else None
    return source if drawn is not None and drawn.target is aten.native_dropout.default else None


def _has_ones(value):
    return isinstance(value, torch.Tensor) and 1 in value.shape and all(isinstance(size, int) for size in value.shape)


def _shape_and_strides(value):
    return (tuple(value.shape), value.stride()) if isinstance(value, torch.Tensor) else ((), ())


def _of_loop_node(node):
    values = [meta(argument) for argument in node.args]
    operands = [_shape_and_strides(value) for value in values if isinstance(value, torch.Tensor | int | float | bool)]
    return of_loop([(shape, strides) for shape, strides in operands if shape or LOOPS[node.target]])


def _called(node):
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), meta)
    with detect_fake_mode([meta(node)]):
        return node.target(*args, **kwargs)


def of_loop(operands):
    """Strides of the result of a loop over these (shape, strides), numbers as ((), ())."""
    shape = torch.broadcast_shapes(*(each for each, _ in operands))
    if all(each == shape for each, _ in operands):
        if all(_is_contiguous(*operand) for operand in operands):
            return _contiguous(shape, range(len(shape)))
        first = operands[0][1]
        if all(strides == first for _, strides in operands) and _is_dense(shape, first):
            return first
    stretched = [_stretched(shape, *operand) for operand in operands]
    order = list(reversed(range(len(shape))))  # innermost first
    for end in range(1, len(order)):
        at = end
        for before in reversed(range(end)):
            way = _is_outside(order[before], order[at], stretched, shape)
            if way > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif way < 0:
                break
    return _contiguous(shape, reversed(order))


def _is_outside(a, b, stretched, shape):
    """1 if axis a belongs outside of axis b, -1 if within, 0 if nothing tells."""
    for strides in stretched:
        if 0 in (strides[a], strides[b]):
            continue
        if strides[a] != strides[b]:
            return 1 if strides[a] > strides[b] else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def _stretched(shape, own, strides):
    """An operand's strides along all axes of the result."""
    missing = len(shape) - len(own)
    known = (
        0 if size == 1 and whole != 1 else step for size, step, whole in zip(own, strides, shape[missing:], strict=True)
    )
    return (0,) * missing + tuple(known)


def _contiguous(shape, order):
    """Dense strides, with axes in this order, outermost first."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(list(order)):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _is_contiguous(shape, strides):
    dense = _contiguous(shape, range(len(shape)))
    return all(size == 1 or mine == wanted for size, mine, wanted in zip(shape, strides, dense, strict=True))


def _is_dense(shape, strides):
    order = sorted((axis for axis in range(len(shape)) if shape[axis] != 1), key=lambda axis: -strides[axis])
    dense = _contiguous([shape[axis] for axis in order], range(len(order)))
    return all(strides[axis] == step for axis, step in zip(order, dense, strict=True))
