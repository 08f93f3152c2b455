"""Random programs of PyTorch, compiled and compared with eager: python -m torch_fuzz WAY --count N --seed S.

Program i of seed S has the number S * 1,000,000 + i. Each batch of programs runs in a process of its own, so that one
that crashes is one failure. What fails is cut down, and written to a file that repeats it.
"""

import argparse
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

from .program import shrink
from .ways import WAYS, run

_PER_PROCESS = 20  # batches
_SECONDS = 900  # of a process


def _examine(way, first, count, results):
    """In a child: one line for each program that fails."""
    logging.disable(logging.CRITICAL)
    draw, _, batch = WAYS[way]
    with open(results, "w", buffering=1) as file:
        for begin in range(first, first + count, batch):
            programs = [draw(number) for number in range(begin, min(begin + batch, first + count))]
            programs = [program for program in programs if program is not None]
            print(json.dumps({"at": begin, "programs": len(programs)}), file=file)
            for program, text in zip(programs, run(way, programs), strict=True):
                if text:
                    print(json.dumps({"seed": program.seed, "wrong": text}), file=file)


def _in_child(way, first, count, folder):
    """(programs, {seed: what is wrong})"""
    results = folder / f"{os.getpid()}.{first}.jsonl"
    child = multiprocessing.get_context("fork").Process(target=_examine, args=(way, first, count, results))
    child.start()
    child.join(_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    results.unlink(missing_ok=True)
    programs = sum(line.get("programs", 0) for line in lines)
    wrong = {line["seed"]: line["wrong"] for line in lines if "seed" in line}
    if child.exitcode != 0:
        at = max((line["at"] for line in lines if "at" in line), default=first)
        wrong[at] = f"crash or hang (exit {child.exitcode}) in the batch from {at}"
    return programs, wrong


_CALLS = {
    "exact": 'torch.compile(program, backend="nvfuser", options={"exact_numerics": True}, dynamic=False)(*tensors())',
    "graphs": 'torch.compile(program, backend="nvfuser", dynamic=False)(*tensors())  # and gradients: torch_fuzz.ways',
    "dynamic": 'torch.compile(program, backend="nvfuser", dynamic=True)(*tensors())  # and gradients: torch_fuzz.ways',
    "scripts": "torch.jit.trace(program, tensors())(*tensors())  # four times, in torch.jit.fuser('fuser2')",
}


def _report(way, seed, text, folder):
    """Cuts a failing program down, and writes what repeats it."""
    program = WAYS[way][0](seed)
    print(f"\n{way} {seed}: {text}", flush=True)
    if program is None or text.startswith("crash"):
        return
    small = shrink(program, lambda candidate: bool(run(way, [candidate])[0]), 60)
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
    parser.add_argument("--only", type=int, help="the program of this number")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore", category=UserWarning)  # PyTorch's own, of what is drawn
    torch.set_num_threads(1)
    if given.only is not None:
        program = WAYS[given.way][0](given.only)
        print(program.text())
        print(run(given.way, [program])[0] or "equal")
        return 0
    begin, total, wrong = time.time(), 0, {}
    first = given.seed * 1_000_000 + given.first
    step = _PER_PROCESS * WAYS[given.way][2]
    for place in range(first, first + given.count, step):
        programs, failed = _in_child(given.way, place, min(step, first + given.count - place), given.folder)
        total += programs
        wrong.update(failed)
        for seed, text in failed.items():
            _report(given.way, seed, text, given.folder)
    crashes = sum(text.startswith("crash") for text in wrong.values())
    print(
        f"torch_fuzz {given.way}: {total} programs of seed {given.seed}, {len(wrong) - crashes} mismatches, "
        f"{crashes} crashes, {time.time() - begin:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
