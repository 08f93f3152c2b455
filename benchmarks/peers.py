"""The families of automatic.cpp in PyTorch: eager, torch.compile and its max-autotune.

    python benchmarks/peers.py [--device cpu] [--only TEXT] [--modes eager,compile,autotune] [--ours FILE]

Each run is timed in turns with a copy of the same bytes (each input read once, each output written once): on a
GPU with events, where a spin kernel before each round keeps the host ahead, on the CPU (a sixteenth of the rows,
as in automatic.cpp) with the clock. With `--ours`, the table that
`bench_automatic` printed on the same machine is joined by name and the ratio to the best peer is printed,
losers first.
"""

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

ROUNDS = 5
REPEATS = 10
SPIN_CYCLES = 4_000_000


@dataclass
class Case:
    name: str
    function: Callable
    sizes: list
    dtype: torch.dtype
    classes: int = 0  # the last input holds numbers below this; 0: it is like the others


DTYPES = {torch.bfloat16: "__bfloat", torch.float32: "float"}


def sum_to(x, axes):
    return x.float().sum(axes).to(x.dtype)


def rms_norm(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5) * weight.float()).to(x.dtype)


def layer_norm_backward(dy, x, mean, rstd, weight, bias):
    mean, rstd = mean.float()[:, None], rstd.float()[:, None]
    normal = (x.float() - mean) * rstd
    scaled = dy.float() * weight.float()
    a, b = scaled.mean(-1, keepdim=True), (scaled * normal).mean(-1, keepdim=True)
    dx = (scaled - a - normal * b) * rstd
    return dx.to(x.dtype), (dy.float() * normal).sum(0).to(x.dtype), dy.float().sum(0).to(x.dtype)


def rms_norm_backward(dy, x, rstd, weight):
    rstd = rstd.float()[:, None]
    normal = x.float() * rstd
    scaled = dy.float() * weight.float()
    dx = (scaled - normal * (scaled * normal).mean(-1, keepdim=True)) * rstd
    return dx.to(x.dtype), (dy.float() * normal).sum(0).to(x.dtype)


def norm_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    yield Case("softmax" + of, lambda x: F.softmax(x, -1), [(rows, row)], dtype)
    layer_norm = lambda x, w, b: F.layer_norm(x, (row,), w, b)  # noqa: E731
    yield Case("layer norm" + of, layer_norm, [(rows, row), (row,), (row,)], dtype)
    yield Case("RMS norm" + of, rms_norm, [(rows, row), (row,)], dtype)


def sum_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    yield Case("sum of rows" + of, lambda x: sum_to(x, 1), [(rows, row)], dtype)
    yield Case("sum of columns" + of, lambda x: sum_to(x, 0), [(rows, row)], dtype)
    yield Case("sum of all" + of, lambda x: x.float().sum(), [(rows, row)], dtype)


def gradient_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    pair = [(rows, row), (rows, row)]
    yield Case("layer norm backward" + of, layer_norm_backward, [*pair, (rows,), (rows,), (row,), (row,)], dtype)
    yield Case("RMS norm backward" + of, rms_norm_backward, [*pair, (rows,), (row,)], dtype)


def transpose_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    pair = [(rows, row), (rows, row)]
    yield Case("transpose of relu(x + y)" + of, lambda x, y: torch.relu(x + y).t().contiguous(), pair, dtype)
    yield Case("x + transpose(y)" + of, lambda x, y: x + y.t(), [(rows, row), (row, rows)], dtype)


