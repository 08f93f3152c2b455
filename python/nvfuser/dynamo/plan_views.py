"""Operations that are views, and arithmetic of sizes, as a plan has them: a kind and integers."""

import operator

import torch

from .operators import meta

aten = torch.ops.aten
_END = 2**63 - 1


def view_of(node):
    """(kind, source, operands: integers and nodes of such) of a view; None for what else an operation is."""
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        return _part_of(node)
    found = _VIEWS.get(node.target)
    if found is None or not isinstance(node.args[0], torch.fx.Node):
        return None
    kind, operands = found
    operands = operands(*node.args[1:], **node.kwargs)
    return (kind, node.args[0], operands) if all(map(_is_integer, operands)) else None


def is_split(node):
    """Whether nothing is left of a node, when its parts are views of their own."""
    return node.target in _SPLITS and all(
        user.target is operator.getitem and _part_of(user) is not None for user in node.users
    )


def arithmetic_of(node):
    """(kind, tensor or None, operands) of arithmetic of sizes; None for what else an operation is."""
    if not isinstance(meta(node), int | torch.SymInt) or isinstance(meta(node), bool) or node.kwargs:
        return None
    if node.target in _OF_TENSORS:
        return (_OF_TENSORS[node.target], node.args[0], node.args[1:]) if len(node.args) == 2 else None
    kind = _OF_INTEGERS.get(node.target)
    whole = all(_is_integer(argument) for argument in node.args)
    return (kind, None, node.args) if kind and whole and len(node.args) == 2 else None


def _is_integer(value):
    if isinstance(value, torch.fx.Node):
        value = meta(value)
    return isinstance(value, int | torch.SymInt) and not isinstance(value, bool)


_OF_TENSORS = {aten.sym_size.int: "size", aten.sym_stride.int: "stride"}
_OF_INTEGERS = {
    operator.add: "add",
    operator.sub: "subtract",
    operator.mul: "multiply",
    operator.floordiv: "floor_divide",
    operator.mod: "remainder",
}
_NONE = ("same", lambda: ())
_VIEWS = {
    aten.alias.default: _NONE,
    aten.detach.default: _NONE,
    aten.view.default: ("reshape", lambda size: size),
    aten._unsafe_view.default: ("reshape", lambda size: size),
    aten.reshape.default: ("reshape", lambda shape: shape),
    aten.expand.default: ("expand", lambda size, implicit=False: size),
    aten.permute.default: ("permute", lambda dims: dims),
    aten.transpose.int: ("transpose", lambda dim0, dim1: (dim0, dim1)),
    aten.t.default: ("t", lambda: ()),
    aten.slice.Tensor: (
        "slice",
        lambda dim=0, start=None, end=None, step=1: (
            dim,
            0 if start is None else start,
            _END if end is None else end,
            step,
        ),
    ),
    aten.select.int: ("select", lambda dim, index: (dim, index)),
    aten.unsqueeze.default: ("unsqueeze", lambda dim: (dim,)),
    aten.squeeze.default: ("squeeze_all", lambda: ()),
    aten.squeeze.dim: ("squeeze", lambda dim: (dim,)),
    aten.squeeze.dims: ("squeeze", lambda dim: dim),
}


# Parts of tensors ---------------------------------------------------------------------------------


def _part_of(node):
    found = _SPLITS.get(node.args[0].target) if isinstance(node.args[0], torch.fx.Node) else None
    if found is None or not isinstance(node.args[1], int) or node.args[1] < 0:
        return None
    return found(node.args[1], *node.args[0].args, **node.args[0].kwargs)


def _of_equal(place, source, split_size, dim=0):
    if not isinstance(split_size, int):
        return None
    return "slice", source, (dim, place * split_size, (place + 1) * split_size, 1)


def _of_sizes(place, source, split_sizes, dim=0):
    if not all(isinstance(size, int) for size in split_sizes):
        return None
    first = sum(split_sizes[:place])
    return "slice", source, (dim, first, first + split_sizes[place], 1)


def _of_single(place, source, dim=0):
    return "select", source, (dim, place)


_SPLITS = {
    aten.split.Tensor: _of_equal,
    aten.split_with_sizes.default: _of_sizes,
    aten.unbind.int: _of_single,
}
