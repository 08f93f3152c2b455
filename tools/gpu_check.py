"""Everything that needs a GPU, on a machine that has one: tests, examples, compute-sanitizer, benchmarks.

    python3 tools/gpu_check.py [--build FOLDER] [--log FOLDER] [suite] [sanitizers] [benchmarks] [peers]

Wants a built tree (`./dev build`, and `./dev build benchmarks` for the last two); no word means the first three.
Tests and sanitizers run side by side, benchmarks alone. A line for each check that fails or takes
longer than 10 s; what it printed is in the log folder. Exits with 1 if a test fails or a sanitizer finds something.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FAMILIES = (
    *("casts", "shapes", "factories", "unary operations", "binary arithmetic", "comparisons and bits"),
    *("ternary operations", "mixed dtypes", "reductions", "composites"),
)
# What shapes of kernels there are: each is run under each tool.
SHAPES = {
    "scheduled by hand": "scheduled: *",
    "boxes, threads that load": "scheduled boxes: *,scheduled roles: *",
    "reductions": "scheduler reduction: *",
    "rows held on the chip": "scheduler persistent: *",
    "rows and columns reduced together": "scheduler inner-outer: *",
    "transposes": "scheduler transpose: *",
    "element-wise, views, updates in place": "preseg: *",
    "slices and joins": "a tensor concatenated*,two slices*,two reshapes*",
    "random numbers": "random numbers*",
    "circular buffers in registers": "a circular buffer in registers*",
    "families": "families run in few kernels",
    "library operations": "matmul of all shapes,neighbours of a product*,on a GPU sorting*,products of groups*",
}
# What a tool says of a kernel. Copies to the host read the gaps of strided tensors, which nobody writes, and what
# bulk stores wrote, which initcheck does not see: those are no complaints.
COMPLAINTS = re.compile(
    r"^========= (?:Invalid|Error: |Warning: |Barrier error|Uninitialized (?!access.*cudaMemcpy))", re.M
)
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


class Checks:
    def __init__(self, build, log):
        self.bin, self.log = build / "bin", log
        self.failures = self.done = 0
        self.env = {**os.environ, "EXAMPLE_DEVICE": "cuda", "NVFUSER_TEST_DEVICE": "gpu", "NVFUSER_CACHE_MB": "0"}
        self.env["LD_LIBRARY_PATH"] = f"{build.resolve() / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"

    def run(self, name, command, limit=400, complains=None):
        """Fails by its exit code, and where `complains` finds something in what was printed."""
        begin = time.monotonic()
        path = self.log / ("".join(c if c.isalnum() else "_" for c in name) + ".txt")
        with open(path, "w") as out:
            try:
                code = subprocess.run(command, stdout=out, stderr=out, env=self.env, timeout=limit).returncode
            except subprocess.TimeoutExpired:
                code = f"no end in {limit} s"
        if code == 0 and complains is not None and complains.search(path.read_text(errors="replace")):
            code = "complaints"
        if code != 0:
            self.failures += 1
        self.done += 1
        took = time.monotonic() - begin
        if code != 0 or took > 10:
            print(f"{'ok' if code == 0 else 'FAILED'} {name}, {took:.0f} s", flush=True)
        if code != 0:
            print(f"  {code}: {' '.join(map(str, command))}")
            print("".join("  " + line for line in path.read_text(errors="replace").splitlines(True)[-12:]))

    def side_by_side(self, named, jobs=None):
        with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
            for future in [pool.submit(self.run, *check) for check in named]:
                future.result()

    def examples(self):
        return sorted(path for path in self.bin.glob("example_*") if path.name != "example_demo")

    def cases(self, program):
        """Names of a program's test cases, but for the table's."""
        command = [program, "-ltc", "-tce=operation table: *on *"]
        printed = subprocess.run(command, capture_output=True, text=True, env=self.env, check=True).stdout
        return [line for line in printed.splitlines() if line and line[0] not in "[="]

    def suite(self):
        numerics = self.bin / "nvfuser_test_numerics"
        tests = [(f"operation table: {f}", [numerics, f"-tc=operation table: {f} on CUDA"]) for f in FAMILIES]
        tests += [(path.name, [path]) for path in self.examples()]
        for kind in ("device", "numerics", "unit", "golden", "error", "fuzz", "compile"):
            program = self.bin / f"nvfuser_test_{kind}"
            tests += [(f"{kind}: {name}", [program, "-tc=" + name.replace(",", "\\,")]) for name in self.cases(program)]
        tests += [("random fusions", [self.bin / "nvfuser_fuzz", "--count", "500", "--folder", self.log / "fuzz"])]
        self.side_by_side(tests)

    def sanitizers(self):
        numerics = self.bin / "nvfuser_test_numerics"
        checks = []
        for tool in TOOLS:
            sanitizer = ["compute-sanitizer", "--tool", tool, "--print-limit", "100000"]
            named = [(name, [numerics, "-tc=" + tests]) for name, tests in SHAPES.items()]
            named += [(path.name, [path]) for path in self.examples()]
            checks += [(f"{tool}: {name}", [*sanitizer, *command], 400, COMPLAINTS) for name, command in named]
        self.side_by_side(checks)

    def benchmarks(self):
        for name in ("bench_scheduled", "bench_automatic"):
            self.run(name, [self.bin / name])
            sys.stdout.write((self.log / f"{name}.txt").read_text())

    def peers(self):
        folder = Path(__file__).parents[1] / "benchmarks"
        self.env["PYTHONPATH"] = os.pathsep.join([str(self.bin.parent / "python"), str(folder)])
        self.run("peers", [sys.executable, folder / "sweep.py"], 580)
        sys.stdout.write((self.log / "peers.txt").read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", type=Path)
    parser.add_argument("--log", default="build/gpu_check", type=Path)
    parser.add_argument("what", nargs="*", choices=[[], "suite", "sanitizers", "benchmarks", "peers"])
    arguments = parser.parse_args()
    arguments.log.mkdir(parents=True, exist_ok=True)
    checks = Checks(arguments.build, arguments.log)
    for what in arguments.what or ["suite", "sanitizers", "benchmarks"]:
        begin = time.monotonic()
        getattr(checks, what)()
        print(
            f"{what}: {time.monotonic() - begin:.0f} s, {checks.failures} of {checks.done} checks failed so far",
            flush=True,
        )
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
