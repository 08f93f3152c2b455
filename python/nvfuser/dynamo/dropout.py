"""Masks of dropout on a GPU, drawn by the kernels that use them, with the numbers that eager's kernel draws.

    native_dropout(empty like x, p) → mask, mask * x …     a kernel of its own, which reads and writes x's size
    numbers = take_numbers(…);  dropout_mask(x, p, *numbers, …) * x …    the mask is computed where it is read

Eager's kernel has as many threads as the GPU holds at once. Each has a sequence of Philox of its own, and takes so many
neighbours at a time (`uniform_of_threads`). Which numbers an element gets thus depends on the GPU and on PyTorch's
version. So eager's kernel is asked once for each GPU and dtype: its masks of two sizes, and how far they move the
generator on. Where these are not those expected, and for tensors that eager takes in another way, masks stay eager's.

A graph of CUDA keeps the numbers that a kernel is given, so in a captured call eager's kernel draws (backend.py).
"""

import functools
import operator

import torch
from torch._guards import detect_fake_mode
from torch._prims_common import make_contiguous_strides_for
from torch.utils._python_dispatch import _disable_current_modes

from nvfuser._C import number_of_threads

from .drawn_numbers import BLOCK, DRAWN, dropout_mask, moves, take_numbers
from .operators import meta

aten = torch.ops.aten

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


# The graph -----------------------------------------------------------------------------------------


def draw_in_kernels(graph):
    """Replaces masks that eager's kernel draws. Gives whether there were any."""
    masks = [node for node in graph.nodes if node.target is aten.native_dropout.default]
    return any([_replace(graph, node) for node in masks])


def _replace(graph, node):
    like, p, train = node.args
    parts = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    if train is not None or set(parts) != {1} or like.target is not aten.empty_strided.default:
        return False
    (mask,) = parts.values()
    source = _masked_by(mask, like)
    threads = _threads_of(meta(like)) if source is not None else None
    mode = detect_fake_mode([meta(like)])
    if threads is None or mode is None or mode.shape_env is None:
        return False
    with graph.inserting_before(node):
        taken = graph.call_function(take_numbers, (meta(like).device.index, meta(like).numel(), threads[0]))
        numbers = [graph.call_function(operator.getitem, (taken, i)) for i in (0, 1)]
    taken.meta["val"] = tuple(mode.shape_env.create_unbacked_symint() for _ in numbers)
    for i, number in enumerate(numbers):
        number.meta["val"] = taken.meta["val"][i]
    with graph.inserting_before(mask):
        drawn = graph.call_function(dropout_mask, (source, p, *numbers, *threads))
    drawn.meta.update(mask.meta)
    mask.replace_all_uses_with(drawn)
    for dead in (mask, node, *(() if len(like.users) > 1 else (like,))):  # what draws is not taken for dead code
        graph.erase_node(dead)
    return True


def _masked_by(mask, like):
    """The tensor that the mask is of: what it is multiplied by, if that lies in memory as `like` does. (Computed beside
    it the mask does not wait for another region.)"""
    for user in mask.users:
        if user.target is aten.mul.Tensor and user.args[0] is mask and isinstance(user.args[1], torch.fx.Node):
            value, wanted = meta(user.args[1]), meta(like)
            same = (value.shape, value.stride(), value.dtype) == (wanted.shape, wanted.stride(), wanted.dtype)
            if same and _comes_before(user.args[1], mask):
                return user.args[1]
    return None


def _comes_before(node, other):
    return node.op == "placeholder" or node < other


def _threads_of(value):
    """(threads, neighbours that one takes at a time) of eager's kernel for this tensor; None where it is not known."""
    if value.dtype not in _DTYPES or not all(isinstance(size, int) for size in value.shape) or value.numel() == 0:
        return None
    if value.stride() != make_contiguous_strides_for(value.shape):
        return None
    threads = _eagers(value.device.index, value.dtype)
    return threads if threads is not None and value.numel() % threads[1] == 0 else None


# Eager's kernel ------------------------------------------------------------------------------------


@functools.cache
def _eagers(index, dtype):
    """(threads, neighbours that one takes at a time) for this dtype on this GPU, if eager draws as it is known to."""
    facts = torch.cuda.get_device_properties(index)
    count = facts.multi_processor_count * (facts.max_threads_per_multi_processor // BLOCK) * BLOCK
    with _disable_current_modes(), torch.random.fork_rng([index]), torch.cuda.device(index):
        for width in (4, 8, 16):
            sizes = (4096, 5 * count * width // 2 // 64 * 64)
            if all(_draws_so(index, dtype, count, width, size) for size in sizes):
                return count, width
    return None


def _draws_so(index, dtype, count, width, elements, p=0.3, seed=2611, offset=84):
    generator = torch.cuda.default_generators[index]
    generator.manual_seed(seed)
    generator.set_offset(offset)
    mask = aten.native_dropout(torch.empty(elements, dtype=dtype, device=f"cuda:{index}"), p, None)[1]
    if generator.get_offset() != offset + moves(elements, count):
        return False
    samples = range(0, elements, max(1, elements // 500) | 1)
    found = mask[torch.tensor(samples, device=mask.device)].tolist()
    keep = torch.tensor(1 - p, dtype=torch.float32).item()
    return found == [number_of_threads(seed, offset // DRAWN, e, count, width) < keep for e in samples]
