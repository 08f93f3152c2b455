"""Rules of casts and copies."""

from nvfuser._C.direct import ops

from .table import LIKE, meta, overload, rule


def _same_device(node):
    source = node.args[0]
    if meta(source).device != node.meta["val"].device:
        return "a copy between devices"
    return None


LIKE.update(map(overload, ("_to_copy", "prims::convert_element_type", "clone", "flip", "full_like")))


@rule("_to_copy", refuse=_same_device, moves_only=True)
def _to_copy(scope, node, x, **_):
    return ops.set(scope.rounded(scope.value(x), node.meta["val"].dtype))


@rule("prims::convert_element_type", moves_only=True)
def _convert(scope, node, x, dtype):
    return ops.set(scope.rounded(scope.value(x), dtype))


@rule("clone lift_fresh_copy", moves_only=True)
def _clone(scope, node, x, **_):
    return ops.set(scope.value(x))
