"""Sums at several indices are sums at one:

    index_put(x, [None, None, rows, columns], values, accumulate=True)
        x as (…, H * W), index_add along it at rows * W + columns, as (…, H, W) again

PyTorch's `index_put` sorts on a GPU, so that what goes to one place is added in order, and adds elements one by one on
the CPU. Where the program asks for a fixed order, it stays.
"""

import math

import torch

from .operators import meta
from .prepare import note_result

aten = torch.ops.aten

_SUMS = {aten._unsafe_index_put.default: False, aten.index_put.default: True}  # whether indices may be out of range


def flatten_indices(graph):
    for node in list(graph.nodes):
        if node.target in _SUMS and node.args[3:4] == (True,) and _suits(node):
            _flatten(graph, node)


def _suits(node):
    x, values = meta(node.args[0]), meta(node.args[2])
    given = [axis for axis, index in enumerate(node.args[1]) if index is not None]
    indices = [meta(node.args[1][axis]) for axis in given]
    if len(given) < 2 or given != list(range(given[0], given[-1] + 1)):
        return False  # axes of indices that are apart come first in the result
    if any(not isinstance(size, int) for each in (x, values, *indices) for size in each.shape):
        return False
    if x.device.type != "cpu" and torch.are_deterministic_algorithms_enabled():
        return False
    integers = all(index.dtype in (torch.int32, torch.int64) and index.device == x.device for index in indices)
    return integers and x.is_contiguous() and x.numel() > 0 and values.numel() > 0


def _flatten(graph, node):
    x, indices, values = node.args[:3]
    shape = list(meta(x).shape)
    given = [axis for axis, index in enumerate(indices) if index is not None]
    first, behind = given[0], given[-1] + 1
    spread = torch.broadcast_shapes(*(meta(indices[axis]).shape for axis in given))
    entries, places = math.prod(spread), math.prod(shape[first:behind])

    def call(target, *arguments, **options):
        made = graph.call_function(target, arguments, options)
        note_result(made)
        return made

    def shaped(value, sizes, merged):
        """`value` stretched to `sizes`, some of whose axes are then one."""
        if list(meta(value).shape) != sizes:
            value = call(aten.expand.default, value, sizes)
        if not meta(value).is_contiguous():
            value = call(aten.clone.default, value, memory_format=torch.contiguous_format)
        return value if sizes == merged else call(aten.view.default, value, merged)

    with graph.inserting_before(node):
        flat, inside = None, None
        for axis in given:
            index, size = indices[axis], shape[axis]
            if _SUMS[node.target]:
                index = call(aten.where.self, call(aten.lt.Scalar, index, 0), call(aten.add.Tensor, index, size), index)
                within = call(
                    aten.logical_and.default, call(aten.ge.Scalar, index, 0), call(aten.lt.Scalar, index, size)
                )
                inside = within if inside is None else call(aten.logical_and.default, inside, within)
            flat = index if flat is None else call(aten.add.Tensor, call(aten.mul.Tensor, flat, size), index)
        if inside is not None:
            # Out of range in one axis is out of range in all: the CPU refuses it, a GPU writes to the last element.
            flat = call(aten.where.ScalarOther, inside, flat, places)
        flat = shaped(flat, list(spread), [entries])
        values = shaped(values, [*shape[:first], *spread, *shape[behind:]], [*shape[:first], entries, *shape[behind:]])
        x = call(aten.view.default, x, [*shape[:first], places, *shape[behind:]])
        added = call(aten.view.default, call(aten.index_add.default, x, first, flat, values), shape)
    added.meta.update(node.meta)
    node.replace_all_uses_with(added)
    graph.erase_node(node)
