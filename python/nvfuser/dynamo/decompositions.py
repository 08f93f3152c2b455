"""Which operations of ATen are written in terms of simpler ones, so that they can be fused with their neighbours.

PyTorch's core decompositions, and those of normalisations, softmax and activations. Moments stay one operation
(`var_mean`), which the library computes in one pass; activations that it has itself (gelu, silu) stay whole, too.
"""

import functools
import operator

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._prims_common import suggest_memory_format
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .components import component_decompositions
from .depthwise import depthwise, depthwise_backward
from .extremes import extreme_decompositions
from .fallback import guarded
from .foreach import foreach_decompositions
from .layout import hint
from .paddings import padding_decompositions
from .pooling import pooling_decompositions
from .vector_products import vector_product_decompositions

aten = torch.ops.aten

_MORE = (
    aten._softmax,
    aten._log_softmax,
    aten.native_layer_norm,
    aten.native_group_norm,
    aten.native_batch_norm,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten._native_batch_norm_legit_no_training,
    aten._native_batch_norm_legit.no_stats,
    aten.leaky_relu,
    aten.elu,
    aten.celu,
    aten.selu,
    aten.softplus,
    aten.hardtanh,
    aten.hardswish,
    aten.hardsigmoid,
    aten.relu6,
    aten.mish,
    aten.log_sigmoid_forward,
    aten.logit,
    aten.threshold,
    aten.glu,
    aten.addcmul,
    aten.addcdiv,
    aten.smooth_l1_loss,
    aten.huber_loss,
    aten.mse_loss,
    aten.binary_cross_entropy,
    aten.binary_cross_entropy_with_logits,
    aten.soft_margin_loss,
    aten.logsumexp,
    aten.linalg_vector_norm,
    aten.xlogy,
    aten.stack,
    aten.std,
)
_KEPT = (
    aten.gelu_backward.default,
    aten.var_mean.correction,
    aten.var_mean.dim,
    aten.var_mean.default,
    aten.silu.default,
    aten.addcmul.default,
    aten.addcdiv.default,
    aten.lerp.Scalar,
    aten.lerp.Tensor,
    aten.baddbmm.default,
    aten.index_add.default,  # adds rows; its decomposition adds elements
    aten.unbind.int,
    aten.split.Tensor,
    aten.select_scatter.default,  # what writes a part is one operation, which part_writes.py looks for
    aten.index_copy.default,
    aten.index_fill.int_Scalar,
    aten.index_fill.int_Tensor,
    aten._unsafe_index.Tensor,
    aten.bernoulli.default,  # made of uniform numbers it draws others than eager does; so does the next, in PyTorch 2.6
    aten.bernoulli.p,
    aten._scaled_dot_product_flash_attention_for_cpu.default,  # its backward needs what the decomposition leaves out
)


_VECTOR_BYTES = 16  # what a GPU reads at once where an address is a multiple
_NONE, _MEAN = 0, 1  # reductions of a loss; 2 is its sum


def _is_on_gpu(x):
    return x.device.type == "cuda"


def _dropout(x, p, train):
    """The mask is PyTorch's, drawn from its generator; what is done with it can be fused."""
    if train is None:
        return NotImplemented  # the operation itself, where it draws a mask
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    on_gpu = _is_on_gpu(x)
    mask = _mask_of_a_gpu(x, p) if on_gpu else _truth_values(x, 1 - p)
    result = mask * x * (1.0 / (1.0 - p))
    in_rows = x.is_contiguous() and 1 in x.shape
    if on_gpu and _is_dense(x) and (in_rows or result.stride() != x.stride()):
        result = result.as_strided(x.shape, x.stride())  # where axes of one element have x's strides (strides.py)
    return result, mask


def _truth_values(x, p):
    """Drawn into memory laid out as x's, one element after the other."""
    order, back = _memory_order(x)
    drawn = torch.empty_like(x, dtype=torch.bool).permute(order)
    return aten.bernoulli.p(drawn, p).permute(back)


