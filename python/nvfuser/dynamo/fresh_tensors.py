"""What is written into a constant that nobody else has, as sums by index into zeros are, is written into its memory:

    index_add(full(…, 0), dim, index, values)        index_add_(full(…, 0), dim, index, values)

PyTorch's operation that gives a new tensor copies all of the old one first. (What kernels write is left as it is.)
"""

import torch

from .operators import is_fused, meta

aten = torch.ops.aten

_IN_PLACE = {
    aten.index_add.default: aten.index_add_.default,
    aten.index_copy.default: aten.index_copy_.default,
    aten.index_put.default: aten.index_put_.default,
    aten.index_reduce.default: aten.index_reduce_.default,
    aten.scatter.src: aten.scatter_.src,
    aten.scatter.value: aten.scatter_.value,
    aten.scatter_add.default: aten.scatter_add_.default,
    aten.scatter_reduce.two: aten.scatter_reduce_.two,
}


def write_in_place(graph):
    for node in list(graph.nodes):
        in_place = _IN_PLACE.get(node.target)
        constant = node.args[0] if in_place is not None else None
        if (
            constant is None
            or is_fused(node)
            or constant.target is not aten.full.default
            or _differs(meta(node), meta(constant))
        ):
            continue
        with graph.inserting_before(node):
            own = graph.call_function(constant.target, constant.args, constant.kwargs)
            written = graph.call_function(in_place, (own, *node.args[1:]), node.kwargs)
        own.meta.update(constant.meta)
        written.meta.update(node.meta)
        node.replace_all_uses_with(written)
        graph.erase_node(node)
    graph.eliminate_dead_code()


def _differs(result, constant):
    """Whether eager PyTorch gives a tensor that lies in memory in another order, or of another dtype."""
    return result.dtype != constant.dtype or result.stride() != constant.stride()


def is_fresh(node):
    """Whether a constant has the memory of one operation's result, which writes into it."""
    return node.target is aten.full.default and len(node.users) == 1
