#!/usr/bin/env python3
"""Figures of reliability: measures them, keeps each in a file, and writes docs/reliability.md from the files.

tools/reliability.py list
tools/reliability.py run exact kills     measures, from a build in build/; commits count, so commit first
                                         (--count N: fewer programs than the table says)
tools/reliability.py page                writes the page (a test holds it to the files)
"""

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "data" / "reliability"
PAGE = ROOT / "docs" / "reliability.md"
_FUZZ = "NVFUSER_DISABLE=fallback build/bin/nvfuser_fuzz"
_PYTHON = "PYTHONPATH=build/python:tests/python .venv/bin/python"

# Name: what is measured, the command, and the line of its output that has the figure.
MEASURES = {
    "fusions": (
        "Random fusions, each in several ways, beside the interpreter ([fuzzing.md](fuzzing.md))",
        "build/bin/nvfuser_fuzz --count 2000 --seed 26112601 --folder build/fuzz",
        r"fuzz: .*",
    ),
    "fusions_interpreted": (
        "Random fusions whose kernels are run from their IR, with eight schedules each",
        "build/bin/nvfuser_fuzz --interpret --schedules 8 --count 2000 --seed 26112602 --folder build/fuzz",
        r"fuzz: .*",
    ),
    "fusions_axes": (
        "Random fusions of few operations in which one axis is met in several ways",
        f"{_FUZZ} --focus axes --count 2000 --seed 28112701 --folder build/fuzz",
        r"fuzz: .*",
    ),
    "fusions_sizes": (
        "Random fusions whose sizes vary from call to call, to and from 1 and 0",
        f"{_FUZZ} --focus sizes --count 2000 --seed 28112702 --folder build/fuzz",
        r"fuzz: .*",
    ),
    "definitions": (
        "Random FusionDefinitions, each executed with up to five sets of sizes, beside PyTorch",
        f"{_PYTHON} -m torch_fuzz definitions --count 400 --seed 2811",
        r"torch_fuzz .*",
    ),
    "uses": (
        "Random programs of PyTorch in 27 uses that callers have, beside eager",
        f"{_PYTHON} -m torch_fuzz uses --count 540 --seed 2811",
        r"torch_fuzz .*",
    ),
    "trainings": (
        "Random modules, trained beside eager",
        f"{_PYTHON} -m torch_fuzz trainings --count 100 --seed 2811",
        r"torch_fuzz .*",
    ),
    "memory": (
        "What a process keeps of 100,000 definitions, 10,000 calls of definitions made anew, 10,000 errors",
        f"{_PYTHON} tools/memory_kept.py",
        r"(definitions|calls|errors): .*",
    ),
    "exact": (
        "Random element-wise programs of PyTorch in exact mode, bit by bit beside eager",
        f"{_PYTHON} -m torch_fuzz exact --count 10000 --seed 26",
        r"torch_fuzz .*",
    ),
    "graphs": (
        "Random graphs of PyTorch, forward and backward, by torch.compile, beside eager",
        f"{_PYTHON} -m torch_fuzz graphs --count 1000 --seed 2811",
        r"torch_fuzz .*",
    ),
    "dynamic": (
        "The same with symbolic sizes",
        f"{_PYTHON} -m torch_fuzz dynamic --count 400 --seed 2811",
        r"torch_fuzz .*",
    ),
    "scripts": (
        "The same by TorchScript's fuser2",
        f"{_PYTHON} -m torch_fuzz scripts --count 400 --seed 2811",
        r"torch_fuzz .*",
    ),
    "kinds": (
        "Random programs of PyTorch of one kind each: dtypes, strides, memory that is shared, arguments that change",
        f"{_PYTHON} -m torch_fuzz kinds --count 1000 --seed 2811",
        r"torch_fuzz .*",
    ),
    "kills": (
        "Writers of the cache that are killed with -9 at random times; entries that load wrongly fail the test",
        "NVFUSER_TEST_KILLS=10000 build/bin/nvfuser_test_unit -tc='disk cache: 1000 writers*'",
        r"of \d+ killed writers.*|\[doctest\] test cases:.*",
    ),
    "processes": (
        "64 processes that write and read one entry of the cache, 200 times each",
        "build/bin/nvfuser_test_unit -tc='disk cache: 64 writers*'",
        r"\[doctest\] test cases:.*",
    ),
    "cache": (
        "Cache on disk: every system call failing in turn, every truncation and byte changed, hostile folders, links, "
        "names, owners, a full disk",
        "build/bin/nvfuser_test_unit -tc='disk cache*'",
        r"\[doctest\] test cases:.*",
    ),
    "faults": (
        "Each allocation, system call, compilation, copy and launch of a fusion failing in turn: one error or a right "
        "result, the next call right, nothing left behind",
        "build/bin/nvfuser_test_unit -tc='faults*'",
        r"\[doctest\] test cases:.*",
    ),
    "out_of_memory": (
        "The same from Python, and interpreters that end, fork or are killed while fusions are planned, compiled, run",
        f"{_PYTHON} -m pytest -q tests/python/test_out_of_memory.py",
        r"\d+ passed.*|.*failed.*",
    ),
    "mutants": (
        "Known faults put into the library one at a time ([table](../tests/mutants/README.md)), and what notices them; "
        "survivors have met the quickest tests that reach them, not all",
        "python3 tools/mutants.py report",
        r"mutants.*|caught first by.*",
    ),
    "compilers": (
        "Compilers that hang, die, say yes and write nothing; deadlines",
        "build/bin/nvfuser_test_unit -tc='host compiler*,compile deadline*,process*'",
        r"\[doctest\] test cases:.*",
    ),
    "threads": (
        "Threads: the same and different fusions, a forked child, errors beside others' calls",
        "build/bin/nvfuser_test_unit -tc='threads*,cpu threads*,loaded kernels*'",
        r"\[doctest\] test cases:.*",
    ),
    "injected": (
        "Exceptions thrown at 25 stages of torch.compile, and broken compilers: PyTorch's result and one warning",
        f"{_PYTHON} -m pytest -q tests/python/test_compile_injected.py",
        r"\d+ passed.*",
    ),
    "bad_uses": (
        "Wrong uses from Python, each with its documented error",
        f"{_PYTHON} -m pytest -q tests/python/test_bad_uses.py",
        r"\d+ passed.*|.*failed.*",
    ),
}