def _mask_of_a_gpu(x, p):
    """Drawn by eager's own kernel of dropout, from a tensor without values: there dtype, alignment and strides decide
    which number an element gets."""
    before = x.storage_offset() % (_VECTOR_BYTES // min(x.element_size(), _VECTOR_BYTES))
    if before and _is_dense(x):
        order, back = _memory_order(x)
        memory = torch.empty(x.numel() + before, dtype=x.dtype, device=x.device).narrow(0, before, x.numel())
        like = memory.view([x.shape[axis] for axis in order]).permute(back)
    else:
        like = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    return aten.native_dropout(like, p, None)[1]


def _is_dense(x):
    """Whether it lies in one run of memory, in whichever order of its axes."""
    return x.permute(_memory_order(x)[0]).is_contiguous()


def _memory_order(x):
    """Axes in the order in which a tensor like x lies in memory, outermost first; and the way back."""
    strides = torch.empty_like(x).stride()
    order = sorted(range(x.dim()), key=lambda axis: (-hint(strides[axis]), axis))
    return order, sorted(range(x.dim()), key=order.__getitem__)


def _roll(x, shifts, dims=()):
    """Two parts that change places. (PyTorch's decomposition reads at an index, and forgets that channels are last.)"""
    shifts = [shifts] if not isinstance(shifts, list | tuple) else shifts
    dims = [dims] if isinstance(dims, int) else dims
    if x.device.type != "cpu" and not x.is_contiguous():
        return _roll(x.contiguous(), shifts, dims)  # eager's kernel of a GPU gives rows
    if not dims:
        return _roll(x.flatten(), shifts, (0,)).view(x.shape)
    order, back = _memory_order(x) if suggest_memory_format(x) is not torch.contiguous_format else (None, None)
    rolled = x if order is None else x.permute(order)
    for shift, dim in zip(shifts, dims, strict=True):
        at = dim if back is None else back[dim]
        size = rolled.shape[at]
        first = size - shift % size if size else 0
        if size and first != size:
            rolled = torch.cat([rolled.narrow(at, first, size - first), rolled.narrow(at, 0, first)], at)
    rolled = rolled.clone(memory_format=torch.contiguous_format) if rolled is x or not rolled.dim() else rolled
    return rolled if back is None else rolled.permute(back)


def _value_at_mask(x, indices, values, accumulate):
    """One value where a mask is true. (Other masks say how many elements there are, and places are PyTorch's.)"""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) != 1 or given[0][1].dtype is not torch.bool or values.dim() or (x.dtype is torch.bool and accumulate):
        return NotImplemented
    axis, mask = given[0]
    mask = mask.view([*mask.shape, *[1] * (x.dim() - axis - mask.dim())])
    return torch.where(mask, x + values if accumulate else values, x)


def _stack(tensors, dim=0):
    """Rows along an axis of its own, on the CPU: what reads one place of it reads one operand. (PyTorch's joins along
    the next axis, and cuts that; other tensors are then laid out in its way.)"""
    if tensors[0].device.type != "cpu" or not all(x.is_contiguous() for x in tensors):
        return get_decompositions([aten.stack])[aten.stack.default](tensors, dim)
    dim %= tensors[0].dim() + 1
    return torch.cat([x.unsqueeze(dim) for x in tensors], dim)


def _ldexp(x, power):
    return x * torch.pow(2.0, power)


def _round_decimals(x, *, decimals):
    """PyTorch rounds half precision at each step, and integers not at all."""
    if x.dtype not in (torch.float32, torch.float64):
        return NotImplemented
    scale = 10.0 ** abs(decimals)
    return torch.round(x * scale) / scale if decimals >= 0 else torch.round(x / scale) * scale


def _threshold(x, threshold, value):
    if not x.dtype.is_floating_point:
        threshold, value = int(threshold), int(value)  # numbers of its dtype
    return torch.where(x <= threshold, value, x)


def _threshold_backward(grad, x, threshold):
    return torch.where(x <= threshold, 0, grad)


def _hardtanh_backward(grad, x, low, high):
    return torch.where((x <= low) | (x >= high), 0, grad)


def _in_float32(decomposed, *devices):
    """The decomposition of an operation whose bounds the kernels of these devices compare with half precision in
    float32, as they are written."""

    def define(x, *arguments):
        if x.device.type not in devices or x.dtype not in (torch.float16, torch.bfloat16):
            return decomposed(x, *arguments)
        wide = [a.to(torch.float32) if isinstance(a, torch.Tensor) else a for a in (x, *arguments)]
        return decomposed(*wide).to(x.dtype)

    return define


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """PyTorch's, whose decomposition in 2.11 keeps a reduced axis of one element."""
    decomposed = get_decompositions([aten.linalg_vector_norm])[aten.linalg_vector_norm.default]
    result = decomposed(x, ord, dim, keepdim, dtype=dtype)
    kept = not keepdim and result.dim() == x.dim() > 0
    return result.squeeze(list(range(x.dim())) if dim is None else dim) if kept else result


