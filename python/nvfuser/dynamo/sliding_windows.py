"""What is made of each window, where windows overlap: the same of slices of the tensor, side by side (on the CPU).

    amax(unfold(x, -1, 3, 1), [-1])     becomes     maximum(maximum(x[0 : n], x[1 : n + 1]), x[2 : n + 2])

An axis of the few elements of a window is no loop for vectors, the one along the windows is.
"""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .operators import meta
from .prepare import note_result

aten = torch.ops.aten

_MOST_PLACES = 16  # of a window, as in pooling.py

_COMBINED = {
    aten.amax.default: aten.maximum.default,
    aten.amin.default: aten.minimum.default,
    aten.sum.dim_IntList: aten.add.Tensor,
    aten.mean.dim: aten.add.Tensor,
}
_WIDE = (torch.float32, torch.float64)  # others are summed in these


def combine_windows(graph):
    for node in list(graph.nodes):
        if node.target in _COMBINED and (windows := _windows(node)) is not None:
            _combine(graph, node, *windows)
    graph.eliminate_dead_code()


def _windows(node):
    """The operands of the view that shows the windows, if it is one of overlapping windows of the CPU."""
    source = node.args[0]
    if source.target is not aten.unfold.default or meta(source).device.type != "cpu" or node.kwargs:
        return None
    x, dim, size, step = source.args
    value = meta(x)
    dims = [each % (value.dim() + 1) for each in (node.args[1] if len(node.args) > 1 else ())]
    is_sum = _COMBINED[node.target] is aten.add.Tensor
    known = isinstance(value.shape[dim], int) and statically_known_true(meta(source).numel() > 0)
    if not known or dims != [value.dim()] or not step < size <= _MOST_PLACES or (is_sum and value.dtype not in _WIDE):
        return None
    return x, dim % value.dim(), size, step


def _combine(graph, node, x, dim, size, step):
    count = meta(node.args[0]).shape[dim]

    def call(target, *arguments):
        made = graph.call_function(target, arguments)
        note_result(made)
        return made

    with graph.inserting_before(node):
        result = None
        for place in range(size):
            part = call(aten.slice.Tensor, x, dim, place, place + (count - 1) * step + 1, step)
            result = part if result is None else call(_COMBINED[node.target], result, part)
        if node.target is aten.mean.dim:
            result = call(aten.div.Tensor, result, size)
        if len(node.args) > 2 and node.args[2]:
            result = call(aten.unsqueeze.default, result, meta(node).dim() - 1)
    if meta(result) is not None and meta(result).stride() == meta(node).stride():
        node.replace_all_uses_with(result)
