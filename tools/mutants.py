#!/usr/bin/env python3
"""Mutants: known faults put into the library one at a time, and the test that notices each.

tools/mutants.py list               what there is, by file
tools/mutants.py build              one library with all of them, in build/mutants
tools/mutants.py reach              which test reaches which mutant (and that all pass without one)
tools/mutants.py run [WORDS]        runs what reaches each mutant until a test fails (all, or those with these WORDS)
tools/mutants.py report             the figure of docs/reliability.md, from what was run

The table is tests/mutants/*.txt (its README says how to write one). The library is built once: in a copy of the
sources each mutated piece of text becomes a choice by NVFUSER_MUTANT, a number that the copy alone looks at. The
tests are those of build/, run with the copy's library in place of theirs.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

from mutant_library import FOLDER, LIBRARY, ROOT, TABLE, build, place, read_table

REACH = FOLDER / "reach.json"
RESULTS = TABLE / "results.json"  # kept, for a run takes hours
PROGRAMS = ("golden", "unit", "error", "fuzz", "compile", "numerics")  # the quick ones first
PYTHON_TESTS = ("test_direct.py", "test_changing_shapes.py", "test_repeated_calls.py", "test_in_place.py",
                "test_no_elements.py", "test_compile_strides.py", "test_exact.py")  # fmt: skip
# Random fusions whose kernels are run from their IR (docs/fuzzing.md): what is drawn, and how many at a time.
DRAWN = {
    "--focus axes --schedules 8 --seed 1": 25,
    "--focus sizes --seed 1": 50,
    "--schedules 8 --seed 2": 20,
    "--ranks --seed 1": 25,
}
TOO_LONG = 100.0  # seconds: tests that take longer are not among those that mutants are run with

# Tests ------------------------------------------------------------------------------------------


def environment(**more):
    libraries = [LIBRARY, *sorted((ROOT / ".venv").glob("lib/python3*/site-packages/nvidia/*/lib"))]
    path = os.pathsep.join(str(ROOT / folder) for folder in ("build/python", "tests/python"))
    own = {"LD_LIBRARY_PATH": ":".join(map(str, libraries)), "PYTHONPATH": path, "NVFUSER_CACHE_MB": "0"}
    return {**os.environ, **own, **more}


def attempt(command, seconds, **more):
    """How it ends (its exit code, or that it ran into the time limit), how long it takes, and what it prints."""
    begin = time.time()
    log = FOLDER / f"said-{threading.get_ident()}.txt"
    with log.open("w") as output, subprocess.Popen(
        [str(word) for word in command], cwd=ROOT, env=environment(**more), stdout=output, stderr=output,
        stdin=subprocess.DEVNULL, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = "no end"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # children of a test that are left
    said = log.read_text(errors="replace")
    log.unlink()
    return code, time.time() - begin, said


def filter_of(name):
    """doctest's filter of one test case."""
    return re.sub(r"([\\,])", r"\\\1", name)


