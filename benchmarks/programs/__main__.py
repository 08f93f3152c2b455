"""Ordinary programs with eager PyTorch, Inductor and this library, losers first.

    PYTHONPATH=build/python python -m benchmarks.programs [--size small middle] [--threads 1] [--only TEXT]

`ratio` is the time of the better of eager and Inductor over ours. Each program's values and gradients are compared with
eager's in float64: they may be no further from them than a few times eager's own in float32.
"""

import argparse
import json
import math
import sys
import warnings

import torch

from .kernels import lines_of
from .measure import BACKENDS, CLOCKS, LOSES, Measured, prepared, timed
from .program import SIZES
from .tables import LISTS, cases_of, name_of
from .workers import Task, measure_by_workers


def line(name, found):
    times = found.times
    cells = [f"{times[backend]:10.3f}" if backend in times else f"{'failed':>10}" for backend in BACKENDS]
    return f"{name:52}" + "".join(cells) + f"{found.ratio():8.2f}"


def each_measured(options, processes, ready_within):
    """Yields (case, Measured)."""
    if processes:
        task = Task(cases_of, name_of, prepared, timed, Measured.failed)
        yield from measure_by_workers(task, options, processes, ready_within)
        return
    for case in cases_of(options):
        torch._dynamo.reset()
        yield case, timed(prepared(case, options), options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--size", nargs="*", default=list(SIZES), choices=SIZES)
    parser.add_argument("--threads", type=int, help="of PyTorch and of this library")
    parser.add_argument("--only", nargs="*", default=[""], help="programs whose kind or name has one of these texts")
    parser.add_argument("--list", default="ordinary", choices=LISTS, help="which programs")
    parser.add_argument("--seconds", type=float, default=0.4, help="of calls of each backend and program")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="gpu: what its kernels take, without the host")
    parser.add_argument("--processes", type=int, default=0, help="that compile at once, before anything is timed")
    parser.add_argument("--ready-within", type=float, default=400, help="seconds those have; then they are left out")
    parser.add_argument("--kernels", action="store_true", help="of programs that lose, with their times (cuda)")
    parser.add_argument("--json", help="where to write the numbers")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if (arguments.clock == "gpu" or arguments.kernels) and arguments.device != "cuda":
        parser.error("--clock gpu and --kernels need --device cuda")
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"{torch.get_num_threads()} threads"
    found = {}
    for case, each in each_measured(vars(arguments), arguments.processes, arguments.ready_within):
        name = name_of(case)
        found[name] = each
        print(line(name, each), each.wrong or "", file=sys.stderr, flush=True)
    print(f"PyTorch {torch.__version__}, {where}; milliseconds, losers first")
    print(f"{'program':52}" + "".join(f"{backend:>10}" for backend in BACKENDS) + f"{'ratio':>8}")
    for name, each in sorted(found.items(), key=lambda item: (not math.isnan(item[1].ratio()), item[1].ratio())):
        print(line(name, each))
        for backend, reason in each.wrong.items():
            print(f"    {backend}: {reason}")
        for backend, kernels in each.kernels.items():
            print(*(f"    {backend:9}{text}" for text in lines_of(kernels)), sep="\n")
    ratios = [value for value in (each.ratio() for each in found.values()) if not math.isnan(value)]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f} of {len(ratios)}, {sum(value < LOSES for value in ratios)} below {LOSES}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(
                {
                    "device": where,
                    "torch": torch.__version__,
                    "programs": {name: {"ms": each.times, "wrong": each.wrong} for name, each in found.items()},
                },
                file,
                indent=1,
            )


if __name__ == "__main__":
    main()
