"""Programs of a model, each as a fusion and in PyTorch: what `beside_pytorch.py` and `sweep.py` measure.

Inputs lie on PyTorch's default device.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from nvfuser_direct import DataType


@dataclass
class Case:
    name: str
    define: Callable  # (fd, tensors as fd has them) → results
    eager: Callable
    inputs: list
    drawn: bool = False  # results are random


def random(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes).to(dtype)


def name_of(words, x):
    kind = "bf16" if x.dtype == torch.bfloat16 else "f32"
    return f"{words} {kind} {'x'.join(map(str, x.shape))}"


def wide(fd, x):
    return fd.ops.cast(x, DataType.Float)


def narrow(fd, x):
    return fd.ops.cast(x, DataType.BFloat16)


def stored(fd, x, dtype):
    """A result in the dtype of the case."""
    return x if dtype == torch.float32 else narrow(fd, x)


def multiply(rows, row, dtype=torch.bfloat16):
    x, y = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)

    def define(fd, x, y):
        return [stored(fd, fd.ops.mul(wide(fd, x), wide(fd, y)), dtype)]

    return Case(name_of("multiply", x), define, lambda x, y: x * y, [x, y])


def bias_gelu(rows, row, dtype=torch.bfloat16):
    def define(fd, x, bias):
        x = fd.ops.add(wide(fd, x), wide(fd, bias))
        inner = fd.ops.mul(
            x, fd.ops.add(fd.ops.mul(fd.ops.mul(x, x), fd.define_scalar(0.044715)), fd.define_scalar(1.0))
        )
        gate = fd.ops.add(fd.ops.tanh(fd.ops.mul(inner, fd.define_scalar(0.7978845608))), fd.define_scalar(1.0))
        return [stored(fd, fd.ops.mul(fd.ops.mul(x, fd.define_scalar(0.5)), gate), dtype)]

    x = random(rows, row, dtype=dtype)
    eager = lambda x, bias: F.gelu(x + bias, approximate="tanh")  # noqa: E731
    return Case(name_of("bias + gelu", x), define, eager, [x, random(row, dtype=dtype)])


def silu_multiply(rows, row, dtype=torch.bfloat16):
    def define(fd, x, y):
        x = wide(fd, x)
        return [stored(fd, fd.ops.mul(fd.ops.mul(x, fd.ops.sigmoid(x)), wide(fd, y)), dtype)]

    x, y = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)
    return Case(name_of("silu(x) * y", x), define, lambda x, y: F.silu(x) * y, [x, y])


def scale_bias_relu(rows, row, dtype=torch.bfloat16):
    def define(fd, x, scale, bias):
        return [stored(fd, fd.ops.relu(fd.ops.add(fd.ops.mul(wide(fd, x), wide(fd, scale)), wide(fd, bias))), dtype)]

    x = random(rows, row, dtype=dtype)
    inputs = [x, random(row, dtype=dtype), random(row, dtype=dtype)]
    return Case(name_of("scale, bias, relu", x), define, lambda x, s, b: torch.relu(x * s + b), inputs)


def transpose(rows, row, dtype=torch.bfloat16):
    def define(fd, x, y):
        total = fd.ops.relu(fd.ops.add(wide(fd, x), wide(fd, y)))
        return [stored(fd, fd.ops.permute(total, [1, 0]), dtype)]

    x, y = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)
    eager = lambda x, y: torch.relu(x + y).t().contiguous()  # noqa: E731
    return Case(name_of("transpose of relu(x + y)", x), define, eager, [x, y])


def dropout(rows, row, dtype=torch.bfloat16):
    def define(fd, x):
        low, high = fd.define_scalar(0.0), fd.define_scalar(1.0)
        kept = fd.ops.lt(fd.ops.uniform(low, high, x.shape(), dtype=DataType.Float), fd.define_scalar(0.9))
        scaled = fd.ops.mul(wide(fd, x), fd.define_scalar(1 / 0.9))
        return [stored(fd, fd.ops.where(kept, scaled, fd.define_scalar(0.0)), dtype)]

    x = random(rows, row, dtype=dtype)
    return Case(name_of("dropout", x), define, lambda x: F.dropout(x, 0.1), [x], drawn=True)


def batch_norm(n, channels, height, dtype=torch.float32, last=False):
    def define(fd, x, weight, bias):
        x = wide(fd, x)
        var, mean = fd.ops.var_mean(x, [0, 2, 3], 0, True)
        scale = fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5)))
        along = lambda w: fd.ops.broadcast_in_dim(wide(fd, w), [1, channels, 1, 1], [1])  # noqa: E731
        normal = fd.ops.mul(fd.ops.sub(x, mean), scale)
        return [stored(fd, fd.ops.add(fd.ops.mul(normal, along(weight)), along(bias)), dtype)]

    x = random(n, channels, height, height, dtype=dtype)
    if last:
        x = x.to(memory_format=torch.channels_last)
    eager = lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)  # noqa: E731
    words = "batch norm, channels " + ("last" if last else "first")
    return Case(name_of(words, x), define, eager, [x, random(channels, dtype=dtype), random(channels, dtype=dtype)])


def softmax(rows, row, dtype=torch.bfloat16, axis=1):
    def define(fd, x):
        x = wide(fd, x)
        shifted = fd.ops.sub(x, fd.ops.max(x, [axis], keepdim=True))
        powers = fd.ops.exp(shifted)
        return [stored(fd, fd.ops.div(powers, fd.ops.sum(powers, [axis], keepdim=True)), dtype)]

    x = random(rows, row, dtype=dtype)
    words = "softmax" if axis == 1 else "softmax of columns"
    return Case(name_of(words, x), define, lambda x: F.softmax(x, axis), [x])


def rms_norm(rows, row, dtype=torch.bfloat16):
    def define(fd, x, weight):
        x = wide(fd, x)
        mean = fd.ops.div(fd.ops.sum(fd.ops.mul(x, x), [1], keepdim=True), fd.define_scalar(float(row)))
        scale = fd.ops.rsqrt(fd.ops.add(mean, fd.define_scalar(1e-5)))
        return [stored(fd, fd.ops.mul(fd.ops.mul(x, scale), wide(fd, weight)), dtype)]

    x = random(rows, row, dtype=dtype)
    eager = lambda x, w: F.rms_norm(x, (row,), w, 1e-5)  # noqa: E731
    return Case(name_of("RMS norm", x), define, eager, [x, random(row, dtype=dtype)])


def layer_norm(rows, row, dtype=torch.bfloat16):
    def define(fd, x, weight, bias):
        x = wide(fd, x)
        var, mean = fd.ops.var_mean(x, [1], 0, True)
        scale = fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5)))
        normal = fd.ops.mul(fd.ops.sub(x, mean), scale)
        return [stored(fd, fd.ops.add(fd.ops.mul(normal, wide(fd, weight)), wide(fd, bias)), dtype)]

    def eager(x, weight, bias):
        return F.layer_norm(x, (row,), weight, bias)

    x = random(rows, row, dtype=dtype)
    return Case(
        name_of("layer norm by var_mean", x), define, eager, [x, random(row, dtype=dtype), random(row, dtype=dtype)]
    )


def layer_norm_in_passes(rows, row, dtype=torch.bfloat16):
    """The variance as the mean of squared distances, written out."""

    def define(fd, x, weight, bias):
        x, count = wide(fd, x), fd.define_scalar(float(row))
        mean = fd.ops.div(fd.ops.sum(x, [1], keepdim=True), count)
        distance = fd.ops.sub(x, mean)
        var = fd.ops.div(fd.ops.sum(fd.ops.mul(distance, distance), [1], keepdim=True), count)
        normal = fd.ops.mul(distance, fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5))))
        return [stored(fd, fd.ops.add(fd.ops.mul(normal, wide(fd, weight)), wide(fd, bias)), dtype)]

    case = layer_norm(rows, row, dtype)
    return Case(name_of("layer norm in passes", case.inputs[0]), define, case.eager, case.inputs)


def dropout_add_layer_norm(rows, row, dtype=torch.bfloat16):
    def define(fd, x, residual, weight, bias):
        low, high = fd.define_scalar(0.0), fd.define_scalar(1.0)
        kept = fd.ops.lt(fd.ops.uniform(low, high, x.shape(), dtype=DataType.Float), fd.define_scalar(0.9))
        scaled = fd.ops.mul(wide(fd, x), fd.define_scalar(1 / 0.9))
        total = fd.ops.add(fd.ops.where(kept, scaled, fd.define_scalar(0.0)), wide(fd, residual))
        var, mean = fd.ops.var_mean(total, [1], 0, True)
        normal = fd.ops.mul(fd.ops.sub(total, mean), fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5))))
        return [stored(fd, fd.ops.add(fd.ops.mul(normal, wide(fd, weight)), wide(fd, bias)), dtype)]

    def eager(x, residual, weight, bias):
        return F.layer_norm(F.dropout(x, 0.1) + residual, (row,), weight, bias)

    inputs = [random(rows, row, dtype=dtype) for _ in range(2)] + [random(row, dtype=dtype) for _ in range(2)]
    return Case(name_of("dropout + add + layer norm", inputs[0]), define, eager, inputs, drawn=True)


def add_rms_norm(rows, row, dtype=torch.bfloat16):
    """The norm of a sum that is a result, too."""

    def define(fd, x, residual, weight):
        total = fd.ops.add(wide(fd, x), wide(fd, residual))
        total_out = stored(fd, total, dtype)
        total = wide(fd, total_out)
        mean = fd.ops.div(fd.ops.sum(fd.ops.mul(total, total), [1], keepdim=True), fd.define_scalar(float(row)))
        scale = fd.ops.rsqrt(fd.ops.add(mean, fd.define_scalar(1e-5)))
        return [stored(fd, fd.ops.mul(fd.ops.mul(total, scale), wide(fd, weight)), dtype), total_out]

    def eager(x, residual, weight):
        total = x + residual
        return F.rms_norm(total, (row,), weight, 1e-5), total

    x, residual = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)
    return Case(name_of("add + RMS norm", x), define, eager, [x, residual, random(row, dtype=dtype)])


def rms_norm_backward(rows, row, dtype=torch.bfloat16):
    def define(fd, dy, x, rstd, weight):
        dy, x, weight = (wide(fd, tensor) for tensor in (dy, x, weight))
        normal = fd.ops.mul(x, rstd)
        scaled = fd.ops.mul(dy, weight)
        b = fd.ops.sum(fd.ops.mul(scaled, normal), [1], keepdim=True)
        b = fd.ops.div(b, fd.define_scalar(float(row)))
        dx = fd.ops.mul(fd.ops.sub(scaled, fd.ops.mul(normal, b)), rstd)
        return [stored(fd, result, dtype) for result in (dx, fd.ops.sum(fd.ops.mul(dy, normal), [0]))]

    def eager(dy, x, rstd, weight):
        normal = x.float() * rstd
        scaled = dy.float() * weight.float()
        b = (scaled * normal).mean(-1, keepdim=True)
        return ((scaled - normal * b) * rstd).to(x.dtype), (dy.float() * normal).sum(0).to(x.dtype)

    x, dy = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)
    rstd = torch.rsqrt(x.float().square().mean(1, keepdim=True) + 1e-5)
    return Case(name_of("RMS norm backward", x), define, eager, [dy, x, rstd, random(row, dtype=dtype)])


def bias_gelu_backward(rows, row, dtype=torch.bfloat16):
    def define(fd, dy, x, bias):
        constant = lambda value: fd.define_scalar(value)  # noqa: E731
        x = fd.ops.add(wide(fd, x), wide(fd, bias))
        square = fd.ops.mul(x, x)
        inner = fd.ops.mul(
            fd.ops.mul(x, constant(0.7978845608)), fd.ops.add(fd.ops.mul(square, constant(0.044715)), constant(1.0))
        )
        gate = fd.ops.tanh(inner)
        slope = fd.ops.mul(
            fd.ops.sub(constant(1.0), fd.ops.mul(gate, gate)),
            fd.ops.add(fd.ops.mul(square, constant(3 * 0.044715 * 0.7978845608)), constant(0.7978845608)),
        )
        half = fd.ops.mul(fd.ops.add(gate, constant(1.0)), constant(0.5))
        whole = fd.ops.add(half, fd.ops.mul(fd.ops.mul(x, constant(0.5)), slope))
        dx = fd.ops.mul(wide(fd, dy), whole)
        return [stored(fd, dx, dtype), stored(fd, fd.ops.sum(dx, [0]), dtype)]

    def eager(dy, x, bias):
        dx = torch.ops.aten.gelu_backward(dy.float(), x.float() + bias.float(), approximate="tanh")
        return dx.to(x.dtype), dx.sum(0).to(x.dtype)

    dy, x = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)
    return Case(name_of("bias + gelu backward", x), define, eager, [dy, x, random(row, dtype=dtype)])


def silu_multiply_backward(rows, row, dtype=torch.bfloat16):
    def define(fd, dz, x, y):
        dz, x, y = wide(fd, dz), wide(fd, x), wide(fd, y)
        gate = fd.ops.sigmoid(x)
        rest = fd.ops.mul(x, fd.ops.sub(fd.define_scalar(1.0), gate))
        slope = fd.ops.mul(gate, fd.ops.add(rest, fd.define_scalar(1.0)))
        dx = fd.ops.mul(fd.ops.mul(dz, y), slope)
        return [stored(fd, result, dtype) for result in (dx, fd.ops.mul(dz, fd.ops.mul(x, gate)))]

    def eager(dz, x, y):
        return torch.ops.aten.silu_backward(dz * y, x), dz * F.silu(x)

    inputs = [random(rows, row, dtype=dtype) for _ in range(3)]
    return Case(name_of("silu(x) * y backward", inputs[0]), define, eager, inputs)


def scale_bias_relu_backward(rows, row, dtype=torch.bfloat16):
    """From the result: the gradient where it is above zero, scaled."""

    def define(fd, dz, z, scale):
        zero = fd.define_scalar(0.0)
        passed = fd.ops.where(fd.ops.gt(wide(fd, z), zero), wide(fd, dz), zero)
        return [stored(fd, fd.ops.mul(passed, wide(fd, scale)), dtype)]

    def eager(dz, z, scale):
        return torch.ops.aten.threshold_backward(dz, z, 0) * scale

    inputs = [random(rows, row, dtype=dtype), random(rows, row, dtype=dtype), random(row, dtype=dtype)]
    return Case(name_of("scale, bias, relu backward", inputs[0]), define, eager, inputs)


def add_transposed(rows, row, dtype=torch.bfloat16):
    def define(fd, x, y):
        return [stored(fd, fd.ops.add(wide(fd, x), wide(fd, fd.ops.permute(y, [1, 0]))), dtype)]

    x, y = random(rows, row, dtype=dtype), random(row, rows, dtype=dtype)
    return Case(name_of("x + transpose(y)", x), define, lambda x, y: x + y.t(), [x, y])


def joined_halves(rows, row, dtype=torch.bfloat16):
    """Rotated halves of a row, one computed from the other: a join of two results."""

    def define(fd, x, cos, sin):
        half = row // 2
        a = wide(fd, fd.ops.slice(x, [0, 0], [rows, half]))
        b = wide(fd, fd.ops.slice(x, [0, half], [rows, row]))
        cos, sin = wide(fd, cos), wide(fd, sin)
        left = fd.ops.sub(fd.ops.mul(a, cos), fd.ops.mul(b, sin))
        right = fd.ops.add(fd.ops.mul(b, cos), fd.ops.mul(a, sin))
        return [stored(fd, fd.ops.cat([left, right], 1), dtype)]

    def eager(x, cos, sin):
        a, b = x.float().chunk(2, 1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], 1).to(x.dtype)

    x = random(rows, row, dtype=dtype)
    inputs = [x, random(rows, row // 2, dtype=dtype), random(rows, row // 2, dtype=dtype)]
    return Case(name_of("rotated halves joined", x), define, eager, inputs)


def permuted(sizes, order, dtype=torch.bfloat16):
    def define(fd, x):
        return [stored(fd, fd.ops.permute(fd.ops.relu(wide(fd, x)), order), dtype)]

    x = random(*sizes, dtype=dtype)
    eager = lambda x: torch.relu(x).permute(order).contiguous()  # noqa: E731
    return Case(name_of(f"permuted by {order}", x), define, eager, [x])


def layer_norm_backward(rows, row):
    def define(fd, dy, x, mean, rstd, weight):
        dy, x, mean, rstd, weight = (wide(fd, tensor) for tensor in (dy, x, mean, rstd, weight))
        normal = fd.ops.mul(fd.ops.sub(x, mean), rstd)
        scaled = fd.ops.mul(dy, weight)
        count = fd.define_scalar(float(row))
        a = fd.ops.div(fd.ops.sum(scaled, [1], keepdim=True), count)
        b = fd.ops.div(fd.ops.sum(fd.ops.mul(scaled, normal), [1], keepdim=True), count)
        dx = fd.ops.mul(fd.ops.sub(fd.ops.sub(scaled, a), fd.ops.mul(normal, b)), rstd)
        sums = (fd.ops.sum(fd.ops.mul(dy, normal), [0]), fd.ops.sum(dy, [0]))
        return [narrow(fd, result) for result in (dx, *sums)]

    def eager(dy, x, mean, rstd, weight):
        wanted = [True, True, True]
        return torch.ops.aten.native_layer_norm_backward(dy, x, [row], mean, rstd, weight, weight, wanted)

    x, dy = random(rows, row), random(rows, row)
    moments = (x.float().mean(1, keepdim=True), torch.rsqrt(x.float().var(1, keepdim=True) + 1e-5))
    # Moments are in float on a GPU, as eager's kernel has them there.
    inputs = [dy, x, *(moment if x.is_cuda else moment.to(x.dtype) for moment in moments), random(row)]
    return Case(name_of("layer norm backward", x), define, eager, inputs)


def cross_entropy(rows, classes):
    def define(fd, x, target):
        x = wide(fd, x)
        most = fd.ops.max(x, [1], keepdim=True)
        total = fd.ops.sum(fd.ops.exp(fd.ops.sub(x, most)), [1], keepdim=True)
        picked = fd.ops.take_along_axis(x, fd.ops.broadcast_in_dim(target, [rows, 1], [0]), 1)
        return [narrow(fd, fd.ops.sub(fd.ops.add(fd.ops.log(total), most), picked))]

    def eager(x, target):
        return F.cross_entropy(x, target, reduction="none")

    x = random(rows, classes)
    return Case(name_of("cross entropy", x), define, eager, [x, torch.randint(classes, (rows,))])


def sum_along(axes, rows, row, dtype=torch.bfloat16):
    def define(fd, x):
        return [stored(fd, fd.ops.sum(wide(fd, x), axes), dtype)]

    x = random(rows, row, dtype=dtype)
    words = {(1,): "sum of rows", (0,): "sum of columns", (0, 1): "sum of all"}[tuple(axes)]
    return Case(name_of(words, x), define, lambda x: x.sum(axes), [x])


def cases():
    f32 = torch.float32
    for sizes in ((16, 4096), (32, 4096), (128, 8192)):
        yield multiply(*sizes)
    yield multiply(128, 2730, f32)
    yield multiply(128, 8192, f32)
    for dtype in (torch.bfloat16, f32):
        yield bias_gelu(32, 4096, dtype)
        yield bias_gelu(256, 8192, dtype)
        yield silu_multiply(256, 8192, dtype)
        yield scale_bias_relu(256, 8192, dtype)
        yield transpose(128, 8192, dtype)
        yield dropout(256, 4096, dtype)
        yield batch_norm(4, 64, 28, dtype)
        yield batch_norm(4, 64, 28, dtype, last=True)
        yield batch_norm(1, 256, 56, dtype)
        for sizes in ((16, 4096), (2048, 197), (2048, 1024), (128, 5121), (256, 8192)):
            yield softmax(*sizes, dtype)
        yield softmax(128, 8192, dtype, axis=0)
        for sizes in ((16, 4096), (2048, 768), (128, 5121), (256, 8192)):
            yield rms_norm(*sizes, dtype)
            yield layer_norm(*sizes, dtype)
        yield sum_along([1], 256, 8192, dtype)
        yield sum_along([0], 256, 8192, dtype)
        yield sum_along([0, 1], 256, 8192, dtype)
    for sizes in ((32, 16384), (512, 2048), (256, 5122)):
        yield layer_norm_backward(*sizes)
    yield cross_entropy(64, 32000)
    yield cross_entropy(1024, 1000)