def command_of(kind, names):
    if kind == "python":
        files = [ROOT / "tests" / "python" / name for name in names]
        return [ROOT / ".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    if kind == "drawn":
        program = [ROOT / "build/bin/nvfuser_fuzz", "--jobs", "1", "--no-shrink", "--folder", FOLDER / "fuzz"]
        return [*program, "--interpret", *names[0].split()]
    if kind == "found":
        return [
            ROOT / "build/bin/nvfuser_fuzz",
            "--jobs",
            "1",
            "--replay",
            *(ROOT / "tests/fuzz/found" / n for n in names),
        ]
    return [ROOT / f"build/bin/nvfuser_test_{kind}", "--abort-after=1", f"-tc={','.join(map(filter_of, names))}"]


def all_tests():
    """(kind, name) of each test that mutants meet."""
    for kind in PROGRAMS:
        program = [str(ROOT / f"build/bin/nvfuser_test_{kind}"), "--list-test-cases", "--no-colors"]
        said = subprocess.run(program, capture_output=True, text=True, check=True, env=environment()).stdout
        yield from ((kind, line) for line in said.splitlines() if not line.startswith(("[doctest]", "=====")))
    for turn in range(4):
        for words, count in DRAWN.items():
            yield "drawn", f"{words} --first {turn * count} --count {count}"
    yield from (("found", file.name) for file in sorted((ROOT / "tests/fuzz/found").glob("*.fuzz")))
    yield from (("python", name) for name in PYTHON_TESTS)


def reach(given):
    """Runs each test alone without a mutant, and keeps which mutants it reaches and how long it takes."""
    mutants = {m.number: m.key for m in read_table()}
    known = json.loads(REACH.read_text()) if REACH.exists() and not given.again else {"tables": [], "tests": {}}
    keys = sorted(mutants.values())
    if keys not in known["tables"]:
        known["tables"].append(keys)
    tests = known["tests"]

    def look(test):
        kind, name = test
        noted = FOLDER / f"reached-{threading.get_ident()}.txt"
        noted.unlink(missing_ok=True)
        command = command_of(kind, [name])
        code, seconds, _ = attempt(command, TOO_LONG, NVFUSER_MUTANT_REACHED=str(noted))
        numbers = set(map(int, noted.read_text().split())) if noted.exists() else set()
        noted.unlink(missing_ok=True)
        reached = sorted(mutants[number] for number in numbers)
        table = known["tables"].index(keys)
        return test, {"code": code, "seconds": round(seconds, 3), "reached": reached, "table": table}

    def is_known(test):
        of = tests.get("/".join(test))
        return of is not None and set(keys) <= set(known["tables"][of["table"]])

    unknown = [test for test in all_tests() if not is_known(test)]
    with ThreadPool(given.jobs) as pool:
        for (kind, name), of in pool.imap_unordered(look, unknown):
            tests[f"{kind}/{name}"] = of
            if of["code"] != 0:
                print(f"left out, as it ends with {of['code']} without a mutant: {kind}/{name}", flush=True)
            if len(tests) % 20 == 0:
                REACH.write_text(json.dumps(known))
    REACH.write_text(json.dumps(known))
    good = [of for of in tests.values() if of["code"] == 0]
    print(f"{len(good)} tests of {len(tests)}, {sum(of['seconds'] for of in good):.0f} s")
    for m in read_table():
        if not any(m.key in of["reached"] for of in good):
            print(f"no test reaches {m}")
    return 0


def batches(tests):
    """Tests of one program together, as long as they take less than four seconds; short ones first."""
    groups = []
    for kind, name, seconds in sorted(tests, key=lambda test: test[2]):
        group = next((g for g in groups if g[0] == kind != "drawn" and g[2] + seconds < 4 and len(g[1]) < 60), None)
        if group is None:
            groups.append([kind, [name], seconds])
        else:
            group[1].append(name)
            group[2] += seconds
    return groups


def caught_by(mutant, known, given):
    """The suite and the test that fail with this mutant, or None; and how many tests ran: the quick ones first, as many
    as take that many seconds without it."""
    tests = [(*test.split("/", 1), of["seconds"]) for test, of in known.items()
             if of["code"] == 0 and mutant.key in of["reached"]
             and of["seconds"] >= given.least
             and (given.kinds is None or test.split("/")[0] in given.kinds)]  # fmt: skip
    ran, spent = 0, 0.0
    for kind, names, seconds in batches(tests):
        if spent + seconds > given.budget:
            break
        ran += len(names)
        spent += seconds
        code, _, said = attempt(command_of(kind, names), 5 * seconds + 30, NVFUSER_MUTANT=str(mutant.number))
        if code == 0:
            continue
        line = re.search(r"^TEST CASE:\s*(.*)|^FAILED (\S+)|found/(\S+\.fuzz)", said, re.MULTILINE)
        which = next((word for word in line.groups() if word), names[0]) if line and kind != "drawn" else names[0]
        which = Path(which).name if kind == "found" else which
        return f"{kind}: {which}" + (f" ({code})" if code == "no end" or int(code) < 0 else ""), ran
    return None, ran


def run(given):
    known = json.loads(REACH.read_text())["tests"]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def is_wanted(mutant):
        if given.words and not any(word in f"{mutant.area} {mutant}" for word in given.words):
            return False
        known_result = results.get(mutant.key)
        return given.again or not known_result or not (known_result["by"] or mutant.equivalent)

    def tried(mutant):
        begin = time.time()
        return mutant, *caught_by(mutant, known, given), time.time() - begin

    with ThreadPool(given.jobs) as pool:
        for mutant, by, ran, seconds in pool.imap(tried, filter(is_wanted, read_table())):
            results[mutant.key] = {"by": by, "tests": ran, "seconds": round(seconds, 1)}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            said = by or ("EQUIVALENT" if mutant.equivalent else f"SURVIVES {ran} tests")
            print(f"{mutant}\n    {said} [{seconds:.0f} s]", flush=True)
    return report(given)


def report(_):
    mutants = read_table()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    of = {m.key: (results.get(m.key) or {}).get("by") for m in mutants}
    survivors = [m for m in mutants if m.key in results and not of[m.key] and not m.equivalent]
    for m in survivors:
        print(f"survives: {m}")
    for area in sorted({m.area for m in mutants}):
        those = [m for m in mutants if m.area == area]
        print(f"mutants of {area}: {len(those)}, caught {sum(bool(of[m.key]) for m in those)}, "
              f"equivalent {sum(bool(m.equivalent and not of[m.key]) for m in those)}")  # fmt: skip
    by = {}
    for suite in [name.split(":")[0] for name in of.values() if name]:
        by[suite] = by.get(suite, 0) + 1
    print("caught first by:", ", ".join(f"{suite} {count}" for suite, count in sorted(by.items(), key=lambda i: -i[1])))
    equivalent = sum(bool(m.equivalent and not of[m.key]) for m in mutants)
    missing = sum(m.key not in results for m in mutants)
    print(f"mutants: {len(mutants)}, caught {sum(map(bool, of.values()))}, equivalent {equivalent}, "
          f"survivors {len(survivors)}, not run {missing}")  # fmt: skip
    return 1 if survivors or missing else 0


def listed(_):
    mutants = read_table()
    for m in mutants:
        place(m, (ROOT / m.path).read_text())
        print(f"{m}\n    {m.original}  =>  {m.mutated or '(nothing)'}")
    print(f"{len(mutants)} mutants in {len({m.path for m in mutants})} files")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = {"list": listed, "build": build, "reach": reach, "run": run, "report": report}
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--budget", type=float, default=600, help="seconds of tests for a mutant at most (600)")
    parser.add_argument(
        "--least", type=float, default=0, help="seconds of a test, where quicker ones are known to pass (0)"
    )
    parser.add_argument("--kinds", type=lambda words: words.split(","), help="of tests, separated by commas")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="tests at the same time (1)")
    parser.add_argument("--again", action="store_true", help="also what is known")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    return verbs[given.verb](given)


if __name__ == "__main__":
    sys.exit(main())
