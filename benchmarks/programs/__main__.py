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

from . import (
    casts,
    decoding,
    diffusion,
    experts,
    further,
    graphs,
    losses,
    optimizers,
    physics,
    recommenders,
    recurrent,
    signals,
    statistics,
    vision,
)
from .measure import BACKENDS, EAGER, INDUCTOR, OURS, measure
from .program import SIZES

KINDS = (
    physics,
    vision,
    graphs,
    recommenders,
    recurrent,
    diffusion,
    decoding,
    experts,
    losses,
    signals,
    statistics,
    optimizers,
    casts,
)
TABLES = [kind.TABLE for kind in KINDS]


def ratio(times):
    peers = [times[peer] for peer in (EAGER, INDUCTOR) if peer in times]
    return min(peers) / times[OURS] if peers and OURS in times else math.nan


def line(name, times):
    cells = [f"{times[backend]:10.3f}" if backend in times else f"{'failed':>10}" for backend in BACKENDS]
    return f"{name:52}" + "".join(cells) + f"{ratio(times):8.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--size", nargs="*", default=list(SIZES), choices=SIZES)
    parser.add_argument("--threads", type=int, help="of PyTorch and of this library")
    parser.add_argument("--only", nargs="*", default=[""], help="programs whose kind or name has one of these texts")
    parser.add_argument("--further", action="store_true", help="those of the folder further instead")
    parser.add_argument("--seconds", type=float, default=0.4, help="of calls of each backend and program")
    parser.add_argument("--json", help="where to write the numbers")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"{torch.get_num_threads()} threads"
    found = {}
    for table in further.TABLES if arguments.further else TABLES:
        for program in table.programs:
            if not any(text in f"{table.kind}: {program.name}" for text in arguments.only):
                continue
            for size in arguments.size:
                times, wrong = measure(program, size, arguments.device, arguments.seconds)
                name = f"{program.name}, {size}"
                found[name] = {"kind": table.kind, "ms": times, "wrong": wrong}
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