def _said(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _host():
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return f"{model.group(1) if model else platform.machine()}, {os.cpu_count()} processors"


def measure(name, count=None):
    what, command, pattern = MEASURES[name]
    if count is not None:
        command = re.sub(r"--count \d+", f"--count {count}", command)
    libraries = ":".join(map(str, sorted((ROOT / ".venv").glob("lib/python3*/site-packages/nvidia/*/lib"))))
    changed = _said("git", "status", "--porcelain", "--untracked-files=no")
    begin = time.time()
    done = subprocess.run(
        command,
        cwd=ROOT,
        shell=True,  # it is one of the table above
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
    )
    output = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    lines = [line.strip() for line in output.splitlines() if re.search(pattern, line)]
    figures = list(dict.fromkeys(re.search(pattern, line).group().removeprefix("[doctest] ") for line in lines))
    result = {
        "what": what,
        "command": command,
        "figure": figures or ["no figure was printed"],
        "passed": done.returncode == 0,
        "seconds": round(time.time() - begin),
        "commit": _said("git", "rev-parse", "--short", "HEAD") + (" with changes" if changed else ""),
        "date": datetime.date.today().isoformat(),
        "host": _host(),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{name}: {'; '.join(result['figure'])}{'' if result['passed'] else '  FAILED'}", flush=True)
    return result["passed"]


def page():
    """The text of the page."""
    lines = [
        "<!-- Generated by tools/reliability.py from tests/data/reliability/; do not edit. -->",
        "# Reliability: what was tried, and what came of it",
        "",
        "Each figure has been measured by the command beside it, at the commit and on the day named. 0 failures in N",
        "programs say with 95 % that fewer than 3 in N fail, of those that the generator draws.",
        "",
    ]
    for name in MEASURES:
        file = FOLDER / f"{name}.json"
        if not file.exists():
            continue
        of = json.loads(file.read_text())
        lines += [f"## {of['what']}", "", "```text", of["command"], ""]
        lines += [*of["figure"], "```", ""]
        lines += [
            f"{'Passed' if of['passed'] else '**Failed**'}, {of['date']}, commit {of['commit']}, "
            f"{of['seconds']} s, {of['host']}.",
            "",
        ]
    missing = [name for name in MEASURES if not (FOLDER / f"{name}.json").exists()]
    if missing:
        lines += [f"Not measured yet: {', '.join(missing)}.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["list", "run", "page"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--count", type=int, help="of programs, instead of the table's")
    given = parser.parse_args()
    if given.verb == "list":
        for name, (what, command, _) in MEASURES.items():
            print(f"{name}: {what}\n    {shlex.join(shlex.split(command))}")
        return 0
    if given.verb == "run":
        unknown = [name for name in given.names if name not in MEASURES]
        if unknown:
            parser.error(f"no measure {', '.join(unknown)}; there are {', '.join(MEASURES)}")
        passed = [measure(name, given.count) for name in given.names or MEASURES]
        PAGE.write_text(page())
        return 0 if all(passed) else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
