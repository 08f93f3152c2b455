"""What the first call of a large fusion costs, by stage: growth with its size.

    PYTHONPATH=build/python python benchmarks/first_calls.py [--case NAME …] [--steps 50 100 200] [--sizes symbols]

Long chains, many inputs and outputs, sums, norms one after another, and chains in which every step's sizes are computed
from the sizes before. Sizes are symbols, or constants ("static"). Each runs in a process of its own on the CPU without
kernels on the disk. Columns: `seconds` on the clock of definition and first call; `own`, processor time without the
compiler's; by the clock, `passes` (sizes, and passes over the whole fusion), `segments`, `schedules`, `lowering` and
`text`; `compiler`, processor time of the host's compiler; how many `kernels`; `MB` that the process grew by at most.
`growth` is the exponent of the last step in size, of own and compiler together: 1 is linear.
"""

import argparse
import collections
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
STAGES = ("sizes and passes over the fusion", "segmentation", "schedules and kernels")


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


def pad_and_slice_alone(fd, x, n):
    return part(fd, fd.ops.pad(x, [1, 0]), 0, -1)


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


def mul_add(fd, x, n):
    return fd.ops.add(fd.ops.mul(x, fd.define_scalar(1.0 + 0.001 * n)), fd.define_scalar(0.5)) if n % 2 else x


def sine(fd, x, n):
    return fd.ops.sin(x)


def mixed(fd, x, n):
    function = ("sin", "exp", "tanh", "sigmoid", "relu", "abs", "sqrt", "neg", "cos", "reciprocal")[n % 10]
    return getattr(fd.ops, function)(x)


def layer_norm(fd, x, n):
    rows, columns = length(fd, x), fd.ops.size(x, 1)
    mean = fd.ops.broadcast_in_dim(fd.ops.mean(x, [1]), [rows, columns], [0])
    centred = fd.ops.sub(x, mean)
    variance = fd.ops.broadcast_in_dim(fd.ops.mean(fd.ops.mul(centred, centred), [1]), [rows, columns], [0])
    scale = fd.ops.rsqrt(fd.ops.add(variance, fd.define_scalar(1e-5)))
    return fd.ops.add(x, fd.ops.mul(centred, scale))


def chain(step, shape=(ROWS,)):
    """One input, one output, `n` times a step."""

    def define(fd, define_input, n):
        x = define_input(shape)
        for i in range(n):
            x = step(fd, x, i)
        fd.add_output(x)

    return define


def join_inputs(fd, define_input, n):
    fd.add_output(fd.ops.cat([define_input((8, 16)) for _ in range(n)], 0))


def inputs_and_outputs(fd, define_input, n):
    for _ in range(n):
        fd.add_output(fd.ops.relu(fd.ops.add(define_input((64, 32)), fd.define_scalar(1.0))))


def tensors_of_unlike_shapes(fd, define_input, n):
    for i in range(n):
        shape = (8 + i, 16)
        fd.add_output(fd.ops.add(fd.ops.mul(define_input(shape), fd.define_scalar(0.9)), define_input(shape)))


def outputs_of_one(fd, define_input, n):
    x = define_input((ROWS,))
    for i in range(n):
        fd.add_output(fd.ops.mul(x, fd.define_scalar(1.0 + i)))


def sum_of_inputs(fd, define_input, n):
    total = define_input((64, 32))
    for _ in range(n - 1):
        total = fd.ops.add(total, define_input((64, 32)))
    fd.add_output(total)


def row_sums(fd, define_input, n):
    for _ in range(n):
        fd.add_output(fd.ops.sum(define_input((64, 32)), [1]))


def row_sums_of_one(fd, define_input, n):
    x = define_input((64, 32))
    for i in range(n):
        fd.add_output(fd.ops.sum(fd.ops.mul(x, fd.define_scalar(1.0 + i)), [1]))


MATRIX = (ROWS // COLUMNS, COLUMNS)
CASES = {
    "mul, add": chain(mul_add),
    "sin": chain(sine),
    "ten functions": chain(mixed),
    "join of inputs": join_inputs,
    "inputs and outputs": inputs_and_outputs,
    "tensors of unlike shapes": tensors_of_unlike_shapes,
    "outputs of one input": outputs_of_one,
    "sum of inputs": sum_of_inputs,
    "row sums": row_sums,
    "row sums of one input": row_sums_of_one,
    "layer norms": chain(layer_norm, (64, 129)),
    "slice of a pad": chain(pad_and_slice_alone),
    "stencil": chain(stencil),
    "wide stencil": chain(wide_stencil),
    "same slice four times": chain(same_slices),
    "slice": chain(slices),
    "roll: cat(slice, slice)": chain(roll),
    "chunk, cat": chain(swap_chunks),
    "chunk, cat of functions": chain(joined_halves),
    "pad, slice, relu": chain(pad_and_slice),
    "x + shifted x": chain(shift_and_add),
    "reshape to and fro": chain(reshape, MATRIX),
    "reshape to and fro, sin": chain(reshape_and_sin, MATRIX),
    "flip": chain(flip),
    "expand, sum": chain(expand_and_sum),
    "gather": chain(gather),
}


def measure(case, static, steps):
    """In a process of its own: seconds, processor time, megabytes, kernels."""
    import numpy as np
    from nvfuser_direct import DataType, FusionDefinition

    before = resource.getrusage(resource.RUSAGE_SELF)
    begin = time.perf_counter()
    arguments = []
    with FusionDefinition() as fd:

        def define_input(shape):
            arguments.append(np.ones(shape, dtype=np.float32))
            sizes = list(shape) if static else [-1] * len(shape)
            return fd.define_tensor(sizes, contiguity=True, dtype=DataType.Float)

        CASES[case](fd, define_input, steps)
    fd.execute(arguments)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "own": own, "compiler": children.ru_utime + children.ru_stime,
            "MB": (after.ru_maxrss - before.ru_maxrss) / 1024}  # fmt: skip


def stages(output):
    """Seconds of each stage, from the dump pass_times of the plan and of its kernels."""
    took = collections.Counter()
    for line in output.splitlines():
        number, found, stage = line.partition(" ms  ")
        if found:
            took[stage if stage in STAGES or stage == "code generation" else "lowering"] += float(number) / 1000
    kernels = sum(line.endswith(" ms  code generation") for line in output.splitlines())
    in_kernels = took["lowering"] + took["code generation"]
    return {"passes": took[STAGES[0]], "segments": took[STAGES[1]], "schedules": took[STAGES[2]] - in_kernels,
            "lowering": took["lowering"], "text": took["code generation"], "kernels": kernels}  # fmt: skip


def in_own_process(case, static, steps, patience):
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NVFUSER_CACHE_DIR": cache, "NVFUSER_DUMP": "pass_times"}
        command = [sys.executable, __file__, "--measure", case, "--static" * static or "--symbolic", str(steps)]
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=patience)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise SystemExit(f"{case}, {steps} steps:\n{done.stderr}")
        return {**stages(done.stdout), **json.loads(done.stdout.splitlines()[-1])}


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
    columns = ["seconds", "own", "passes", "segments", "schedules", "lowering", "text", "compiler"]
    print(f"{'':35}{'steps':>6}" + "".join(f"{name:>10}" for name in columns) + "  kernels    MB  growth")
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
                growth = math.log(work / earlier[1]) / math.log(steps / earlier[0]) if earlier else math.nan
                earlier = steps, work
                print(f"{name:35}{steps:6}" + "".join(f"{found[column]:10.2f}" for column in columns)
                      + f"{found['kernels']:9}{found['MB']:6.0f}{growth:8.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
