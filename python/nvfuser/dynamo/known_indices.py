"""Indices that are known before the call and repeat each element, as nearest upsampling by a whole factor has them:

    _unsafe_index(x, [None, None, rows, columns])         rows, columns: 0, 0, 1, 1, 2, 2, …
        x[:, :, :, None, :, None] stretched by 2 and 2, reshaped
    _unsafe_index(_unsafe_index(x, [None, None, rows]), [None, None, None, columns])
        _unsafe_index(x, [None, None, rows[:, None], columns])
    _unsafe_index_put(zeros, [None, None, rows, columns], grad, accumulate=True)
        grad as (…, h, 2, w, 2), summed over the axes of 2

What is read in order needs no index in memory, and a gradient is a sum instead of additions wherever an index says.
Other reads at known indices, as of bilinear upsampling, have them as constants: each kernel would make them again for
each element, and see to it that none is beyond its axis. On a GPU an index along one axis that takes few steps with
whole numbers, as of padding by replication, is less than reading it.
"""

import torch
from torch._guards import detect_fake_mode
from torch.utils._python_dispatch import _disable_current_modes

from .operators import WITHIN, meta
from .prepare import note_result

aten = torch.ops.aten

DEVICES_THAT_COUNT = ("cuda",)  # where indices of few steps are worked out by kernels

_MOST_ELEMENTS = 1 << 16  # of an index that is worked out
_FEW_STEPS = 3  # of whole numbers of 64 bits, where a load would wait in a cache

_READS = (aten._unsafe_index.Tensor, aten.index.Tensor)
_SUMS = (aten._unsafe_index_put.default, aten.index_put.default)


def use_known_indices(graph, module):
    """Rewrites reads, and sums into zeros, at such indices. `module` has the graph's constants."""
    for node in list(graph.nodes):
        if node.target in _READS:
            _join_with_operand(graph, node)
    for node in list(graph.nodes):
        if node.target in _READS:
            if not _rewrite(graph, node, meta(node.args[0]), node.args[1], _repeated):
                _note_constants(graph, node, module)
        elif node.target in _SUMS and node.args[3:] == (True,) and _is_zeros(node.args[0]):
            _rewrite(graph, node, meta(node), node.args[1], _summed)
        elif node.target is aten.index_add.default and not node.kwargs and _is_zeros(node.args[0]):
            _, dim, index, values = node.args
            dim %= meta(node).dim()
            _rewrite(graph, node, meta(node), [None] * dim + [index], _summed, values)
    graph.eliminate_dead_code()


def _join_with_operand(graph, node):
    """Reads at known indices along two neighbouring axes, as padding by reflection has them, are one at both."""
    inner = node.args[0]
    if inner.target not in _READS or len(inner.users) != 1:
        return
    axes = _only_axis(node), _only_axis(inner)
    if None in axes or abs(axes[0] - axes[1]) != 1:
        return
    outer_index, inner_index = node.args[1][axes[0]], inner.args[1][axes[1]]
    if any(_worked_out(index) is None for index in (outer_index, inner_index)):
        return
    first = min(axes)
    indices = (inner_index, outer_index) if axes[1] == first else (outer_index, inner_index)
    with graph.inserting_before(node):
        upright = graph.call_function(aten.unsqueeze.default, (indices[0], 1))
        note_result(upright)
        joined = graph.call_function(inner.target, (inner.args[0], [None] * first + [upright, indices[1]]))
        note_result(joined)
    if meta(joined).stride() != meta(node).stride():
        graph.erase_node(joined)
        graph.erase_node(upright)
        return
    node.replace_all_uses_with(joined)
    graph.erase_node(node)
    graph.erase_node(inner)


def _only_axis(node):
    """The axis that a read has an index of one axis for; None: there are other indices."""
    given = [axis for axis, index in enumerate(node.args[1]) if index is not None]
    if len(given) != 1 or meta(node.args[1][given[0]]) is None or meta(node.args[1][given[0]]).dim() != 1:
        return None
    return given[0]


def _is_zeros(node):
    return node.target is aten.full.default and node.args[1] == 0


def _rewrite(graph, node, tensor, indices, define, *rest):
    value = meta(node)
    if not all(isinstance(size, int) for size in (*tensor.shape, *value.shape)):
        return False
    times = _times(tensor.shape, indices)
    if times is None:
        return False
    source = rest[0] if rest else node.args[0] if define is _repeated else node.args[2]
    if define is _summed and list(meta(source).shape) != [n * s for n, s in zip(tensor.shape, times, strict=True)]:
        return False
    order = sorted(range(value.dim()), key=lambda axis: (-value.stride(axis), axis))
    last = node.prev

    def call(target, *arguments, **options):
        made = graph.call_function(target, arguments, options)
        note_result(made)
        return made

    with graph.inserting_before(node):
        result = call(aten.permute.default, source, order)
        result = define(call, result, [tensor.shape[axis] for axis in order], [times[axis] for axis in order])
        result = call(aten.permute.default, result, sorted(range(len(order)), key=order.__getitem__))
    made = meta(result)
    if made is not None and made.dtype == value.dtype and made.stride() == value.stride():
        node.replace_all_uses_with(result)
        return True
    while node.prev is not last:
        graph.erase_node(node.prev)
    return False


