"""What is computed from constants alone is one:

    neg(full(…, 0)); sum(full(…, 0), dims)        full(…, 0)
    lift_fresh_copy(constant of the graph)        full([], 3), where it is one number

Gradients of what has none, of signs and of comparisons, are zeros that are spread, negated, added and summed. Numbers
that a program writes to a GPU's tensor are 0-dim tensors of the CPU, each of which would be copied there in each call.
"""

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .operators import DTYPES, meta
from .prepare import note_result

aten = torch.ops.aten

_ONE_BY_ONE = {
    aten.neg.default,
    aten.abs.default,
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.add.Tensor,
    aten.add.Scalar,
    aten.sub.Tensor,
    aten.sub.Scalar,
    aten.div.Tensor,
    aten.div.Scalar,
    aten.reciprocal.default,
    aten.sqrt.default,
    aten.exp.default,
    aten._to_copy.default,
    aten.where.self,
}
_SUMS = {aten.sum.default, aten.sum.dim_IntList}
_VIEWS = {
    aten.expand.default,
    aten.view.default,
    aten.reshape.default,
    aten.permute.default,
    aten.unsqueeze.default,
    aten.squeeze.dim,
    aten.squeeze.dims,
    aten.clone.default,
}


def fold_known_values(graph, module):
    """`module` has the graph's constants."""
    for node in list(graph.nodes):
        if node.target is aten.lift_fresh_copy.default and node.args[0].op == "get_attr":
            _read_constant(graph, node, getattr(module, node.args[0].target, None))
        if node.op == "call_function" and node.target in _ONE_BY_ONE | _SUMS | _VIEWS:
            _fold(graph, node)
    graph.eliminate_dead_code()


def _read_constant(graph, node, constant):
    is_number = isinstance(constant, torch.Tensor) and constant.dim() == 0 and constant.device.type == "cpu"
    if is_number and constant.dtype in DTYPES and not constant.dtype.is_complex:
        with _disable_current_modes():
            _replace(graph, node, constant.item())


def _fold(graph, node):
    sources = node.all_input_nodes
    if sources and all(_is_number(source) for source in sources):
        _replace(graph, node, _value(node))


def _replace(graph, node, value):
    """By a tensor of this number."""
    wanted = meta(node)
    if value is None or not _is_plain(wanted):
        return
    if any(user.op == "output" for user in node.users):
        return  # it has memory of its own, laid out as PyTorch does
    with graph.inserting_before(node):
        full = graph.call_function(
            aten.full.default, (list(wanted.shape), value), {"dtype": wanted.dtype, "device": wanted.device}
        )
    note_result(full)
    if meta(full) is None or meta(full).shape != wanted.shape:
        graph.erase_node(full)
        return
    node.replace_all_uses_with(full)
    graph.erase_node(node)


def _is_number(node):
    value = meta(node)
    return node.target is aten.full.default and isinstance(node.args[1], bool | int | float) and _is_plain(value)


def _is_plain(tensor):
    return isinstance(tensor, torch.Tensor) and all(isinstance(size, int) for size in tensor.shape)


def _value(node):
    if node.target in _SUMS:
        zero = node.args[0].args[1] == 0
        return 0 if zero else None
    if node.target in _VIEWS:
        return node.args[0].args[1]

    def number(source):
        return torch.full((), source.args[1], dtype=meta(source).dtype)

    options = {name: value for name, value in node.kwargs.items() if name in ("dtype", "alpha")}
    try:
        with _disable_current_modes():
            return node.target(*torch.fx.node.map_arg(node.args, number), **options).item()
    except Exception:  # whatever it is, the call itself will say it
        return None
