"""Kernels of the CPU in a program that runs PyTorch: `fd.execute` beside eager PyTorch and Inductor.

    PYTHONPATH=build/python python benchmarks/beside_pytorch.py [--only TEXT] [--threads N] [--alone]
        [--without-inductor] [--quantile Q]

Before each call an operation of PyTorch writes 64 MB: it empties the caches and leaves PyTorch's threads as a program
leaves them, awake and looking for work. With `--alone` nothing runs before a call, and the data is in the caches. Each
call allocates its outputs. Medians of calls in turns, so that what else runs on the machine meets all alike. `copy` is
PyTorch's copy of as many bytes as the inputs and outputs have, its target allocated too.
"""

import argparse
import statistics
import time

import torch
from fused_cases import Case, cases
from nvfuser_direct import FusionDefinition

FLUSH_BYTES = 64 << 20


def fused(case):
    """A call of the fusion, with the eager function's results as a check."""
    with FusionDefinition() as fd:
        tensors = [fd.from_pytorch(x) for x in case.inputs]
        for result in case.define(fd, *tensors):
            fd.add_output(result)
    results, wanted = fd.execute(case.inputs), case.eager(*case.inputs)
    if case.drawn:
        return lambda: fd.execute(case.inputs)
    for result, other in zip(results, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        difference = (result.reshape(other.shape).float() - other.float()).norm() / other.float().norm()
        assert difference < 0.05, f"{case.name}: another result than eager PyTorch's ({difference:.2g})"
    return lambda: fd.execute(case.inputs)


def copy_of(case):
    """A copy of as many bytes as the case reads and writes."""
    results = case.eager(*case.inputs)
    tensors = [*case.inputs, *(results if isinstance(results, tuple) else (results,))]
    source = torch.zeros(sum(x.numel() * x.element_size() for x in tensors) // 2, dtype=torch.uint8)
    return source.clone


def measure(case: Case, arguments):
    """Microseconds of each way to compute the case."""
    calls = {"ours": fused(case), "eager": lambda: case.eager(*case.inputs)}
    if not arguments.without_inductor:
        torch._dynamo.reset()
        compiled = torch.compile(case.eager, dynamic=False)
        compiled(*case.inputs)
        calls["inductor"] = lambda: compiled(*case.inputs)
    calls["copy"] = copy_of(case)
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
    return {name: sorted(taken)[int(len(taken) * arguments.quantile)] for name, taken in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--threads", type=int, default=0, help="of PyTorch and of ours; as PyTorch has them by default")
    parser.add_argument(
        "--quantile", type=float, default=0.5, help="of the calls; less than the median on a busy machine"
    )
    parser.add_argument("--alone", action="store_true", help="nothing of PyTorch before a call")
    parser.add_argument("--without-inductor", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    rows = []
    for case in cases():
        if arguments.only in case.name:
            found = measure(case, arguments)
            best = min(found[name] for name in found if name not in ("ours", "copy"))
            rows.append((best / found["ours"], case.name, found))
    rows.sort(key=lambda row: row[0])
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; microseconds, losers first")
    columns = list(rows[0][2]) if rows else []
    print(f"{'case':44}", *(f"{name:>9}" for name in columns), f"{'of copy':>9} {'of best':>8}")
    for of_best, name, found in rows:
        times = (f"{found[column]:9.1f}" for column in columns)
        print(f"{name:44}", *times, f"{found['copy'] / found['ours']:9.2f} {of_best:8.2f}")
    ratios = [row[0] for row in rows]
    if ratios:
        print(f"of the best: geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)} cases")


if __name__ == "__main__":
    main()
