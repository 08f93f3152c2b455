"""Random programs of PyTorch, compiled and compared with eager: python -m torch_fuzz WAY --count N --seed S.

Program i of seed S has the number S * 1,000,000 + i. Each batch of programs runs in a process of its own, so that one
that crashes is one failure. What fails is cut down, and written to a file that repeats it.
"""

import argparse
import collections
import json
import logging
import multiprocessing
import os
import sys
import time
import warnings
from pathlib import Path

import nvfuser.dynamo  # noqa: F401  (children have it)
import torch

from .kind_programs import numbers as numbers_of
from .kinds import KINDS
from .program import shrink
from .ways import LEFT, WAYS, run

_PER_PROCESS = 20  # batches
_SECONDS = 900  # of a process


def _examine(way, numbers, results):
    """In a child: one line for each program that fails."""
    logging.disable(logging.CRITICAL)
    draw, batch = WAYS[way].draw, WAYS[way].batch
    with open(results, "w", buffering=1) as file:
        for begin in range(0, len(numbers), batch):
            programs = [draw(number) for number in numbers[begin : begin + batch]]
            programs = [program for program in programs if program is not None]
            print(json.dumps({"at": numbers[begin], "programs": len(programs)}), file=file)
            for program, text in zip(programs, run(way, programs), strict=True):
                if text:
                    print(json.dumps({"seed": program.seed, "wrong": text}), file=file)
            print(json.dumps({"left": LEFT}), file=file)
            LEFT.clear()


def _in_child(way, numbers, folder, left):
    """(programs, {seed: what is wrong})"""
    results = folder / f"{os.getpid()}.{numbers[0]}.jsonl"
    child = multiprocessing.get_context("fork").Process(target=_examine, args=(way, numbers, results))
    child.start()
    child.join(_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    results.unlink(missing_ok=True)
    programs = sum(line.get("programs", 0) for line in lines)
    wrong = {line["seed"]: line["wrong"] for line in lines if "seed" in line}
    for line in lines:
        left.update(line.get("left", {}))
    if child.exitcode != 0:
        at = max((line["at"] for line in lines if "at" in line), default=numbers[0])
        wrong[at] = f"crash or hang (exit {child.exitcode}) in the batch from {at}"
    return programs, wrong


_CALLS = {
    "exact": 'torch.compile(program, backend="nvfuser", options={"exact_numerics": True}, dynamic=False)(*tensors())',
    "graphs": 'torch.compile(program, backend="nvfuser", dynamic=False)(*tensors())  # and gradients: torch_fuzz.ways',
    "kinds": 'torch.compile(program, backend="nvfuser", dynamic=False)(*tensors())  # and more: observed.py',
    "kinds-dynamic": 'torch.compile(program, backend="nvfuser", dynamic=True)(*tensors())  # and more: observed.py',
    "dynamic": 'torch.compile(program, backend="nvfuser", dynamic=True)(*tensors())  # and gradients: torch_fuzz.ways',
    "uses": "program(*tensors())  # the use: torch_fuzz.use_programs",
    "trainings": "",
    "definitions": "",
    "scripts": "torch.jit.trace(program, tensors())(*tensors())  # four times, in torch.jit.fuser('fuser2')",
}


def _report(way, seed, text, folder):
    """Cuts a failing program down, and writes what repeats it."""
    program = WAYS[way].draw(seed)
    print(f"\n{way} {seed}: {text}", flush=True)
    if program is None or text.startswith("crash"):
        return
    small = shrink(program, lambda candidate: WAYS[way].takes(candidate) and bool(run(way, [candidate])[0]), 40)
    path = folder / f"{way}_{seed}.py"
    path.write_text(small.script(_CALLS[way]))
    print(f"{small.text()}  inputs: {', '.join(map(repr, small.inputs.values()))}\n  in {path}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="torch_fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=list(WAYS))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="begin at this program")
    parser.add_argument("--folder", type=Path, default=Path("build/fuzz/torch"), help="for files that repeat failures")
    parser.add_argument("--kind", choices=list(KINDS), help="of the ways `kinds` and `kinds-dynamic`: this kind alone")
    parser.add_argument("--left", action="store_true", help="print what was left to PyTorch, and why")
    parser.add_argument("--only", type=int, help="the program of this number")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=UserWarning)  # PyTorch's own, of what is drawn
    torch.set_num_threads(1)
    if given.only is not None:
        program = WAYS[given.way].draw(given.only)
        print(program.text())
        print(run(given.way, [program])[0] or "equal")
        return 0
    begin, total, wrong, left = time.time(), 0, {}, collections.Counter()
    first = given.seed * 1_000_000 + given.first
    numbers = range(first, first + given.count)
    numbers = numbers_of(given.kind, first, given.count) if given.kind else numbers
    step = _PER_PROCESS * WAYS[given.way].batch
    for place in range(0, len(numbers), step):
        programs, failed = _in_child(given.way, numbers[place : place + step], given.folder, left)
        total += programs
        wrong.update(failed)
        for seed, text in failed.items():
            _report(given.way, seed, text, given.folder)
    for text, count in left.most_common() if given.left else ():
        print(f"{count:6} left to PyTorch: {text}")
    crashes = sum(text.startswith("crash") for text in wrong.values())
    print(
        f"torch_fuzz {given.way}: {total} programs of seed {given.seed}, {len(wrong) - crashes} mismatches, "
        f"{crashes} crashes, {time.time() - begin:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
