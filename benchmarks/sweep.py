"""Memory-bound kernels of a GPU over sizes: `fd.execute` and torch.compile with our backend beside eager and Inductor.

    PYTHONPATH=build/python python benchmarks/sweep.py [--full] [--only TEXT] [--autotune] [--json FILE]
        [--rounds N] [--part I N]

A row of each family of `fused_cases.py` at hidden sizes from 256 to 128 K, powers of two and others, in large tensors
(`LARGE` elements) and in middle ones (`MIDDLE`); `--full` has more sizes, and float beside bfloat16. Before each call
the L2 cache is overwritten and a kernel that spins keeps the host ahead; a call allocates its outputs; times are
events, medians of rounds in turns. `copy` is a copy of as many bytes as inputs and outputs have, timed alike.
With `--rounds 0` each way is called once, which fills the disk caches: several processes may do so side by side, each
its part of the cases (`--part I N`), before one measures.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import nvfuser.dynamo  # noqa: F401 (the backend, also where the package is not installed)
import torch
from fused_cases import (
    Case,
    add_rms_norm,
    add_transposed,
    batch_norm,
    bias_gelu,
    bias_gelu_backward,
    cross_entropy,
    dropout_add_layer_norm,
    joined_halves,
    layer_norm,
    layer_norm_backward,
    layer_norm_in_passes,
    multiply,
    permuted,
    rms_norm,
    rms_norm_backward,
    scale_bias_relu,
    scale_bias_relu_backward,
    silu_multiply,
    silu_multiply_backward,
    softmax,
    sum_along,
    transpose,
)
from nvfuser_direct import FusionDefinition

LARGE, MIDDLE = 1 << 26, 1 << 22
FLUSH_BYTES = 256 << 20
SPIN_CYCLES = 1_000_000
QUICK_ROWS = (256, 768, 1024, 1600, 4096, 4098, 5121, 8192, 16384, 32768, 131072)
MORE_ROWS = (512, 1026, 1032, 2048, 3072, 5120, 12288, 12290, 20480, 49152, 65536, 65544)
BY_ROWS = (softmax, rms_norm, layer_norm, layer_norm_in_passes, add_rms_norm, dropout_add_layer_norm)
FLAT = (
    *(multiply, bias_gelu, bias_gelu_backward, silu_multiply, silu_multiply_backward, scale_bias_relu),
    *(scale_bias_relu_backward, joined_halves),
)


def cases(full):
    """Functions that make the cases, so that one case at a time has its tensors."""
    wide_rows = QUICK_ROWS + (MORE_ROWS if full else ())
    dtypes = (torch.bfloat16, torch.float32) if full else (torch.bfloat16,)
    for elements in (LARGE, MIDDLE):
        for dtype in dtypes:
            for row in wide_rows:
                sizes = (elements // row, row, dtype)
                for make in BY_ROWS:
                    yield make, sizes
                yield sum_along, ([1], *sizes)
            for row in wide_rows if full else (768, 4096, 5121, 16384):
                sizes = (elements // row, row, dtype)
                yield rms_norm_backward, sizes
                yield sum_along, ([0], *sizes)
                yield (lambda rows, row, dtype: softmax(rows, row, dtype, axis=0)), sizes
                if dtype == torch.bfloat16:
                    yield layer_norm_backward, sizes[:2]
            for row in (768, 4096, 8192, *((4098, 16384) if full else ())):
                for make in FLAT:
                    yield make, (elements // row, row, dtype)
            for row in (1024, 8192, *((8191, 4098) if full else ())):
                yield transpose, (elements // row, row, dtype)
                yield add_transposed, (elements // row, row, dtype)
            heads = elements // (2048 * 128)
            yield permuted, ((heads // 16, 16, 2048, 128), [0, 2, 1, 3], dtype)
            yield permuted, ((heads, 2048, 128), [0, 2, 1], dtype)
            images = elements // (256 * 28 * 28)
            yield permuted, ((images, 256, 28, 28), [0, 2, 3, 1], dtype)
            yield batch_norm, (images, 256, 28, dtype)
            yield (lambda n, c, h, dtype: batch_norm(n, c, h, dtype, last=True)), (images, 256, 28, dtype)
            yield sum_along, ([0, 1], elements // 4096, 4096, dtype)
        for classes in (32000, 128256):
            yield cross_entropy, (4 * elements // classes, classes)


def defined(case: Case):
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(x) for x in case.inputs]
        for result in case.define(fd, *tensors):
            fd.add_output(result)
    return lambda: fd.execute(case.inputs)


def compiled(case: Case, **arguments):
    torch._dynamo.reset()
    call = torch.compile(case.eager, dynamic=False, **arguments)
    return lambda: call(*case.inputs)


def as_tuple(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def ways(case: Case, autotune):
    """Each way to call the case: after its first call."""
    made = {"eager": lambda: case.eager(*case.inputs), "inductor": compiled(case)}
    if autotune:
        made["autotune"] = compiled(case, mode="max-autotune-no-cudagraphs")
    made["defined"] = defined(case)
    made["compiled"] = compiled(case, backend="nvfuser")
    wanted = as_tuple(made["eager"]())
    for name, call in made.items():
        results = as_tuple(call())
        for result, other in zip(results, wanted, strict=True):
            difference = (result.reshape(other.shape).float() - other.float()).norm() / other.float().norm()
            if not case.drawn and not difference < 0.05:
                sys.exit(f"{case.name}: {name} gives another result than eager ({difference:.2g})")
    tensors = [*case.inputs, *wanted]
    source = torch.zeros(sum(x.numel() * x.element_size() for x in tensors) // 2, dtype=torch.uint8)
    made["copy"] = source.clone
    return made


def measure(calls, rounds):
    """Microseconds of each call, medians."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8)
    events = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            flush.zero_()
            torch.cuda._sleep(SPIN_CYCLES)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
            events[name].append((begin, end))
    torch.cuda.synchronize()
    return {name: statistics.median(a.elapsed_time(b) * 1e3 for a, b in pairs) for name, pairs in events.items()}


