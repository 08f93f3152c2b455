"""A part that is read as it has just been written is what was written:

    n = slice_scatter(x, v, …); y = slice(n, …)           y is v
    slice_scatter(slice_scatter(x, v, …), v, …)            slice_scatter(x, v, …)
    slice_scatter(slice_scatter(x, v, …), w, …)            slice_scatter(x, w, …)

where all these parts are the same. `x[:, :4] *= 2` is such a row: Python takes the part, multiplies it in place, and
puts it back.
"""

import torch

from .layout import same_sizes
from .operators import RULES, meta
from .placement import Kind
from .steps import scattered, step_of

aten = torch.ops.aten


def forward_parts(graph):
    for node in list(graph.nodes):
        if node.op == "call_function":
            _forward_read(node)
            _forward_write(node)


def _forward_read(node):
    view = step_of(node)
    written = scattered(view[0]) if view is not None and isinstance(view[0], torch.fx.Node) else None
    if written is None or view[1] != written[2]:
        return
    source = written[1]
    # Its strides are others: that is nothing to operations whose results have strides of their own.
    same = meta(source).dtype == meta(node).dtype and same_sizes(meta(source), meta(node))
    if same and all(_is_fused(user) for user in node.users):
        node.replace_all_uses_with(source)


def _forward_write(node):
    second = scattered(node)
    first = scattered(second[0]) if second is not None else None
    if first is None or first[2] != second[2]:
        return
    if _copied(first[1]) is _copied(second[1]):
        if not any(user.op == "output" for user in node.users):
            node.replace_all_uses_with(second[0])
    else:
        node.update_arg(0, first[0])


def _is_fused(node):
    rule = RULES.get(node.target)
    return rule is not None and rule.kind is Kind.FUSED


def _copied(node):
    """What copies of a node are copies of."""
    while node.target in (aten.clone.default, aten._to_copy.default) and (
        meta(node).dtype == meta(node.args[0]).dtype and meta(node).device == meta(node.args[0]).device
    ):
        node = node.args[0]
    return node
