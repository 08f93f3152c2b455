"""explain(model, *args): what torch.compile(backend="nvfuser") fuses of it, and what it leaves to PyTorch, and why."""

import math
import operator
from collections import Counter

import torch
import torch._dynamo

from .backend import backend, observing
from .compiled_region import name_of
from .layout import hint
from .operators import meta
from .placement import Kind


def explain(model, *args, **kwargs):
    """A text about one call of `model`, compiled afresh, and its backward if the result has one.

    The call is a real one: gradients are accumulated and buffers updated, as without explain().
    """

    def called(*args, **kwargs):  # Dynamo passes over functions of PyTorch itself (2.7), but not over their calls
        return model(*args, **kwargs)

    torch._dynamo.reset()
    try:
        with observing() as seen:
            given = model if isinstance(model, torch.nn.Module) else called
            result = torch.compile(given, backend=backend)(*args, **kwargs)
            for tensor in _tensors(result):
                if tensor.requires_grad and tensor.is_floating_point():
                    tensor.sum().backward(retain_graph=True)
                    break
    finally:
        torch._dynamo.reset()
    if not seen.graphs:
        return "nothing was compiled: Dynamo found no operation on tensors in it\n"
    return "\n".join(_graph_text(number, graph) for number, graph in enumerate(seen.graphs, 1))


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _graph_text(number, graph):
    cut = graph.cut
    if graph.failure is not None:
        return f"graph {number} ({graph.direction}): runs in PyTorch, because {graph.failure}\n"
    fused = sum(node.target is not operator.getitem for region in cut.regions for node in region.nodes)
    left = [
        node
        for node, kind in cut.kinds.items()
        if kind is Kind.LIBRARY and node in cut.reasons and isinstance(meta(node), _TENSORS)
    ]
    lines = [
        f"graph {number} ({graph.direction}): fused: {_counted(fused, 'operation')} in "
        f"{_counted(len(cut.regions), 'region')}; left to PyTorch: {_counted(len(left), 'operation')}"
    ]
    for region in graph.regions:
        lines += _region_lines(region)
    lines += _left_lines(cut, left)
    lines += [f"  {line}" for line in str(graph.run).splitlines()]
    return "\n".join(lines) + "\n"


def _listed(names):
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in names.items())  # noqa: RUF001


def _counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


_TENSORS = (torch.Tensor, list, tuple)


def _region_lines(region):
    names = Counter(name_of(node) for node in region.region.nodes if node.target is not operator.getitem)
    yield f"  {region.name} on {region.region.device}: {_listed(names)}"
    members, updates = set(region.region.nodes), region.region.updates
    unread = {target for target in updates if not members & set(target.users)}
    read = sum(_size(node) for node in region.region.inputs if node not in unread)
    written = sum(_size(node) for node in [*region.region.outputs, *updates])
    yield f"    reads {read:,} bytes, writes {written:,}"
    if region.failure is not None:
        yield f"    runs in PyTorch, because {region.failure}"
    elif (kernels := region.kernels()) is not None:
        yield f"    runs in {_counted(kernels, 'kernel')}, nvfuser_{region.executor.fusion_id}_…"


def _size(node):
    value = meta(node)
    if not isinstance(value, torch.Tensor):
        return 8
    return math.prod(hint(size) for size in value.shape) * value.element_size()


def _left_lines(cut, left):
    by_reason = {}
    for node in left:
        by_reason.setdefault(cut.reasons[node], Counter())[name_of(node)] += 1
    for reason, names in by_reason.items():
        yield f"  PyTorch: {_listed(names)}: {reason}"
