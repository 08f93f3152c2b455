"""Rules of operations that read elements by index."""

from torch.fx.experimental.symbolic_shapes import statically_known_true

from nvfuser._C.direct import ops

from .table import meta, rule


def _index_dtype(position):
    def refuse(node):
        rank = meta(node.args[0]).dim()
        return "of a tensor without axes" if rank == 0 else None

    return refuse


@rule("embedding")
def _embedding(scope, node, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return ops.embedding_fwd(scope.value(indices), scope.value(weight))


@rule("index_select", refuse=_index_dtype(2))
def _index_select(scope, node, x, dim, index):
    return ops.index_select(scope.value(x), scope.value(index), dim % meta(x).dim())


@rule("gather", refuse=_index_dtype(2))
def _gather(scope, node, x, dim, index, *, sparse_grad=False):
    dim %= meta(x).dim()
    # An index as large as the tensor, but along its axis, shares the tensor's axes: its kernel's loops, too.
    exact = all(
        statically_known_true(size == whole)
        for at, (size, whole) in enumerate(zip(meta(index).shape, meta(x).shape, strict=True))
        if at != dim
    )
    return (ops.take_along_axis if exact else ops.gather)(scope.value(x), scope.value(index), dim)
