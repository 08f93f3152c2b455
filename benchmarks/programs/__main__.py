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

from .measure import BACKENDS, CLOCKS, EAGER, INDUCTOR, OURS, checked, timed
from .program import SIZES
from .tables import LISTS, cases_of
from .workers import measure_by_workers


def ratio(times):
    peers = [times[peer] for peer in (EAGER, INDUCTOR) if peer in times]
    return min(peers) / times[OURS] if peers and OURS in times else math.nan


def line(name, times):
    cells = [f"{times[backend]:10.3f}" if backend in times else f"{'failed':>10}" for backend in BACKENDS]
    return f"{name:52}" + "".join(cells) + f"{ratio(times):8.2f}"


def measured(options, processes, ready_within):
    """Yields (case, {backend: milliseconds}, {backend: what is wrong})."""
    cases = cases_of(options)
    if processes:
        yield from measure_by_workers(cases, options, processes, ready_within)
        return
    for program, size in cases:
        torch._dynamo.reset()
        calls, wrong = checked(program, size, options["device"], BACKENDS)
        yield (program, size), timed(calls, options["device"], options["seconds"], options["clock"]), wrong


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
    parser.add_argument("--json", help="where to write the numbers")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.clock == "gpu" and arguments.device != "cuda":
        parser.error("--clock gpu needs --device cuda")
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"{torch.get_num_threads()} threads"
    found = {}
    for (program, size), times, wrong in measured(vars(arguments), arguments.processes, arguments.ready_within):
        name = f"{program.name}, {size}"
        found[name] = {"ms": times, "wrong": wrong}
        print(line(name, times), wrong or "", file=sys.stderr, flush=True)
    print(f"PyTorch {torch.__version__}, {where}; milliseconds, losers first")
    print(f"{'program':52}" + "".join(f"{backend:>10}" for backend in BACKENDS) + f"{'ratio':>8}")
    for name, each in sorted(
        found.items(), key=lambda item: (not math.isnan(ratio(item[1]["ms"])), ratio(item[1]["ms"]))
    ):
        print(line(name, each["ms"]))
        for backend, reason in each["wrong"].items():
            print(f"    {backend}: {reason}")
    ratios = [value for value in (ratio(each["ms"]) for each in found.values()) if not math.isnan(value)]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f} of {len(ratios)}, {sum(value < 0.97 for value in ratios)} below 0.97")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"device": where, "torch": torch.__version__, "programs": found}, file, indent=1)


if __name__ == "__main__":
    main()
