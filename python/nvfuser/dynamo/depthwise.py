"""Convolutions of each channel by itself, with few taps (blurs, edges, causal filters), as sums of products, which are
fused with what is around them. A library reads and writes all of memory for each; on a CPU it turns channels for its
vectors first, of which a picture has three.

    conv1d(x, w, padding=1, groups=c), three taps      y = pad(x, (1, 1))
                                                       y[..., :-2] * w[:, :, 0] + y[..., 1:-1] * w[:, :, 1]
                                                                                + y[..., 2:] * w[:, :, 2]

So are those of one channel to a few. Half precision is summed in float32, and rounded once, as the library does.
"""

import functools
import itertools
import math
import operator

import torch
from torch._prims_common import suggest_memory_format

aten = torch.ops.aten

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
    windows = _Windows(weight, stride, padding, dilation)
    if not windows.fit(x):
        return NotImplemented  # PyTorch says what is wrong
    factors = _wide(weight)
    total = _total(windows.of(_wide(x), place) * windows.factor(factors, place) for place in windows.places())
    if bias is not None:
        total = total + windows.spread(_wide(bias))
    return total.to(x.dtype).contiguous()


def depthwise_backward(
    grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted
):
    """Its gradients, of windows at every place; NotImplemented where the convolution is a library's."""
    if not _is_taken(x, weight, transposed, groups) or x.shape[1] != weight.shape[0] or grad.dtype != x.dtype:
        return NotImplemented
    if x.device.type == "cpu" and x.dim() > 3 and x.shape[1] > _FEW_CHANNELS:
        return NotImplemented  # the library has both gradients at once
    windows = _Windows(weight, stride, padding, dilation)
    if not windows.fit(x) or not windows.reach_back():
        return NotImplemented
    wide, of_x, of_weight, of_bias = _wide(grad), None, None, None
    if wanted[0]:
        back, factors = windows.back(), _wide(weight).flip(list(range(2, weight.dim())))
        of_x = _total(back.of(wide, place) * back.factor(factors, place) for place in back.places())
        of_x = of_x.to(x.dtype).contiguous()
    axes = [axis for axis in range(x.dim()) if axis != 1]
    if wanted[1]:
        source = _wide(x)
        sums = [(windows.of(source, place) * wide).sum(axes) for place in windows.places()]
        of_weight = torch.stack(sums, -1).view(weight.shape).to(weight.dtype)
    if wanted[2]:
        of_bias = wide.sum(axes).to(grad.dtype)
    return of_x, of_weight, of_bias


class _Windows:
    """The windows of a convolution: what each tap reads."""

    def __init__(self, weight, stride, padding, dilation):
        self.taps = list(weight.shape[2:])
        self.rank = len(self.taps)
        each = (list(numbers) * (self.rank // len(numbers)) for numbers in (stride, padding, dilation))
        self.stride, self.padding, self.dilation = each

    def _axes(self):
        return zip(self.taps, self.stride, self.padding, self.dilation, strict=True)

    def sizes(self, x):
        """Of the result."""
        return [
            (size + 2 * p - d * (k - 1) - 1) // s + 1
            for size, (k, s, p, d) in zip(x.shape[2:], self._axes(), strict=True)
        ]

    def fit(self, x):
        return min(self.sizes(x)) > 0 and min(self.padding) >= 0

    def reach_back(self):
        """Whether the gradient is a convolution with the taps in the other order."""
        return all(s == 1 and p <= d * (k - 1) for k, s, p, d in self._axes())

    def back(self):
        other = _Windows.__new__(_Windows)
        other.taps, other.rank, other.stride, other.dilation = self.taps, self.rank, self.stride, self.dilation
        other.padding = [d * (k - 1) - p for k, _, p, d in self._axes()]
        return other

    def places(self):
        return itertools.product(*map(range, self.taps))

    def of(self, x, place):
        """What the tap at `place` reads of x."""
        sizes = self.sizes(x)
        if any(self.padding):
            x = aten.constant_pad_nd(x, [p for each in reversed(self.padding) for p in (each, each)], 0)
        for axis, (at, size, (_, s, _, d)) in enumerate(zip(place, sizes, self._axes(), strict=True)):
            x = aten.slice(x, axis + 2, at * d, at * d + (size - 1) * s + 1, s)
        return x

    def factor(self, weight, place):
        return self.spread(weight[(slice(None), 0, *place)])

    def spread(self, of_channels):
        return of_channels.view(-1, *[1] * self.rank)


def _wide(x):
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _total(parts):
    return functools.reduce(operator.add, parts)


def _is_taken(x, weight, transposed, groups):
    if transposed or x.dim() != weight.dim() or x.dtype != weight.dtype or x.dtype not in _DTYPES:
        return False
    if not all(isinstance(size, int) and size > 0 for size in (*x.shape, *weight.shape)):
        return False
    outputs, inputs = weight.shape[0], x.shape[1]
    if groups != inputs or weight.shape[1] != 1 or (outputs != inputs and (inputs > 1 or outputs > _MOST_OF_ONE)):
        return False
    is_few = x.device.type == "cpu" and inputs <= _FEW_CHANNELS
    in_rows = all(suggest_memory_format(each) == torch.contiguous_format for each in (x, weight))
    most = _MOST_TAPS_OF_FEW if is_few else _MOST_TAPS
    return in_rows and x.shape[-1] >= _LEAST_ROW and math.prod(weight.shape[2:]) <= most
