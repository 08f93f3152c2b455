"""Rules of casts and copies."""

import torch

from nvfuser._C.direct import ops

from .table import LIKE, meta, overload, rule


def _same_device(node):
    source = node.args[0]
    if not isinstance(meta(source), torch.Tensor):
        return "a tensor made of a number"
    if meta(source).device != node.meta["val"].device:
        return "a copy between devices"
    return None


LIKE.update(map(overload, ("_to_copy", "prims::convert_element_type", "clone", "flip", "full_like")))


def _cast(scope, x, dtype):
    """What is cast is rounded to its own dtype first: an extreme of elements that were cast is compared, in the
    backward, with elements that were stored in half precision and cast then."""
    return ops.set(scope.rounded(scope.stored(x), dtype))


@rule("_to_copy", refuse=_same_device, moves_only=True)
def _to_copy(scope, node, x, **_):
    return _cast(scope, x, node.meta["val"].dtype)


@rule("prims::convert_element_type", moves_only=True)
def _convert(scope, node, x, dtype):
    return _cast(scope, x, dtype)


@rule("clone lift_fresh_copy", moves_only=True)
def _clone(scope, node, x, **_):
    return ops.set(scope.value(x))
