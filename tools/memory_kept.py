#!/usr/bin/env python3
"""What a process keeps of many definitions, calls and errors: python3 tools/memory_kept.py [--definitions N] …

Defines fusions of several forms and drops them, defines one anew for each of many calls with changing sizes, and makes
mistakes of several kinds; prints the process' memory behind each tenth. Fails where the second half of any keeps more
than --most bytes a round. Run with PYTHONPATH=build/python, with NumPy there.
"""

import argparse
import gc
import sys
from pathlib import Path

import numpy as np
from nvfuser_direct import DataType, FusionDefinition


def resident():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def define(number):
    """A fusion of one of 24 forms, and its text."""
    with FusionDefinition() as fd:
        rank = 1 + number % 3
        dtype = [DataType.Float, DataType.Half, DataType.Double, DataType.Int][number % 4]
        x = fd.define_tensor(shape=[-1] * rank, contiguity=[True] * rank, dtype=dtype)
        y = fd.ops.add(x, 1 + number % 2)
        total = fd.ops.sum(y, [0], keepdim=True)
        fd.add_output(fd.ops.mul(y, total))
        fd.add_output(fd.ops.reshape(y, [-1]))
    return repr(fd) if number % 10 == 0 else ""


def call(number):
    """The same fusion, defined again, on rows of 64 lengths."""
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
        fd.add_output(fd.ops.div(x, fd.ops.sum(x, [1], keepdim=True)))
    fd.execute([np.ones((2 + number % 64, 5), dtype=np.float32)])


def _beyond_rank(fd, x):
    return fd.ops.sum(x, [7])


def _too_few_axes(fd, x):
    return fd.ops.broadcast(x, [True])


def _same_axis_twice(fd, x):
    return fd.ops.permute(x, [0, 0])


def err(number):
    """A mistake in a definition, or in a call."""
    mistakes = [_beyond_rank, _too_few_axes, _same_axis_twice]
    fd = FusionDefinition()
    try:
        with fd:
            x = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
            fd.add_output(mistakes[number % 4](fd, x) if number % 4 < 3 else fd.ops.neg(x))
        fd.execute([], device="cpu")
    except (RuntimeError, ValueError, IndexError, TypeError):
        return
    raise AssertionError("that was a mistake")


def grows(what, act, count, most):
    """Whether the second half of `count` rounds keeps more than `most` bytes a round."""
    act(0)
    seen = [resident()]
    for tenth in range(10):
        for number in range(count // 10):
            act(tenth * (count // 10) + number)
        seen.append(resident())
    print(f"{what}: {count} rounds, MB: {', '.join(f'{each / 1e6:.1f}' for each in seen)}")
    return (seen[10] - seen[5]) / (count // 2) > most


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--definitions", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--errors", type=int, default=10_000)
    parser.add_argument("--most", type=float, default=16.0, help="bytes that a round may keep")
    given = parser.parse_args()
    found = [
        grows("definitions", define, given.definitions, given.most),
        grows("calls", call, given.calls, given.most),
        grows("errors", err, given.errors, given.most),
    ]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
