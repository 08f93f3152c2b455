"""Kernels of the CPU in a program that runs PyTorch: `fd.execute` beside eager PyTorch and Inductor.

    PYTHONPATH=build/python python benchmarks/beside_pytorch.py [--only TEXT] [--alone] [--without-inductor]

Before each call an operation of PyTorch writes 64 MB: it empties the caches and leaves PyTorch's threads as a program
leaves them, awake and looking for work. With `--alone` nothing runs before a call, and the data is in the caches. Each
call allocates its outputs. Medians of calls in turns, so that what else runs on the machine meets all three alike.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from nvfuser_direct import DataType, FusionDefinition

DTYPES = {torch.bfloat16: DataType.BFloat16, torch.float32: DataType.Float}
FLUSH_BYTES = 64 << 20


@dataclass
class Case:
    name: str
    define: Callable  # (fd, tensors as fd has them) → results
    eager: Callable
    inputs: list


def random(*sizes, dtype=torch.bfloat16):
    return torch.randn(*sizes).to(dtype)


def name_of(words, x):
    kind = "bf16" if x.dtype == torch.bfloat16 else "f32"
    return f"{words} {kind} {'x'.join(map(str, x.shape))}"


def wide(fd, x):
    return fd.ops.cast(x, DataType.Float)


def narrow(fd, x):
    return fd.ops.cast(x, DataType.BFloat16)


def multiply(rows, row, dtype=torch.bfloat16):
    x, y = random(rows, row, dtype=dtype), random(rows, row, dtype=dtype)

    def define(fd, x, y):
        product = fd.ops.mul(wide(fd, x), wide(fd, y))
        return [product if dtype == torch.float32 else narrow(fd, product)]

    return Case(name_of("multiply", x), define, lambda x, y: x * y, [x, y])


def softmax(rows, row):
    def define(fd, x):
        x = wide(fd, x)
        shifted = fd.ops.sub(x, fd.ops.max(x, [1], keepdim=True))
        powers = fd.ops.exp(shifted)
        return [narrow(fd, fd.ops.div(powers, fd.ops.sum(powers, [1], keepdim=True)))]

    x = random(rows, row)
    return Case(name_of("softmax", x), define, lambda x: F.softmax(x, -1), [x])


def rms_norm(rows, row):
    def define(fd, x, weight):
        x = wide(fd, x)
        mean = fd.ops.div(fd.ops.sum(fd.ops.mul(x, x), [1], keepdim=True), fd.define_scalar(float(row)))
        scale = fd.ops.rsqrt(fd.ops.add(mean, fd.define_scalar(1e-5)))
        return [narrow(fd, fd.ops.mul(fd.ops.mul(x, scale), wide(fd, weight)))]

    x = random(rows, row)
    return Case(name_of("RMS norm", x), define, lambda x, w: F.rms_norm(x, (row,), w, 1e-5), [x, random(row)])


def layer_norm(rows, row):
    def define(fd, x, weight, bias):
        x = wide(fd, x)
        var, mean = fd.ops.var_mean(x, [1], 0, True)
        scale = fd.ops.rsqrt(fd.ops.add(var, fd.define_scalar(1e-5)))
        normal = fd.ops.mul(fd.ops.sub(x, mean), scale)
        return [narrow(fd, fd.ops.add(fd.ops.mul(normal, wide(fd, weight)), wide(fd, bias)))]

    def eager(x, weight, bias):
        return F.layer_norm(x, (row,), weight, bias)

    x = random(rows, row)
    return Case(name_of("layer norm by var_mean", x), define, eager, [x, random(row), random(row)])


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
    inputs = [dy, x, *(moment.to(x.dtype) for moment in moments), random(row)]
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


def sum_of_rows(rows, row):
    def define(fd, x):
        return [narrow(fd, fd.ops.sum(wide(fd, x), [1]))]

    x = random(rows, row)
    return Case(name_of("sum of rows", x), define, lambda x: x.sum(1), [x])


def cases():
    yield multiply(16, 4096)
    yield multiply(32, 4096)
    yield multiply(128, 8192)
    yield multiply(128, 2730, torch.float32)
    yield softmax(16, 4096)
    yield softmax(128, 5121)
    yield softmax(256, 8192)
    yield rms_norm(16, 4096)
    yield layer_norm(256, 4096)
    yield layer_norm_backward(32, 16384)
    yield cross_entropy(64, 32000)
    yield sum_of_rows(256, 8192)


def fused(case):
    """A call of the fusion, with the eager function's results as a check."""
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(x) for x in case.inputs]
        for result in case.define(fd, *tensors):
            fd.add_output(result)
    results, wanted = fd.execute(case.inputs), case.eager(*case.inputs)
    for result, other in zip(results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        torch.testing.assert_close(result.reshape(other.shape), other, rtol=5e-2, atol=0.3)
    return lambda: fd.execute(case.inputs)


def measure(case, arguments):
    """Median microseconds of each way to compute the case."""
    calls = {"ours": fused(case), "eager": lambda: case.eager(*case.inputs)}
    if not arguments.without_inductor:
        torch._dynamo.reset()
        compiled = torch.compile(case.eager, dynamic=False)
        compiled(*case.inputs)
        calls["inductor"] = lambda: compiled(*case.inputs)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8)
    times = {name: [] for name in calls}
    for _ in range(arguments.rounds):
        for name, call in calls.items():
            if arguments.alone:
                call()
            else:
                flush.zero_()
            begin = time.perf_counter()
            call()
            times[name].append((time.perf_counter() - begin) * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--alone", action="store_true", help="nothing of PyTorch before a call")
    parser.add_argument("--without-inductor", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    for case in cases():
        if arguments.only in case.name:
            found = measure(case, arguments)
            best = min(value for name, value in found.items() if name != "ours")
            rows.append((best / found["ours"], found["eager"] / found["ours"], case.name, found))
    rows.sort(key=lambda row: row[0])
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; microseconds, losers first")
    columns = list(rows[0][3]) if rows else []
    print(f"{'case':38}", *(f"{name:>9}" for name in columns), f"{'of eager':>9} {'of best':>8}")
    for of_best, of_eager, name, found in rows:
        print(f"{name:38}", *(f"{found[column]:9.1f}" for column in columns), f"{of_eager:9.2f} {of_best:8.2f}")


if __name__ == "__main__":
    main()
