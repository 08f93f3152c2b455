"""Views as steps from one tensor to another: what is a part of what, and whether two views show the same elements.

    slice(x, 0, 2, 4) → ("slice", 0, 2, 4, 1)         select(x, -1, 3) → ("select", 1, 3)         t(x) → ("axes", 1, 0)

Steps are equal if they mean the same, whatever operation made them: their arguments are numbers, or nodes of the graph
that are sizes. Views that change nothing have no step.
"""

import sys
from dataclasses import dataclass, field

import torch

from .layout import same_sizes
from .operators import meta

aten = torch.ops.aten


@dataclass(frozen=True)
class Step:
    meaning: tuple
    view: object = field(compare=False)  # the operation, with its arguments behind the tensor
    args: tuple = field(compare=False)
    kwargs: dict = field(compare=False)

    def of(self, graph, source):
        """A new node that takes this step."""
        return graph.call_function(self.view, (source, *self.args), self.kwargs)


def step_of(node):
    """(the operand of a view, its step or None where it shows all as it is); None for what is no view of one tensor."""
    if node.target not in _MEANINGS:
        return None
    return node.args[0], _step(node, node.target, node.args[0], node.args[1:], node.kwargs)


def scattered(node):
    """(a tensor, what is put into a copy of it, the step to the part where) of an operation that does so; else None."""
    view = _SCATTERS.get(node.target)
    if view is None or len(node.args) < 2:
        return None
    base, source, *rest = node.args
    return base, source, _step(node, view, base, tuple(rest), node.kwargs)


def path(node, root):
    """Steps from `root` to a view of it; None if it is none."""
    steps = []
    while node is not root:
        found = step_of(node)
        if found is None:
            return None
        node, step = found
        steps += [step] if step else []
    return steps[::-1]


def below(node):
    """The node, what it is a view of, what that is a view of, …"""
    yield node
    while (found := step_of(node)) is not None:
        node = found[0]
        yield node


def undoes(view, step):
    """Whether a view, whose sizes are those of a tensor, leads back from what `step` has made of that tensor."""
    back = step_of(view)[1]
    if back is None or back.meaning[0] != step.meaning[0]:
        return False
    if step.meaning[0] == "axes":
        return all(back.meaning[1:][axis] == place for place, axis in enumerate(step.meaning[1:]))
    return step.meaning[0] == "shape"


def _step(node, view, base, args, kwargs):
    meaning = _MEANINGS[view](node, base, *args, **kwargs)
    return Step(meaning, view, tuple(args), dict(kwargs)) if meaning else None


# Meanings of operations ------------------------------------------------------------------------------


def _slice(node, x, dim=0, start=None, end=None, step=1):
    dim, size = dim % meta(x).dim(), meta(x).shape[dim]
    start, end = 0 if start is None else start, sys.maxsize if end is None else end
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        start, end, _ = slice(start, end).indices(size)
        end = sys.maxsize if end == size else end
    whole = isinstance(start, int) and start == 0 and isinstance(end, int) and end == sys.maxsize and step == 1
    return () if whole else ("slice", dim, start, end, step)


def _select(node, x, dim, index):
    dim, size = dim % meta(x).dim(), meta(x).shape[dim]
    return ("select", dim, index % size if isinstance(index, int) and isinstance(size, int) else index)


def _diagonal(node, x, offset=0, dim1=0, dim2=1):
    rank = meta(x).dim()
    return ("diagonal", offset, dim1 % rank, dim2 % rank)


def _axes(order):
    return () if order == list(range(len(order))) else ("axes", *order)


def _permute(node, x, dims):
    return _axes([dim % len(dims) for dim in dims])


def _transpose(node, x, dim0, dim1):
    order = list(range(meta(x).dim()))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return _axes(order)


def _t(node, x):
    return _axes(list(range(meta(x).dim()))[::-1])


def _shape(node, x, *_):
    wanted = node.meta["val"]
    return () if same_sizes(wanted, meta(x)) else ("shape", *(str(size) for size in wanted.shape))


def _same(node, x):
    return ()


_MEANINGS = {
    aten.slice.Tensor: _slice,
    aten.select.int: _select,
    aten.diagonal.default: _diagonal,
    aten.permute.default: _permute,
    aten.transpose.int: _transpose,
    aten.t.default: _t,
    aten.view.default: _shape,
    aten.unsqueeze.default: _shape,
    aten.squeeze.dim: _shape,
    aten.squeeze.dims: _shape,
    aten.squeeze.default: _shape,
    aten.alias.default: _same,
    aten.detach.default: _same,
}
_SCATTERS = {
    aten.slice_scatter.default: aten.slice.Tensor,
    aten.select_scatter.default: aten.select.int,
    aten.diagonal_scatter.default: aten.diagonal.default,
}
