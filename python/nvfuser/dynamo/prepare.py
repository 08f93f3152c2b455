"""Graph rewrites before the cut: what does not need a tensor's elements shall not wait for them, and views of views are
one view."""

import operator

import torch
from torch._guards import detect_fake_mode
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .layout import same_sizes
from .operators import meta

aten = torch.ops.aten


_VIEWS = (aten.view.default, aten.alias.default, aten.detach.default, aten.expand.default)


def copied(graph):
    """The same graph once more, to be rewritten."""
    copy, known = torch.fx.Graph(), {}
    result, output = copy.graph_copy(graph, known, return_output_node=True)
    copy.output(result).meta.update(output.meta)
    copy._codegen = graph._codegen
    return copy


def note_results(graph):
    """Finds out what is not noted of results."""
    for node in graph.nodes:
        if node.op == "call_function" and meta(node) is None:
            note_result(node)


def prepare(graph):
    """Replaces constants shaped like a tensor by constants of its sizes, and sizes that are known otherwise."""
    known = {}  # expression of a size: the first node that has it
    for node in list(graph.nodes):
        value = meta(node)
        if isinstance(value, torch.SymInt):
            first = known.setdefault(value.node.expr, node)
            if first is not node:
                node.replace_all_uses_with(first)
                if node.op != "placeholder":
                    graph.erase_node(node)
        elif node.target is aten.full_like.default:
            _fill_by_sizes(graph, node)
        elif node.target is aten.permute.default:
            _join_permutations(graph, node)
        elif node.target in _VIEWS:
            _join_views(graph, node)
        elif node.target is aten.copy.default:
            _forget_copied_over(graph, node)
        elif node.target is aten.cat.default:
            _drop_empty_parts(node)
        elif node.target is aten.copy_.default:
            node.replace_all_uses_with(node.args[0])  # that is what it gives
        elif node.target in _EXTREMES:
            _take_values_alone(graph, node)
    graph.eliminate_dead_code()


def note_result(node):
    """Of calls that were put into the graph after it was traced, such as random numbers drawn again in a backward. What
    cannot be found out stays unknown, and is PyTorch's."""
    operands = [meta(source) for source in node.all_input_nodes]
    mode = detect_fake_mode(operands)
    if mode is None or any(value is None for value in operands):
        return
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), meta)
    try:
        with mode:
            node.meta["val"] = node.target(*args, **kwargs)
    except Exception:  # whatever it is, the call itself will say it
        return


def _fill_by_sizes(graph, node):
    value = meta(node)
    if any(isinstance(size, torch.SymInt) for size in value.shape):
        return
    if value.stride() != torch._prims_common.make_contiguous_strides_for(value.shape):
        return
    with graph.inserting_before(node):
        facts = {"dtype": value.dtype, "device": value.device}
        full = graph.call_function(aten.full.default, (list(value.shape), node.args[1]), facts)
    full.meta.update(node.meta)
    node.replace_all_uses_with(full)
    graph.erase_node(node)


def _join_permutations(graph, node):
    source = node.args[0]
    dims = node.args[1]
    if source.target is aten.permute.default:
        inner = source.args[1]
        source, dims = source.args[0], [inner[dim] for dim in dims]
        node.args = (source, dims)
    if [dim % len(dims) for dim in dims] == list(range(len(dims))):
        _drop(graph, node, source)


def _join_views(graph, node):
    source = node.args[0]
    if node.target in (aten.alias.default, aten.detach.default) or _is_same(meta(node), meta(source)):
        _drop(graph, node, source)
    elif node.target is source.target is aten.view.default and _is_contiguous(meta(source.args[0])):
        node.args = (source.args[0], node.args[1])


def _forget_copied_over(graph, node):
    """What is copied over something else, to be read: the source on its device, cast and stretched."""
    source, wanted = node.args[1], meta(node)
    if not isinstance(source, torch.fx.Node) or any(user.op == "output" for user in node.users):
        return
    if any(isinstance(size, torch.SymInt) for size in wanted.shape) and not same_sizes(meta(source), wanted):
        return
    with graph.inserting_before(node):
        if meta(source).dtype != wanted.dtype or meta(source).device != wanted.device:
            facts = {"dtype": wanted.dtype, "device": wanted.device}
            source = graph.call_function(aten._to_copy.default, (source,), facts)
            note_result(source)
        if not same_sizes(meta(source), wanted):
            source = graph.call_function(aten.expand.default, (source, list(wanted.shape)))
            note_result(source)
    node.replace_all_uses_with(source)
    graph.erase_node(node)


def _drop_empty_parts(node):
    parts = [part for part in node.args[0] if not any(statically_known_true(size == 0) for size in meta(part).shape)]
    if parts and len(parts) < len(node.args[0]) and all(meta(part).dtype == meta(node).dtype for part in parts):
        node.args = (parts, *node.args[1:])


_EXTREMES = {aten.max.dim: aten.amax.default, aten.min.dim: aten.amin.default}


def _take_values_alone(graph, node):
    """Extremes of which nobody reads the positions."""
    if any(user.target is not operator.getitem or (user.args[1] != 0 and user.users) for user in node.users):
        return
    readers = [user for user in node.users if user.args[1] == 0]
    dims = list(node.args[1:2])
    with graph.inserting_before(node):
        values = graph.call_function(_EXTREMES[node.target], (node.args[0], dims, *node.args[2:]))
    for reader in readers:
        values.meta.update(reader.meta)
        reader.replace_all_uses_with(values)
    for user in list(node.users):
        graph.erase_node(user)
    graph.erase_node(node)


def _is_same(a, b):
    def same(first, second):
        return len(first) == len(second) and all(
            statically_known_true(x == y) for x, y in zip(first, second, strict=True)
        )

    return same(a.shape, b.shape) and same(a.stride(), b.stride())


def _is_contiguous(tensor):
    return not any(isinstance(size, torch.SymInt) for size in tensor.shape) and tensor.is_contiguous()


def _drop(graph, node, source):
    """Its readers read `source`; an output stays a tensor of its own."""
    if any(user.op == "output" for user in node.users):
        return
    node.replace_all_uses_with(source)
    graph.erase_node(node)
