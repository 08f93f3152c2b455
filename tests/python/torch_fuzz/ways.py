"""How programs are run: each way gives, for each program, what is wrong as text; empty if nothing is."""

import collections
import contextlib
import functools
import math
import os
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import torch
from nvfuser.dynamo.backend import backend, observing

from . import definitions, graphs, kind_programs, pointwise, trainings, use_programs
from .compare import differences
from .kinds import KINDS
from .observed import Expected, Observed, takes
from .uses import USES


def _compiled(function, options=None, dynamic=False):
    torch._dynamo.reset()
    return torch.compile(function, backend=backend, options=options, dynamic=dynamic)


def _all_of(programs):
    functions = [program.function(f"program_{place}") for place, program in enumerate(programs)]
    return lambda lists: [function(*tensors) for function, tensors in zip(functions, lists, strict=True)]


# Pointwise programs, bit by bit ---------------------------------------------------------------------


def run_exact(programs, device="cpu"):
    """All in one graph: compiling costs more than running."""
    everything = _all_of(programs)
    theirs = everything([program.tensors(device) for program in programs])
    compiled = _compiled(everything, {"exact_numerics": True})
    ours = compiled([program.tensors(device) for program in programs])
    return ["; ".join(filter(None, map(differences, mine, other))) for mine, other in zip(ours, theirs, strict=True)]


# Graphs, forward and backward -----------------------------------------------------------------------


def run_together(programs, dynamic=False):
    """All in one graph; if any is wrong, each alone."""
    if len(programs) == 1:
        return [_run_alone(programs[0], dynamic)]
    expected = [Expected(program) for program in programs]
    with observing() as seen:
        compiled = _compiled(_all_of(programs), dynamic=dynamic)
        found = Observed.of_many(compiled, [program.tensors() for program in programs])
    _count_left(seen)
    wrong = [each.wrong(one) for each, one in zip(expected, found, strict=True)]
    if not any(wrong):
        return wrong
    return [text and _run_alone(program, dynamic) for program, text in zip(programs, wrong, strict=True)]


def _run_alone(program, dynamic):
    """What is wrong; nothing where PyTorch itself gives that once it has traced the program."""
    expected = Expected(program)
    try:
        with observing() as seen:
            ours = Observed(_compiled(expected.function, dynamic=dynamic), program.tensors())
        _count_left(seen)
        text = expected.wrong(ours)
    except Exception as error:
        ours, text = None, f"{type(error).__name__}: {str(error).strip()[:300]}"
    if not text:
        return ""
    torch._dynamo.reset()
    try:
        traced = torch.compile(expected.function, backend="aot_eager_default_partitioner", dynamic=dynamic)
        expected.observed = Observed(traced, program.tensors())
    except Exception:
        return "" if ours is None else text
    return text if ours is None or expected.wrong(ours) else ""


def _count_left(seen):
    for graph in seen.graphs:
        LEFT.update(f"{_operation(node)}: {reason}" for node, reason in graph.cut.reasons.items())


# Operations that were left to PyTorch, why, and how often, in this process.
LEFT = collections.Counter()


def _operation(node):
    return str(getattr(node, "target", node))


@contextlib.contextmanager
def _fuser2():
    from nvfuser import torchscript

    assert torchscript.load(), "the TorchScript extension was not built"
    with torch.jit.fuser("fuser2"):
        yield


@contextlib.contextmanager
def _no_fuser():
    with torch.jit.fuser("fuser1"):
        torch._C._jit_override_can_fuse_on_cpu(False)  # until the line above is left
        yield


def run_scripts(programs):
    """Traced, then called until the profile is used, forward and backward. What TorchScript itself gives then, with no
    fuser, is no failure (of `chunk` it cannot say the gradient where a part is not used)."""
    found = []
    for program in programs:
        expected = Expected(program)
        with _fuser2():
            text = _wrong_of_script(expected, program)
        if text:
            with _no_fuser():
                text = text if not _wrong_of_script(expected, program) else ""
        found.append(text)
    return found


def _wrong_of_script(expected, program):
    traced = torch.jit.trace(expected.function, program.tensors(), check_trace=False)
    for _ in range(4):
        try:
            text = expected.wrong(Observed(traced, program.tensors()), layout=False)
        except Exception as error:
            text = f"{type(error).__name__}: {str(error).strip()[:300]}"
        if text:
            return text
    return ""


@contextlib.contextmanager
def _failing_aloud():
    """What this backend cannot do is no error to users; here it is."""
    with mock.patch.dict(os.environ, {"NVFUSER_DISABLE": "fallback"}):
        yield


# Between numbers of one kind and one use, beyond those that anybody asks for.
_ELSEWHERE = math.lcm(len(KINDS), len(USES)) * 10**9
_TURNS = 50


def _certain(draw):
    """A number of which nothing is drawn that eager takes stands for another one of its kind, so that N numbers are N
    programs."""

    def drawn(seed):
        programs = (draw(seed + turn * _ELSEWHERE) for turn in range(_TURNS))
        return next((program for program in programs if program is not None), None)

    return drawn


class Way(NamedTuple):
    draw: Callable  # seed -> program
    run: Callable  # programs -> what is wrong with each
    batch: int  # how many are run at once
    takes: Callable = takes  # whether eager takes a program that was cut down


WAYS = {
    "definitions": Way(_certain(definitions.draw), definitions.run, 12, definitions.takes),
    "exact": Way(_certain(pointwise.draw), run_exact, 24),
    "graphs": Way(_certain(graphs.draw), run_together, 8),
    "dynamic": Way(_certain(graphs.draw), functools.partial(run_together, dynamic=True), 8),
    "kinds": Way(_certain(kind_programs.draw), run_together, 12),
    "kinds-dynamic": Way(_certain(kind_programs.draw), functools.partial(run_together, dynamic=True), 12),
    "trainings": Way(_certain(trainings.draw), trainings.run, 6, trainings.takes),
    "uses": Way(_certain(use_programs.draw), use_programs.run, 9),
    "scripts": Way(_certain(graphs.draw), run_scripts, 8),
}


def run(way, programs):
    """What is wrong with each program."""
    function = WAYS[way].run
    with _failing_aloud():
        try:
            return function(programs)
        except Exception as error:
            if len(programs) == 1:
                return [f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300] if str(error) else ''}"]
            return [text for program in programs for text in run(way, [program])]
