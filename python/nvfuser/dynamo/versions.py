"""Rows of tensors from an argument to what is copied to it at a graph's end, each the one before with a part written:

    n1 = select_scatter(p, a, 0, 1)                                 version 1: a to [select 1]
    n2 = select_scatter(n1, slice_scatter(select(n1, 0, 2), b, 0, 3, 5), 0, 2)
                                                                    version 2: b to [select 2, slice 3:5]
    n3 = index_put(n2, [i], c)                                      version 3: index_put_ to []
    copy_(p, n3)

A part of a view that shows all elements is one of the argument, too: t(slice_scatter(t(p), …)).
"""

from dataclasses import dataclass, field

import torch

from .steps import below, path, scattered, step_of, undoes

aten = torch.ops.aten


@dataclass
class Write:
    """What `call` puts into the part that `steps` lead to: its second argument, or what it writes there by index."""

    steps: list
    call: torch.fx.Node
    source: torch.fx.Node | None = None  # the second argument, without the copies before it


@dataclass
class Version:
    node: torch.fx.Node  # all of it, as a value
    write: Write
    inner: set  # the operations that lead to it from the version before, views of that one not among them
    in_memory: bool = True
    readers: set = field(default_factory=set)


@dataclass
class Row:
    argument: torch.fx.Node
    first: torch.fx.Node  # what the first version is made from: the argument, or what is copied to it before
    versions: list
    update: torch.fx.Node


def row_of(update):
    """Of a copy to an argument; None if what is copied is no such row, or is fused with all that it is made from."""
    argument, node = update.args
    versions = []
    while (found := _version(node)) is not None:
        version, node = found
        versions.append(version)
    if not versions or (node is not argument and all(by_index(version.write.call) is None for version in versions)):
        return None
    return Row(argument, node, versions[::-1], update)


def by_index(node):
    """The operation in place of one that writes by index; None if it does not."""
    return _BY_INDEX.get(node.target)


def _version(node):
    """(the version that a node is, what it was before that)."""
    below_views = next((lower for lower in below(node) if step_of(lower) is None), node)
    base = _base(below_views)
    for root in below(base) if base is not None else ():
        found = _peeled(node, root, [])
        if found is not None:
            return Version(node, *found), root
    return None


def _peeled(node, root, steps):
    """(write, operations) where `node` is what `steps` lead to from `root`, after one write; else None."""
    base = _base(node)
    if base is not None:
        if path(base, root) != steps:
            return None
        if by_index(node) is not None:
            return Write(steps, node), {node}
        _, source, step = scattered(node)
        steps = [*steps, step] if step else steps
        found = _peeled(source, root, steps)
        return (found[0], found[1] | {node}) if found is not None else (Write(steps, node), {node})
    view = step_of(node)
    if view is None:
        return None
    deeper = steps
    if view[1] is not None:
        changed = next((lower for lower in below(node) if step_of(lower) is None), None)
        whole = path(_base(changed), root) if _base(changed) is not None else None
        if whole is None or whole[: len(steps)] != steps or len(whole) == len(steps):
            return None
        if not undoes(node, whole[len(steps)]):
            return None
        deeper = whole[: len(steps) + 1]
    found = _peeled(view[0], root, deeper)
    return (found[0], found[1] | {node}) if found is not None else None


def _base(node):
    """What an operation makes a copy of, to write into."""
    found = scattered(node)
    return found[0] if found is not None else node.args[0] if by_index(node) is not None else None


_BY_INDEX = {
    getattr(getattr(aten, name), overload): getattr(getattr(aten, name + "_"), overload)
    for name, overloads in {
        "index_put": ["default"],
        "index_copy": ["default"],
        "index_add": ["default"],
        "index_reduce": ["default"],
        "index_fill": ["int_Scalar", "int_Tensor"],
        "scatter": ["src", "value", "reduce", "value_reduce"],
        "scatter_add": ["default"],
        "scatter_reduce": ["two"],
        "masked_scatter": ["default"],
        "put": ["default"],
    }.items()
    for overload in overloads
}