def _note_constants(graph, node, module):
    """Constants instead of what the indices are made of, if all are known and within their axes."""
    tensor, indices = meta(node.args[0]), node.args[1]
    given = [(index, tensor.shape[axis]) for axis, index in enumerate(indices) if index is not None]
    if tensor.device.type in DEVICES_THAT_COUNT and len(given) == 1 and _is_counted(*given[0]):
        node.meta[WITHIN] = True
        return
    mode = detect_fake_mode([tensor])
    values = []
    for axis, index in enumerate(indices):
        value = None if index is None else _inside(index, tensor.shape[axis])
        if mode is None or (value is None) != (index is None):
            return
        values.append(value)
    constants = []
    for value in values:
        if value is None:
            constants.append(None)
            continue
        name = f"known_index_{sum(name.startswith('known_index_') for name, _ in module.named_buffers())}"
        with _disable_current_modes():
            value = value.to(tensor.device)
        module.register_buffer(name, value, persistent=False)
        with graph.inserting_before(node):
            constant = graph.create_node("get_attr", name)
        constant.meta["val"] = mode.from_tensor(value, static_shapes=True)
        constants.append(constant)
    node.update_arg(1, constants)
    node.meta[WITHIN] = True


def _is_counted(index, size):
    """Whether an index within its axis is made of few steps, all of whole numbers."""
    steps, pending = set(), [index]
    while pending:
        step = pending.pop()
        made = meta(step)
        of_integers = isinstance(made, torch.Tensor) and made.dtype in (torch.int32, torch.int64)
        if not of_integers or len(steps) > _FEW_STEPS:
            return False
        steps.add(step)
        pending += [source for source in step.all_input_nodes if source not in steps]
    with _disable_current_modes(), torch.no_grad():
        value = _worked_out(index) if isinstance(size, int) else None
        return value is not None and value.numel() > 0 and int(value.min()) >= 0 and int(value.max()) < size


def _inside(index, size):
    """The values of an index that is known, none of them negative; None for others, or where one is beyond the axis."""
    made_of = meta(index)
    if not isinstance(size, int) or made_of is None or made_of.dtype not in (torch.int32, torch.int64):
        return None
    with _disable_current_modes(), torch.no_grad():
        value = _worked_out(index)
        if value is None or value.numel() == 0 or value.min() < -size or value.max() >= size:
            return None
        return torch.where(value < 0, value + size, value).long()


def _repeated(call, x, sizes, times):
    stretched = [part for size, count in zip(sizes, times, strict=True) for part in ([size, count][: 1 + (count > 1)])]
    for axis in reversed(range(len(sizes))):
        if times[axis] > 1:
            x = call(aten.unsqueeze.default, x, axis + 1)
    x = call(aten.expand.default, x, stretched)
    x = call(aten.clone.default, x, memory_format=torch.contiguous_format)
    return call(aten._unsafe_view.default, x, [size * count for size, count in zip(sizes, times, strict=True)])


def _summed(call, grad, sizes, times):
    parts, summed = [], []
    for size, count in zip(sizes, times, strict=True):
        parts.append(size)
        if count > 1:
            summed.append(len(parts))
            parts.append(count)
    return call(aten.sum.dim_IntList, call(aten.view.default, grad, parts), summed)


def _times(sizes, indices):
    """How often each axis' elements are repeated; None: the indices are not known, or others."""
    given = [axis for axis, index in enumerate(indices) if index is not None]
    if not given or given != list(range(given[0], given[-1] + 1)):
        return None  # axes of indices that are apart come first in the result
    times = [1] * len(sizes)
    for axis in given:
        index = meta(indices[axis])
        behind = given[-1] - axis  # other indices lie along later axes
        if index is None or list(index.shape[1:]) != [1] * behind or index.dim() != 1 + behind:
            return None
        size, length = sizes[axis], index.shape[0]
        if not isinstance(length, int) or size == 0 or length == 0 or length % size or length > _MOST_ELEMENTS:
            return None
        times[axis] = length // size
        with _disable_current_modes(), torch.no_grad():
            known = _worked_out(indices[axis])
            if known is None or not torch.equal(known.flatten(), torch.arange(length) // times[axis]):
                return None
    return times if max(times) > 1 else None


def _worked_out(node):
    """The value of what is made of numbers alone, computed on the CPU; None: it is made of something else."""
    known = {}

    def value_of(each):
        if each not in known:
            known[each] = None
            if _is_plain(each):
                operands = {source: value_of(source) for source in each.all_input_nodes}
                if all(value is not None for value in operands.values()):
                    known[each] = _computed(each, operands)
        return known[each]

    return value_of(node)


def _is_plain(node):
    """A call that gives the same small tensor each time."""
    value = meta(node)
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and not node.target._schema.is_mutable
        and torch.Tag.nondeterministic_seeded not in node.target.tags
        and isinstance(value, torch.Tensor)
        and all(isinstance(size, int) for size in value.shape)
        and value.numel() <= _MOST_ELEMENTS
    )


def _computed(node, operands):
    args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), operands.__getitem__)
    if kwargs.get("device") is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    return node.target(*args, **kwargs)