def activation_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    one, pair = (rows, row), [(rows, row), (rows, row)]
    yield Case("multiply" + of, lambda x, y: x * y, pair, dtype)
    yield Case("bias + gelu" + of, lambda x, b: F.gelu(x + b, approximate="tanh"), [one, (row,)], dtype)
    yield Case("bias + gelu backward" + of, bias_gelu_backward, [*pair, (row,)], dtype)
    yield Case("silu(x) * y" + of, lambda x, y: F.silu(x) * y, pair, dtype)
    yield Case("silu(x) * y backward" + of, silu_mul_backward, [*pair, one], dtype)
    scaled = lambda x, scale, bias: torch.relu(x * scale + bias)  # noqa: E731
    yield Case("scale, bias, relu" + of, scaled, [one, (row,), (row,)], dtype)
    back = lambda dy, y, scale: torch.where(y > 0, dy, 0) * scale  # noqa: E731
    yield Case("scale, bias, relu backward" + of, back, [*pair, (row,)], dtype)


def bias_gelu_backward(dy, x, bias):
    dx = torch.ops.aten.gelu_backward(dy, x + bias, approximate="tanh")
    return dx, sum_to(dx, 0)


def silu_mul_backward(dz, x, y):
    return torch.ops.aten.silu_backward(dz * y, x), dz * F.silu(x)


def residual_cases(rows, row, dtype):
    of = f" {rows}x{row} {DTYPES[dtype]}"
    pair = [(rows, row), (rows, row)]

    def residual_rms_norm(x, residual, w):
        total = x + residual
        return total, rms_norm(total, w)

    def dropout_layer_norm(x, residual, w, b):
        return F.layer_norm(F.dropout(x, 0.1, training=True) + residual, (row,), w, b)

    yield Case("residual + RMS norm" + of, residual_rms_norm, [*pair, (row,)], dtype)
    yield Case("dropout + residual + layer norm" + of, dropout_layer_norm, [*pair, (row,), (row,)], dtype)


def loss_cases(rows, classes, dtype):
    loss = lambda x, target: F.cross_entropy(x, target, reduction="none")  # noqa: E731
    yield Case(f"cross entropy {rows}x{classes} {DTYPES[dtype]}", loss, [(rows, classes), (rows,)], dtype, classes)


