"""What contraction gains: a*b+c of two operations in two roundings, as kernels have it, and in one (enable "fma").

    PYTHONPATH=build/python python benchmarks/contraction.py [--device cpu] [--only TEXT]

Each fusion is defined once and called in turns with either option: in float, at a size that stays in the caches and
at one that does not. Prints microseconds a call (medians) and how many times faster one rounding is, best first.
"""

import argparse
import statistics
import time
from functools import partial

import torch
from nvfuser_direct import DataType, FusionDefinition

ROUNDS = 9
SECONDS_OF_ROUND = 0.03
ROWS = (64, 8192)
COLUMNS = 1024


def gelu(ops, x):
    inner = ops.mul(ops.add(x, ops.mul(ops.mul(ops.mul(x, x), x), 0.044715)), 0.7978845608)
    return [ops.mul(ops.mul(x, 0.5), ops.add(ops.tanh(inner), 1.0))]


def gelu_erf(ops, x):
    return [ops.mul(ops.mul(x, 0.5), ops.add(ops.erf(ops.mul(x, 0.70710678118)), 1.0))]


def of_rows(ops, x, rows):
    return ops.broadcast(rows, [False, True])


def normal(ops, x):
    variance, mean = ops.var_mean(x, [1], 0)
    scale = ops.rsqrt(ops.add(variance, 1e-5))
    return ops.mul(ops.sub(x, of_rows(ops, x, mean)), of_rows(ops, x, scale)), scale


def layer_norm(ops, x, weight, bias):
    of_all = [ops.broadcast(row, [True, False]) for row in (weight, bias)]
    return [ops.add(ops.mul(normal(ops, x)[0], of_all[0]), of_all[1])]


def layer_norm_backward(ops, x, dy, weight):
    xhat, scale = normal(ops, x)
    slope = ops.mul(dy, ops.broadcast(weight, [True, False]))
    along = ops.mul(ops.sum(ops.mul(slope, xhat), [1]), 1 / COLUMNS)
    mean = ops.mul(ops.sum(slope, [1]), 1 / COLUMNS)
    rest = ops.sub(ops.sub(slope, of_rows(ops, x, mean)), ops.mul(xhat, of_rows(ops, x, along)))
    return [ops.mul(rest, of_rows(ops, x, scale)), ops.sum(ops.mul(dy, xhat), [0]), ops.sum(dy, [0])]


def softmax(ops, x):
    scaled = ops.mul(x, 0.125)
    powers = ops.exp(ops.sub(scaled, of_rows(ops, x, ops.max(scaled, [1]))))
    return [ops.div(powers, of_rows(ops, x, ops.sum(powers, [1])))]


def adam(ops, p, g, m, v):
    m = ops.add(ops.mul(m, 0.9), ops.mul(g, 0.1))
    v = ops.add(ops.mul(v, 0.999), ops.mul(ops.mul(g, g), 0.001))
    step = ops.div(ops.mul(m, 0.01), ops.add(ops.sqrt(ops.mul(v, 1000.0)), 1e-8))
    return [ops.sub(p, step), m, v]


def polynomial(ops, x):
    y = ops.mul(x, 0.5)
    for i in range(16):
        y = ops.mul(ops.add(y, 0.1 + i / 100), x)
    return [y]


def dot(ops, x, y):
    return [ops.sum(ops.mul(x, y), [1])]


FUSIONS = {  # formula, and how many of its inputs are matrices and rows
    "GELU (tanh)": (gelu, 1, 0),
    "GELU (erf)": (gelu_erf, 1, 0),
    "layer norm": (layer_norm, 1, 2),
    "layer norm, gradients": (layer_norm_backward, 2, 1),
    "softmax of x * s": (softmax, 1, 0),
    "Adam step": (adam, 4, 0),
    "polynomial, degree 16": (polynomial, 1, 0),
    "dot products": (dot, 2, 0),
}


def define(name):
    formula, matrices, rows = FUSIONS[name]
    with FusionDefinition() as fd:
        shapes = [[-1, COLUMNS]] * matrices + [[COLUMNS]] * rows
        inputs = [fd.define_tensor(s, [True] * len(s), dtype=DataType.Float) for s in shapes]
        for output in formula(fd.ops, *inputs):
            fd.add_output(output)
    return fd


def seconds(call, count, device):
    """Of one call, in `count` of them."""
    begin = time.perf_counter()
    for _ in range(count):
        call()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", default="", help="fusions whose name has this text")
    options = parser.parse_args()
    lines = []
    for name in (name for name in FUSIONS if options.only in name):
        fd = define(name)
        _, matrices, rows = FUSIONS[name]
        for count in ROWS:
            shapes = [(count, COLUMNS)] * matrices + [(COLUMNS,)] * rows
            inputs = [torch.rand(shape, device=options.device) for shape in shapes]
            calls = [partial(fd.execute, inputs, _enable_options=enable) for enable in ([], ["fma"])]
            warm = [seconds(call, 2, options.device) for call in calls * 2][-1]
            repeats = max(1, int(SECONDS_OF_ROUND / warm))
            rounds = [[seconds(call, repeats, options.device) for call in calls] for _ in range(ROUNDS)]
            two, one = (statistics.median(times) * 1e6 for times in zip(*rounds, strict=True))
            gain = statistics.median(a / b for a, b in rounds)
            lines.append((gain, f"{name:24} {count:5} x {COLUMNS}  {two:10.1f} {one:10.1f} {gain:8.2f}"))
    print(f"{'fusion':24} {'size':>12}  {'two, µs':>10} {'one, µs':>10} {'two/one':>8}")
    for _, line in sorted(lines, reverse=True):
        print(line)


if __name__ == "__main__":
    main()