def _copy(x, source, non_blocking=False):
    """What `x.copy_(source)` leaves in x."""
    if source.shape != x.shape or source.device != x.device or source.stride() != x.stride():
        return NotImplemented
    return source.to(x.dtype, copy=True)


def _select_backward(grad, sizes, dim, index):
    """A gradient that is zero but at one position of an axis."""
    dim %= len(sizes)
    index %= sizes[dim]
    return _padded(grad.unsqueeze(dim), dim, index, sizes[dim] - index - 1)


def _slice_backward(grad, sizes, dim, start, end, step):
    """A gradient that is zero but in a part of an axis. With a step each element is one of `step` places:

    grad (…, n, …) → (…, n, 1, …) padded to (…, n, step, …), merged, then padded or cut to the axis' size
    """
    dim %= len(sizes)
    size, length = sizes[dim], grad.shape[dim]
    if all(isinstance(each, int) for each in (start, size)):
        first = slice(start, None).indices(size)[0]
    else:
        first = torch.sym_max(start + size if start < 0 else start, 0)
        if not statically_known_true(first <= size):
            first = torch.sym_min(first, size)  # behind the last element nothing is left
    if step != 1:
        place = first % step
        grad = _padded(grad.unsqueeze(dim + 1), dim + 1, place, step - 1 - place).flatten(dim, dim + 1)
        first = first - place
    return _padded(grad, dim, first, size - first - length * step)


def _padded(grad, dim, before, after):
    return aten.constant_pad_nd(grad, [0, 0] * (grad.dim() - 1 - dim) + [before, after])


def _eye(n, m=None, *, dtype=None, layout=None, device=None, pin_memory=False):
    """(PyTorch's counts in uint16, which its own kernels of ranges do not know.)"""
    rows, columns = (torch.arange(size, device=device) for size in (n, n if m is None else m))
    dtype = torch.get_default_dtype() if dtype is None else dtype
    return (rows.unsqueeze(-1) == columns).to(dtype)


def _index_put(x, indices, values, accumulate=False):
    masked = _value_at_mask(x, indices, values, accumulate)
    return _rows_added(x, indices, values, accumulate) if masked is NotImplemented else masked


def _rows_added(x, indices, values, accumulate):
    """Rows that are added at one index: PyTorch's `index_add` takes rows whole, its `index_put` single elements, in
    order, after it sorted them on a GPU."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    index = indices[dims[0]] if len(dims) == 1 else None
    if not accumulate or index is None or index.dim() == 0 or index.dtype not in (torch.int32, torch.int64):
        return NotImplemented
    if x.device.type != "cpu" and torch.are_deterministic_algorithms_enabled():
        return NotImplemented
    dim, size = dims[0], x.shape[dims[0]]
    shape = [*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]]
    values = values.expand(shape).reshape([*x.shape[:dim], index.numel(), *x.shape[dim + 1 :]])
    index = index.reshape(-1)
    return aten.index_add(x, dim, torch.where(index < 0, index + size, index), values)


def _embedding_dense_backward(grad, index, rows, padding, by_frequency):
    """Rows that are added at one index, as `_rows_added`; PyTorch's own operation sorts the index on a GPU first, and
    adds in order."""
    if by_frequency or (grad.device.type != "cpu" and torch.are_deterministic_algorithms_enabled()):
        return NotImplemented
    return table_gradient(grad, index, rows, padding)


def table_gradient(grad, index, rows, padding=-1):
    """Of a table whose rows were read; nothing goes to the row `padding`. Half precision is summed in float32."""
    width = grad.shape[-1]
    index, values = index.reshape(-1), grad.reshape(-1, width)
    if padding >= 0:
        values = torch.where((index == padding).unsqueeze(1), 0, values)
    wide = torch.float32 if grad.dtype in (torch.float16, torch.bfloat16) else grad.dtype
    total = grad.new_zeros([rows, width], dtype=wide)
    return aten.index_add(total, 0, index, values.to(wide)).to(grad.dtype)


def _nll_loss_backward(grad, x, target, weight, reduction, ignored, total):
    """A gradient that is zero but at one class: each class is compared with the target, nothing is scattered."""
    dim = 0 if x.dim() < 2 else 1
    classes = torch.arange(x.shape[dim], device=x.device).view([-1] + [1] * (x.dim() - dim - 1))
    target = target.unsqueeze(dim)
    if reduction == _MEAN:
        grad = grad / total
    elif reduction == _NONE:
        grad = grad.unsqueeze(dim)
    if weight is not None:
        grad = grad * weight.view(classes.shape)
    return torch.where((classes == target) & (target != ignored), -grad, 0)


def _weight_norm(v, g, dim=0):
    """v scaled to the lengths g, and the lengths that it had: those of slices along `dim`, in float32 for half
    precision, which PyTorch's gradient takes."""
    wide = v.float() if v.dtype in (torch.float16, torch.bfloat16) else v
    norm = torch.linalg.vector_norm(wide, 2, [axis for axis in range(v.dim()) if axis != dim], keepdim=True)
    return (wide * (g / norm)).to(v.dtype), norm