def printed(found):
    peers = [name for name in ("eager", "inductor", "autotune") if name in found[0]["us"]]
    lines = []
    for one in found:
        us = one["us"]
        best = min(us[name] for name in peers)
        ours = max(us["defined"], us["compiled"])
        lines.append((best / ours, best / us["defined"], best / us["compiled"], us["copy"] / us["defined"], one))
    lines.sort(key=lambda line: line[0])
    columns = [*peers, "defined", "compiled", "copy"]
    print(
        f"{'case':52}",
        *(f"{name:>9}" for name in columns),
        f"{'of copy':>8} {'defined':>8} {'compiled':>8}  of best peer",
    )
    for _, of_defined, of_compiled, of_copy, one in lines:
        times = (f"{one['us'][name]:9.1f}" for name in columns)
        print(f"{one['name']:52}", *times, f"{of_copy:8.2f} {of_defined:8.2f} {of_compiled:8.2f}")
    mean = statistics.geometric_mean
    print(
        f"{len(lines)} cases, geometric means: of copy {mean(line[3] for line in lines):.3f}, of the best peer "
        f"{mean(line[1] for line in lines):.3f} defined, {mean(line[2] for line in lines):.3f} compiled; "
        f"below 0.97: {sum(line[1] < 0.97 for line in lines)}, {sum(line[2] < 0.97 for line in lines)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more sizes, and float")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--autotune", action="store_true", help="Inductor's max-autotune, too")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument(
        "--part", type=int, nargs=2, default=(0, 1), metavar=("I", "N"), help="each Nth case, from I on"
    )
    parser.add_argument("--json", type=Path, help="a file for the times")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("sweep: there is no GPU that PyTorch can use; beside_pytorch.py measures the CPU")
    torch.set_default_device("cuda")
    torch.manual_seed(0)
    part, parts = arguments.part
    found = []
    for number, (make, sizes) in enumerate(cases(arguments.full)):
        if number % parts != part:
            continue
        case = make(*sizes)
        if arguments.only not in case.name:
            continue
        calls = ways(case, arguments.autotune)
        if arguments.rounds:
            found.append({"name": case.name, "us": measure(calls, arguments.rounds)})
            if arguments.json:
                arguments.json.write_text(json.dumps(found, indent=1))
            if sys.stderr.isatty():
                print(f"\r{len(found)} cases", end="", file=sys.stderr, flush=True)
    if found:
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; microseconds, losers first")
        printed(found)


if __name__ == "__main__":
    main()
