"""Programs over 1, 2, 4, … devices beside torch.distributed's own, losers first.

    python -m benchmarks.ranks --ranks N [--sizes large|small] [--only TEXT] [--json FILE] [--limit S]

Processes are started by torchrun: one GPU each, or gloo on the CPU. For each program: milliseconds of a step, the
faster of torch.distributed's ways over ours (`of peer`), bytes that each device receives, the share of the exchanges
that is hidden, the distance of our values and of PyTorch's on one device from a wider computation there, and what
simulate.py predicts. A program that does not end within its limit is left out, and what there is of it is kept.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from .program import LARGE, SMALL
from .programs import programs
from .simulate import predict_ms

ROOT = Path(__file__).resolve().parents[2]
QUIET = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}


def launch(ranks, names, arguments, until, path):
    """One run of torchrun; what went wrong, or None."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command += ["-m", "benchmarks.ranks.worker", path, arguments.sizes, str(arguments.program_limit), *names]
    environment = {"OMP_NUM_THREADS": "1", **QUIET, **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, env=environment, stdout=said, stderr=subprocess.STDOUT, cwd=ROOT, start_new_session=True
        )
        try:
            code = process.wait(timeout=max(1, until - time.time()))
        except subprocess.TimeoutExpired:
            code = "no time was left"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        of_processes = said.read().split('Traceback (most recent call last):\n  File "<frozen runpy>')[0]
        return None if code == 0 else f"ended with {code}: {of_processes.strip()[-1200:]}"


def lines_of(path):
    """What workers wrote: general figures, and by program what was found."""
    general, found = {}, {}
    for text in Path(path).read_text().splitlines():
        one = json.loads(text)
        if "program" not in one:
            general |= one
            continue
        line = found.setdefault(one["program"], {"program": one["program"], "peers": {}})
        if "peer" in one:
            line["peers"][one["peer"]] = {"ms": one["peer_ms"], "problem": one["peer_problem"]}
        else:
            line |= {key: value for key, value in one.items() if value is not None}
    return general, found


def run(ranks, arguments, until, results):
    names = [one.name for one in programs(SMALL, ranks) if arguments.only in one.name]
    left, seen, stopped = list(names), {}, {}
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        while left and time.time() < until:
            problem = launch(ranks, left, arguments, until, file.name)
            general, seen = lines_of(file.name)
            begun = [name for name in left if name in seen]
            results["links"][str(ranks)] = general.get("links", {})
            results |= {key: general[key] for key in ("machine", "torch") if key in general}
            stopped |= {name: problem or "it did not end" for name in begun if not seen[name].get("done")}
            left = [name for name in left if name not in begun]
            if problem and not begun:
                results["problems"].append(f"{ranks} ranks: {problem}")
                break
    for name, problem in stopped.items():
        seen[name].setdefault("problem", problem)
        seen[name]["stopped"] = problem
    results["lines"] += [seen[name] for name in names if name in seen]
    results["problems"] += [f"{ranks} ranks, {name}: not run" for name in left]


def complete(results, sizes):
    """Adds to each line its ratio, its prediction and what it was predicted from."""
    one = {line["program"]: line for line in results["lines"] if line["ranks"] == 1 and "ms" in line}
    for line in results["lines"]:
        program = next(p for p in programs(sizes, line["ranks"]) if p.name == line["program"])
        line["work"] = vars(program.work)
        line["parameters"] = sum(_count(i.sizes) for i in program.inputs[2:])
        ratios = [
            peer["ms"]["peer"] / peer["ms"]["ours"]
            for peer in line["peers"].values()
            if peer["ms"] and "ours" in peer["ms"]
        ]
        line["of_peer"] = min(ratios, default=None)
        links = results["links"].get(str(line["ranks"]))
        if "ms" in line and line["program"] in one and (links or line["ranks"] == 1):
            growth = line["ranks"] if line["program"] == "data-parallel step" else 1
            work = next(p for p in programs(sizes, 1) if p.name == line["program"]).work
            line["predicted_ms"] = predict_ms(
                one[line["program"]]["ms"]["compute"],
                work,
                line["ranks"],
                line.get("asked", []),
                links,
                program.pipelined,
                growth,
            )


def _count(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


def is_wrong(line):
    """Our values may be twice as far from the wider computation as PyTorch's on one device."""
    return line["error"] > 2 * line["eager_error"] + 1e-5


def print_table(results):
    print(f"{results.get('machine')}, PyTorch {results.get('torch')}; milliseconds, losers first")
    columns = ("ours", "in order", "best peer", "of peer", "received MB", "hidden", "predicted", "error", "eager's")
    print(f"{'program':40} {'ranks':>5}", *(f"{column:>11}" for column in columns), " peer")
    ratios = []
    for line in sorted(results["lines"], key=lambda one: one.get("of_peer") or 0):
        if "ms" not in line:
            print(f"{line['program']:40} {line['ranks']:5} {line.get('problem')}")
            continue
        peers = {name: peer["ms"]["peer"] for name, peer in line["peers"].items() if peer["ms"]}
        best = min(peers, key=peers.get, default=None)
        ratios += [line["of_peer"]] if line["of_peer"] else []
        cells = [
            f"{line['ms']['ours']:.3f}",
            f"{line['ms']['in order']:.3f}",
            f"{peers[best]:.3f}" if best else "",
            f"{line['of_peer']:.2f}" if line["of_peer"] else "",
            f"{line['received'] / 1e6:.2f}",
            f"{line['hidden']:.0%}" if "hidden" in line else "",
            f"{line['predicted_ms']:.3f}" if "predicted_ms" in line else "",
            f"{line['error']:.1e}",
            f"{line['eager_error']:.1e}",
        ]
        wrong = "  WRONG" if is_wrong(line) else ""
        print(f"{line['program']:40} {line['ranks']:5}", *(f"{cell:>11}" for cell in cells), f" {best or ''}{wrong}")
    if ratios:
        print(f"of peer: geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)} lines")
    for line in results["lines"]:
        for name, peer in line["peers"].items():
            if peer["problem"]:
                print(f"{line['program']}, {line['ranks']} ranks, {name}: {peer['problem']}")
        if "overlap_problem" in line:
            print(f"{line['program']}, {line['ranks']} ranks, without overlap, since: {line['overlap_problem']}")
        if "stopped" in line:
            print(f"{line['program']}, {line['ranks']} ranks: {line['stopped']}")
    for problem in results["problems"]:
        print(problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="1, 2, 4, … up to so many")
    parser.add_argument(
        "--sizes", choices=("large", "small"), default="large" if torch.cuda.is_available() else "small"
    )
    parser.add_argument("--only", default="", help="programs whose name contains this text")
    parser.add_argument("--json", help="where to write all figures")
    parser.add_argument("--limit", type=float, default=240, help="seconds for all")
    parser.add_argument("--program-limit", type=float, default=40, help="seconds for a program")
    arguments = parser.parse_args()
    counts = [ranks for ranks in (1 << i for i in range(10)) if ranks <= arguments.ranks]
    results = {"links": {}, "lines": [], "problems": []}
    until = time.time() + arguments.limit
    for place, ranks in enumerate(counts):
        share = (until - time.time()) / (len(counts) - place)
        run(ranks, arguments, time.time() + share, results)
        complete(results, {"large": LARGE, "small": SMALL}[arguments.sizes])
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    print_table(results)
    wrong = any("ms" not in line or is_wrong(line) or "overlap_problem" in line for line in results["lines"])
    return 1 if wrong or results["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