def _weight_norm_backward(grad, v, g, norm, dim):
    wide, slope = v.to(norm.dtype), grad.to(norm.dtype)
    along = (slope * wide).sum([axis for axis in range(v.dim()) if axis != dim], keepdim=True) / norm
    of_v = (slope - wide * (along / norm)) * (g / norm)
    return of_v.to(v.dtype), along.to(g.dtype)


def _convolution(x, weight, bias, *settings):
    """On a GPU the bias is added by a kernel of its own, which a neighbour may be as well."""
    result = depthwise(x, weight, bias, *settings)
    if result is not NotImplemented:
        return result
    if bias is None or not _is_on_gpu(x) or bias.dtype != x.dtype:
        return NotImplemented
    result = aten.convolution(x, weight, None, *settings)
    return result + bias.view([-1] + [1] * (result.dim() - 2))


def _convolution_backward(grad, x, weight, bias_sizes, *settings):
    """There its gradient is a sum of its own, too."""
    result = depthwise_backward(grad, x, weight, bias_sizes, *settings)
    if result is not NotImplemented:
        return result
    *settings, wanted = settings
    if not wanted[2] or not _is_on_gpu(x):
        return NotImplemented
    of_bias = grad.sum([axis for axis in range(grad.dim()) if axis != 1])
    if not any(wanted[:2]):
        return None, None, of_bias
    of_others = aten.convolution_backward(grad, x, weight, None, *settings, [*wanted[:2], False])
    return of_others[0], of_others[1], of_bias


def _angle(z):
    """Of complex numbers; PyTorch's own lies in memory otherwise than tracing says."""
    return torch.atan2(z.imag, z.real) if z.is_complex() else NotImplemented


_OURS = {
    (aten.angle.default,): _angle,
    (aten.convolution.default,): _convolution,
    (aten.convolution_backward.default,): _convolution_backward,
    (aten._weight_norm_interface.default,): _weight_norm,
    (aten._weight_norm_interface_backward.default,): _weight_norm_backward,
    (aten.native_dropout.default,): _dropout,
    (aten.nll_loss_backward.default, aten.nll_loss2d_backward.default): _nll_loss_backward,
    (aten.roll.default,): _roll,
    (aten.copy.default,): _copy,
    (aten.eye.default, aten.eye.m): _eye,
    (aten.index_put.default, aten._unsafe_index_put.default): _index_put,
    (aten.embedding_dense_backward.default,): _embedding_dense_backward,
    (aten.stack.default,): _stack,
    (aten.ldexp.Tensor,): _ldexp,
    (aten.round.decimals,): _round_decimals,
    (aten.threshold.default,): _in_float32(_threshold, "cpu"),
    (aten.threshold_backward.default,): _in_float32(_threshold_backward, "cpu"),
    (aten.hardtanh_backward.default,): _in_float32(_hardtanh_backward, "cpu", "cuda"),
    (aten.linalg_vector_norm.default,): _vector_norm,
    (aten.select_backward.default,): _select_backward,
    (aten.slice_backward.default,): _slice_backward,
}


@functools.cache
def decompositions():
    table = dict(core_aten_decompositions())
    table.update(get_decompositions(_MORE))
    for kept in _KEPT:
        table.pop(kept, None)
    ours = {operation: decompose for operations, decompose in _OURS.items() for operation in operations}
    more = (
        component_decompositions(),
        extreme_decompositions(),
        foreach_decompositions(),
        padding_decompositions(),
        pooling_decompositions(),
        vector_product_decompositions(),
    )
    for operation, decompose in functools.reduce(operator.or_, more, ours).items():
        table[operation] = guarded(str(operation), decompose)
    return table
