"""What a long chain of operations on parts, joins and shapes costs at its first call: growth with the number of steps.

    PYTHONPATH=build/python python benchmarks/chains.py [--steps 50 100 200] [--case NAME …]

Each chain is a definition in which every step's sizes are computed from the sizes before. Sizes are symbols, or
constants ("static"). Each runs in a process of its own on the CPU without kernels on the disk: `seconds` are those of
definition and first call, `compiler` the part of all processors' time that the host's compiler took, `MB` what the
process grew by at most. `growth` is the exponent of the last doubling of the steps: 1 is linear.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

ROWS = 1000  # elements of the axis that is worked on; no step of a chain uses them up
COLUMNS = 6


def part(fd, x, begin, end):
    return fd.ops.slice(x, [begin], [end])


def length(fd, x):
    return fd.ops.size(x, 0)


def stencil(fd, x, n):
    return fd.ops.add(part(fd, x, 1, ROWS), part(fd, x, 0, -1))


def wide_stencil(fd, x, n):
    left, middle, right = part(fd, x, 0, -2), part(fd, x, 1, -1), part(fd, x, 2, ROWS)
    return fd.ops.add(fd.ops.add(left, middle), right)


def same_slices(fd, x, n):
    parts = [part(fd, x, 1, ROWS) for _ in range(4)]
    return fd.ops.add(fd.ops.add(parts[0], parts[1]), fd.ops.add(parts[2], parts[3]))


def slices(fd, x, n):
    return part(fd, x, 1, ROWS)


def roll(fd, x, n):
    return fd.ops.cat([part(fd, x, 3, ROWS), part(fd, x, 0, 3)], 0)


def swap_chunks(fd, x, n):
    first, second = fd.ops.chunk(x, 2, 0)
    return fd.ops.cat([second, first], 0)


def pad_and_slice(fd, x, n):
    return fd.ops.relu(part(fd, fd.ops.pad(x, [1, 2]), 2, ROWS))


def shift_and_add(fd, x, n):
    return fd.ops.add(x, part(fd, fd.ops.pad(x, [1, 0]), 0, -1))


def reshape(fd, x, n):
    flat = fd.ops.reshape(x, [-1])
    return fd.ops.reshape(flat, [COLUMNS, -1] if n % 2 else [-1, COLUMNS])


def reshape_and_sin(fd, x, n):
    return fd.ops.sin(reshape(fd, x, n))


def flip(fd, x, n):
    size = length(fd, x)
    last = fd.ops.sub(size, fd.define_scalar(1))
    return fd.ops.index_select(x, fd.ops.sub(last, fd.ops.iota(size)), 0)


def expand_and_sum(fd, x, n):
    wide = fd.ops.broadcast_in_dim(x, [length(fd, x), fd.define_scalar(3)], [0])
    return fd.ops.sum(wide, [1])


def gather(fd, x, n):
    index = fd.ops.iota(fd.ops.sub(length(fd, x), fd.define_scalar(1)))
    return fd.ops.gather(x, index, 0)


def joined_halves(fd, x, n):
    first, second = fd.ops.chunk(x, 2, 0)
    return fd.ops.cat([fd.ops.sin(first), fd.ops.neg(second)], 0)


CASES = {
    "stencil": stencil,
    "wide stencil": wide_stencil,
    "same slice four times": same_slices,
    "slice": slices,
    "roll: cat(slice, slice)": roll,
    "chunk, cat": swap_chunks,
    "chunk, cat of functions": joined_halves,
    "pad, slice, relu": pad_and_slice,
    "x + shifted x": shift_and_add,
    "reshape to and fro": reshape,
    "reshape to and fro, sin": reshape_and_sin,
    "flip": flip,
    "expand, sum": expand_and_sum,
    "gather": gather,
}


def measure(case, static, steps):
    """In a process of its own: seconds, processor time, megabytes."""
    import numpy as np
    from nvfuser_direct import DataType, FusionDefinition

    shape = [ROWS // COLUMNS, COLUMNS] if case.startswith("reshape") else [ROWS]
    x = np.ones(shape, dtype=np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    with FusionDefinition() as fd:
        t = fd.define_tensor(shape if static else [-1] * len(shape), contiguity=True, dtype=DataType.Float)
        for n in range(steps):
            t = CASES[case](fd, t, n)
        fd.add_output(t)
    defined = time.perf_counter() - begin
    fd.execute([x])
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "definition": defined, "own": own,
            "compiler": children.ru_utime + children.ru_stime,
            "MB": (after.ru_maxrss - before.ru_maxrss) / 1024}  # fmt: skip


def in_own_process(case, static, steps, patience):
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NVFUSER_CACHE_DIR": cache}
        command = [sys.executable, __file__, "--measure", case, "--static" * static or "--symbolic", str(steps)]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise SystemExit(f"{case}, {steps} steps:\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--measure":
        print(json.dumps(measure(sys.argv[2], sys.argv[3] == "--static", int(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, nargs="*", default=[50, 100, 200])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=CASES)
    parser.add_argument("--sizes", nargs="*", default=["symbols", "static"])
    parser.add_argument("--patience", type=float, default=60, help="seconds after which a chain is given up")
    arguments = parser.parse_args()
    print(f"{'':35}{'steps':>6}{'seconds':>9}{'defined':>9}{'own':>9}{'compiler':>9}{'MB':>7}{'growth':>8}")
    for case in arguments.case:
        for sizes in arguments.sizes:
            earlier = None
            for steps in arguments.steps:
                found = in_own_process(case, sizes == "static", steps, arguments.patience)
                name = f"{case}, {sizes}"
                if found is None:
                    print(f"{name:35}{steps:6}  more than {arguments.patience:g} seconds", flush=True)
                    break
                work = found["own"] + found["compiler"]
                growth = math.log2(work / earlier) if earlier else math.nan
                earlier = work
                print(f"{name:35}{steps:6}{found['seconds']:9.2f}{found['definition']:9.2f}{found['own']:9.2f}"
                      f"{found['compiler']:9.2f}{found['MB']:7.0f}{growth:8.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
