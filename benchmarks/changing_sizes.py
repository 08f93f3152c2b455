"""What calls cost whose sizes change: the first one, one of sizes not seen before, one of the same sizes again.

PYTHONPATH=build/python python benchmarks/changing_sizes.py [--device cpu|cuda]

A row for each definition, all with symbolic sizes. First: with nothing kept on disk, the compiler's time included.
New sizes: the median of 200 shapes after the kernels are there. Again: the best of many rounds. The last column has
batches of one and empty ones, too, which may need kernels of their own: the longest call.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("NVFUSER_CACHE_MB", "0")

import torch
from nvfuser_direct import FusionDefinition


def tensors(fd, *ranks):
    return [fd.define_tensor([-1] * rank, [True] * rank) for rank in ranks]


def product(fd):
    x, y = tensors(fd, 2, 2)
    fd.add_output(fd.ops.mul(x, y))


def gelu_of_bias(fd):
    x, bias = tensors(fd, 2, 1)
    y = fd.ops.add(x, fd.ops.broadcast(bias, [True, False]))
    inner = fd.ops.mul(fd.ops.add(fd.ops.mul(fd.ops.mul(y, y), 0.044715), 1.0), fd.ops.mul(y, 0.79788456))
    fd.add_output(fd.ops.mul(fd.ops.mul(y, 0.5), fd.ops.add(fd.ops.tanh(inner), 1.0)))


def layer_norm(fd):
    x, weight = tensors(fd, 2, 1)
    var, mean = fd.ops.var_mean(x, [1], 0, True)
    centred = fd.ops.mul(fd.ops.sub(x, mean), fd.ops.rsqrt(fd.ops.add(var, 1e-5)))
    fd.add_output(fd.ops.mul(centred, fd.ops.broadcast(weight, [True, False])))


def softmax(fd):
    (x,) = tensors(fd, 2)
    e = fd.ops.exp(fd.ops.sub(x, fd.ops.max(x, [1], True)))
    fd.add_output(fd.ops.div(e, fd.ops.sum(e, [1], True)))


def neighbours(fd):
    (x,) = tensors(fd, 2)
    rows, columns = fd.ops.size(x, 0), fd.ops.size(x, 1)
    all_but_last = fd.ops.slice(x, [0, 0], [fd.ops.sub(rows, 1), columns])
    fd.add_output(fd.ops.add(fd.ops.slice(x, [1, 0], [rows, columns]), all_but_last))


def chain(fd):
    x, y = tensors(fd, 2, 2)
    for _ in range(50):
        x = fd.ops.add(fd.ops.mul(x, y), y)
    fd.add_output(x)


DEFINITIONS = {  # and the inputs for rows and columns
    product: lambda n, m: [(n, m), (n, m)],
    gelu_of_bias: lambda n, m: [(n, m), (m,)],
    layer_norm: lambda n, m: [(n, m), (m,)],
    softmax: lambda n, m: [(n, m)],
    neighbours: lambda n, m: [(n, m)],
    chain: lambda n, m: [(n, m), (n, m)],
}


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(define, shapes, device):
    def arguments(n, m):
        return [torch.randn(shape, device=device) for shape in shapes(n, m)]

    def run(n, m):
        inputs = arguments(n, m)
        return seconds(lambda: fd.execute(inputs))

    with FusionDefinition() as fd:
        define(fd)
    first = run(32, 64)
    for n, m in [(16, 48), (40, 96), (8, 56), (24, 72)]:
        run(n, m)
    new = statistics.median(run(2 + i % 37, 2 + 4 * (i // 4)) for i in range(200))
    inputs = arguments(32, 64)
    again = min(seconds(lambda: [fd.execute(inputs) for _ in range(100)]) / 100 for _ in range(100))
    small = [run(n, m) for n, m in [(2, 64), (1, 64), (0, 64), (3, 64), (1, 32), (1, 2), (0, 2)]]
    return first, new, again, max(small)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'':16}{'first, ms':>12}{'new sizes, us':>16}{'again, us':>12}{'worst of 1, 0, ms':>20}")
    for define, shapes in DEFINITIONS.items():
        first, new, again, small = measure(define, shapes, options.device)
        print(f"{define.__name__:16}{first * 1e3:12.1f}{new * 1e6:16.1f}{again * 1e6:12.2f}{small * 1e3:20.1f}")


if __name__ == "__main__":
    main()
