"""Models on a GPU by its own clock, and the kernels of each, Inductor's beside ours.

    PYTHONPATH=build/python:. python benchmarks/model_kernels.py [--only TEXT] [--timm NAME] [--language KIND]

Models are those of models.py and other_models.py, of timm by name and language models of transformers by kind, in
bfloat16. `around` is the time of all kernels but products, convolutions and attention, which all backends have from the
same libraries.
"""

import argparse
import json
import math
import sys
import time
import warnings

import torch
from models import BASE, models, step_of
from other_models import of_timm, of_transformers, others

from benchmarks.programs.kernels import kernels_of, lines_of
from benchmarks.programs.measure import BACKENDS, CLOCKS, EAGER, INDUCTOR, LOSES, OURS, in_turns
from benchmarks.programs.workers import Task, measure_by_workers

OF_LIBRARIES = ("gemm", "cutlass", "cudnn", "nvjet", "flash", "fmha", "xmma", "splitk", "cublas", "sm80_", "sm90_")


def is_of_library(name):
    return any(text in name.lower() for text in OF_LIBRARIES)


def microseconds(kernels, of_library):
    return sum(taken for name, _, taken in kernels if is_of_library(name) == of_library)


def cases_of(options):
    """Pairs of a model's name and whether it is trained."""
    return [(name, bool(trained)) for name in _makers(options) for trained in options["trained"]]


def _makers(options):
    found = {**models(BASE), **others("cuda", torch.bfloat16)} if options["only"] else {}
    found = {name: make for name, make in found.items() if any(text in name for text in options["only"])}
    found |= of_timm(options["timm"], "cuda", torch.bfloat16)
    return found | of_transformers(options["language"], "cuda", torch.bfloat16)


def name_of(case):
    return f"{case[0]}, {'trained' if case[1] else 'inference'}"


def prepared(case, options):
    """{backend: its step}, {backend: why it has none}, {backend: seconds of its first call}."""
    warnings.filterwarnings("ignore")
    calls, wrong, first = {}, {}, {}
    for backend in options["backends"]:
        begin = time.monotonic()
        try:
            call = step_of(_makers(options)[case[0]], backend, case[1])
            call()
            torch.cuda.synchronize()
            calls[backend], first[backend] = call, time.monotonic() - begin
        except Exception as error:
            wrong[backend] = f"{type(error).__name__}: {str(error)[:300]}"
    return calls, wrong, first


def timed(found, options):
    calls, wrong, first = found
    result = {"wrong": wrong, "first": first, "kernels": {}}
    for clock in ("gpu", "wall"):
        result[clock] = in_turns(calls, lambda: None, CLOCKS[clock]("cuda"), options["seconds"])
    for backend in (INDUCTOR, OURS):
        if backend in calls:
            result["kernels"][backend] = kernels_of(calls[backend], lambda: None)
    return result


def failed(reason):
    return {"wrong": {"all": reason}, "first": {}, "kernels": {}, "gpu": {}, "wall": {}}


def ratio(times):
    """Time of the better of eager and Inductor over ours; NaN where one is not known."""
    peers = [times[peer] for peer in (EAGER, INDUCTOR) if peer in times]
    return min(peers) / times[OURS] if peers and OURS in times else math.nan


def line(name, found):
    gpu, kernels = found["gpu"], found["kernels"]
    cells = [f"{1e3 * gpu[each]:9.3f}" if each in gpu else f"{'failed':>9}" for each in BACKENDS]
    sums = [[microseconds(kernels.get(each, []), of) / 1e3 for each in (INDUCTOR, OURS)] for of in (True, False)]
    cells += [f"{ours:9.3f} ({theirs:.3f})" for theirs, ours in sums]
    return f"{name:34}" + "".join(cells) + f"{ratio(gpu):8.2f}{ratio(found['wall']):8.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[""], help="models of the two files, by a part of their names")
    parser.add_argument("--timm", nargs="*", default=[], help="models of timm")
    parser.add_argument("--language", nargs="*", default=[], help="kinds of language models of transformers")
    parser.add_argument("--backends", nargs="*", default=BACKENDS, choices=BACKENDS)
    parser.add_argument("--trained", nargs="*", type=int, default=[0, 1], help="0: inference, 1: trained")
    parser.add_argument("--seconds", type=float, default=0.3, help="of calls of each backend and clock")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--processes", type=int, default=15, help="that compile at once, before anything is timed")
    parser.add_argument("--ready-within", type=float, default=400, help="seconds those have; then they are left out")
    parser.add_argument("--json", help="where to write the numbers and all kernels")
    options = vars(parser.parse_args())
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    task = Task(cases_of, name_of, prepared, timed, failed)
    found = {}
    for case, each in measure_by_workers(task, options, options["processes"], options["ready_within"]):
        found[name_of(case)] = each
        print(line(name_of(case), each), each["wrong"] or "", file=sys.stderr, flush=True)
        if options["json"]:
            with open(options["json"], "w") as file:
                json.dump(found, file, indent=1)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}; milliseconds of the GPU, losers first")
    print(
        f"{'model':34}"
        + "".join(f"{each:>9}" for each in BACKENDS)
        + "  libraries' (Inductor)  around (Inductor)   gpu    wall"
    )
    for name, each in sorted(found.items(), key=lambda item: ratio(item[1]["gpu"])):
        print(line(name, each), each["wrong"] or "")
        if ratio(each["gpu"]) < LOSES:
            for backend, kernels in each["kernels"].items():
                print(*(f"    {backend:9}{text}" for text in lines_of(kernels)), sep="\n")
    ratios = [value for value in (ratio(each["gpu"]) for each in found.values()) if not math.isnan(value)]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f} of {len(ratios)}, {sum(value < LOSES for value in ratios)} below {LOSES}")


if __name__ == "__main__":
    main()