def rope_cases(sizes, dtype):
    of = f" {'x'.join(map(str, sizes))} {DTYPES[dtype]}"

    def rotated(x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    yield Case("rotary positions" + of, rotated, [sizes, sizes[2:], sizes[2:]], dtype)
    join = lambda x, y: torch.cat((torch.relu(x), torch.relu(y)), -1)  # noqa: E731
    yield Case("cat of relu" + of, join, [sizes, sizes], dtype)


def cases(part):
    """The families, of each of them the rows divided by `part`."""
    for dtype, kind in DTYPES.items():
        for rows, row in ((16384, 8192), (131072, 1024), (32768, 4096), (8192, 5121), (4096, 32768)):
            yield from norm_cases(rows // part, row, dtype)
        for rows, row in ((8192, 8192), (16384, 8192), (32767, 4098), (8191, 4097), (2048, 2048)):
            yield from transpose_cases(rows // part, row, dtype)
        gradients = ((32768, 2048), (16384, 4096), (8192, 12288), (2048, 16384), (16384, 5122), (131072, 256))
        for rows, row in (*gradients, (2048, 1024)):
            yield from gradient_cases(rows // part, row, dtype)
        image = (64 // part, 256, 56, 56)
        to_last = lambda x: torch.relu(x).permute(0, 2, 3, 1).contiguous()  # noqa: E731
        yield Case(f"NCHW to NHWC {64 // part}x256x56x56 {kind}", to_last, [image], dtype)
        for sizes in ((16, 65536), (1024, 4096)):
            yield from norm_cases(*sizes, dtype)
        for sizes in ((16384 // part, 8192), (2048 // part, 4096), (64, 4194304 // part)):
            yield from sum_cases(*sizes, dtype)
        columns = (8192 // part, 16384)
        yield Case(f"softmax of columns {columns[0]}x16384 {kind}", lambda x: F.softmax(x, 0), [columns], dtype)
        batch_norm = lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)  # noqa: E731
        yield Case(f"batch norm NCHW {64 // part}x256x56x56 {kind}", batch_norm, [image, (256,), (256,)], dtype)
        for rows, row in ((16384, 8192), (2048, 4096), (8191, 8191)):
            yield from activation_cases(rows // part, row, dtype)
        for rows, row in ((16384, 4096), (2048, 4096)):
            yield from residual_cases(rows // part, row, dtype)
        for rows, row in ((4096, 131072), (8192, 32000)):
            yield from loss_cases(rows // part, row, dtype)
        yield from rope_cases((16 // part, 32, 2048, 128), dtype)


def time_of(run, device):
    """Median milliseconds of a run by itself, of REPEATS."""
    if device == "cpu":
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times)
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(REPEATS)]
    torch.cuda._sleep(SPIN_CYCLES)
    for begin, end in events:
        begin.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in events)


def compiled(mode, function):
    if mode == "eager":
        return function
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False, mode="max-autotune-no-cudagraphs" if mode == "autotune" else None)


def measure(case, modes, device):
    """Fractions of the copy's speed by mode, and the copy's milliseconds."""
    inputs = [torch.randn(sizes, device=device).to(case.dtype) for sizes in case.sizes]
    if case.classes:
        inputs[-1] = torch.randint(case.classes, case.sizes[-1], device=device)
    outputs = case.function(*inputs)
    tensors = inputs + (list(outputs) if isinstance(outputs, tuple) else [outputs])
    half = sum(tensor.numel() * tensor.element_size() for tensor in tensors) // 2
    source, target = (torch.zeros(half, dtype=torch.uint8, device=device) for _ in range(2))
    del outputs, tensors
    runs = {mode: compiled(mode, case.function) for mode in modes}
    for run in runs.values():
        run(*inputs)
    times = {mode: [] for mode in (*modes, "copy")}
    for _ in range(ROUNDS):
        times["copy"].append(time_of(lambda: target.copy_(source), device))
        for mode, run in runs.items():
            times[mode].append(time_of(lambda run=run: run(*inputs), device))
    copy = statistics.median(times["copy"])
    return {mode: copy / statistics.median(times[mode]) for mode in modes}, copy


def read_ours(path):
    """Fractions of copy by name, out of the table of bench_automatic."""
    row = re.compile(r"^(.+?)(?: \(\d+\))?((?:\s+[\d.]+){4})\s+([\d.]+)$")
    with open(path) as lines:
        return {match[1].strip(): float(match[3]) for match in map(row.match, lines) if match}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: a sixteenth of the rows")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--modes", default="eager,compile", help="of eager, compile, autotune")
    parser.add_argument("--ours", help="what bench_automatic printed on this machine")
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    ours = read_ours(arguments.ours) if arguments.ours else {}
    on_cpu = arguments.device == "cpu"
    device_name = f"CPU, {torch.get_num_threads()} threads" if on_cpu else torch.cuda.get_device_name()
    print(device_name, "torch", torch.__version__)
    rows = []
    for case in cases(16 if on_cpu else 1):
        if arguments.only not in case.name:
            continue
        fractions, copy = measure(case, modes, arguments.device)
        mine = ours.get(case.name)
        rows.append((case.name, copy, fractions, mine, mine / max(fractions.values()) if mine else None))
        print(case.name, {mode: round(value, 3) for mode, value in fractions.items()}, mine, file=sys.stderr)
    rows.sort(key=lambda row: (row[4] is None, row[4] or 0))
    print(f"{'case':44} {'copy ms':>8}", *(f"{mode:>9}" for mode in modes), f"{'ours':>9} {'ours/best':>9}")
    for name, copy, fractions, mine, ratio in rows:
        last = f"{mine:9.3f} {ratio:9.3f}" if mine else f"{'-':>9} {'-':>9}"
        print(f"{name:44} {copy:8.4f}", *(f"{fractions[mode]:9.3f}" for mode in modes), last)


if __name__ == "__main__":
    main()
