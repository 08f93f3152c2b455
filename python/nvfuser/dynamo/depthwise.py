"""Convolutions of each channel by itself, with few taps (blurs, edges, causal filters), as sums of products, which are
fused with what is around them. A library reads and writes all of memory for each; on a CPU it turns channels for its
vectors first, of which a picture has three.

    conv1d(x, w, padding=1, groups=c), three taps      y = pad(x, (1, 1))
                                                       y[..., :-2] * w[:, :, 0] + y[..., 1:-1] * w[:, :, 1]
                                                                                + y[..., 2:] * w[:, :, 2]

So are those of one channel to a few. Half precision is summed in float32, and rounded once, as the library does.
"""

import functools
import math
import operator

import torch
from torch._prims_common import suggest_memory_format

from .windows import Windows

_MOST_TAPS = 9
_MOST_TAPS_OF_FEW = 25  # on a CPU
_FEW_CHANNELS = 15  # less than the library's vectors have
_LEAST_ROW = 32  # elements side by side
_MOST_OF_ONE = 4  # channels that are made of one
_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def depthwise(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """The convolution; NotImplemented where a library's is faster, or its sizes change."""
    if not _is_taken(x, weight, transposed, groups):
        return NotImplemented
    windows = Windows(_wide(x), weight.dim() - 2, weight.shape[2:], stride, padding, dilation)
    if not _fit(windows):
        return NotImplemented  # PyTorch says what is wrong
    total = _convolved(windows, _wide(weight))
    if bias is not None:
        total = total + _of_channels(_wide(bias), windows)
    return total.to(x.dtype).contiguous()


def depthwise_backward(
    grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted
):
    """Its gradients, of windows at every place; NotImplemented where the convolution is a library's."""
    if not _is_taken(x, weight, transposed, groups) or x.shape[1] != weight.shape[0] or grad.dtype != x.dtype:
        return NotImplemented
    rank, taps = weight.dim() - 2, weight.shape[2:]
    windows = Windows(_wide(x), rank, taps, stride, padding, dilation)
    reach = [d * (k - 1) - p for k, p, d in zip(taps, windows.padding, windows.dilation, strict=True)]
    if not _fit(windows) or set(windows.stride) != {1} or min(reach) < 0:
        return NotImplemented
    wide, of_x, of_weight, of_bias = _wide(grad), None, None, None
    if wanted[0]:  # a convolution with the taps in the other order
        back = Windows(wide, rank, taps, windows.stride, reach, windows.dilation)
        of_x = _convolved(back, _wide(weight).flip(list(range(2, weight.dim())))).to(x.dtype).contiguous()
    axes = [axis for axis in range(x.dim()) if axis != 1]
    if wanted[1]:
        sums = [(windows.part(place) * wide).sum(axes) for place in windows.places()]
        of_weight = torch.stack(sums, -1).view(weight.shape).to(weight.dtype)
    if wanted[2]:
        of_bias = wide.sum(axes).to(grad.dtype)
    return of_x, of_weight, of_bias


def _convolved(windows, weight):
    products = (
        windows.part(place) * _of_channels(weight[(slice(None), 0, *place)], windows) for place in windows.places()
    )
    return functools.reduce(operator.add, products)


def _of_channels(numbers, windows):
    return numbers.view(-1, *[1] * len(windows.axes))


def _fit(windows):
    return min(windows.counts) > 0 and min(windows.padding) >= 0


def _wide(x):
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _is_taken(x, weight, transposed, groups):
    if transposed or x.dim() != weight.dim() or x.dtype != weight.dtype or x.dtype not in _DTYPES:
        return False
    if not all(isinstance(size, int) and size > 0 for size in (*x.shape, *weight.shape)):
        return False
    outputs, inputs = weight.shape[0], x.shape[1]
    if groups != inputs or weight.shape[1] != 1 or (outputs != inputs and (inputs > 1 or outputs > _MOST_OF_ONE)):
        return False
    on_cpu, is_few = x.device.type == "cpu", inputs <= _FEW_CHANNELS
    if on_cpu and not is_few and x.dim() > 3:
        return False  # as fast by a library, whose vectors they fill
    in_rows = all(suggest_memory_format(each) == torch.contiguous_format for each in (x, weight))
    most = _MOST_TAPS_OF_FEW if on_cpu and is_few else _MOST_TAPS
    return in_rows and x.shape[-1] >= _LEAST_ROW and math.prod(weight.shape[2:]) <= most
