"""Random programs in random uses (uses.py): drawn, and run beside eager."""

import random
from dataclasses import replace
from functools import partial

import torch
from nvfuser.dynamo.backend import backend

from . import graphs, kind_programs
from .kinds import KINDS
from .observed import Expected
from .uses import USES, WRITTEN

_NAMES = list(USES)
_OTHERS = [kind for kind in KINDS if kind not in ("missing", "half", "autocast")]


def draw(seed):
    """The program of a seed, whose use is that number's; None where nothing was drawn, or eager refuses the use."""
    use, rng = _NAMES[seed % len(_NAMES)], random.Random(seed)
    share = rng.random()
    if use in WRITTEN and share < 0.6:
        program = kind_programs.draw(seed, "in place")
    elif share < 0.5:
        program = graphs.draw(seed)
    else:
        program = kind_programs.draw(seed, rng.choice(_OTHERS))
    program = program and replace(program, use=use)
    return program if program is not None and _expected(program) else None


def _expected(program):
    """(call, what eager gives) of each call that eager takes."""
    use, found = USES[program.use], []
    for call in use.calls(program, random.Random(program.seed)):
        try:
            found.append((call, Expected(call.program, partial(use.wrapped(program), **call.words), use.observe)))
        except (RuntimeError, IndexError, ValueError, TypeError, AttributeError, NotImplementedError):
            continue
    return found


def run(programs):
    """What is wrong with each, one after another."""
    return [_run(program) for program in programs]


def _run(program):
    expected = _expected(program)
    text = _compared(program, expected, backend)
    # Nothing is wrong where PyTorch itself does that once it has traced the program.
    return text if text and not _compared(program, expected, "aot_eager_default_partitioner") else ""


def _compared(program, expected, chosen):
    use = USES[program.use]
    torch._dynamo.reset()
    compiled = torch.compile(use.wrapped(program), backend=chosen, **use.options)
    for place, (call, each) in enumerate(expected):
        tensors = call.program.tensors()
        try:
            found = use.observe(partial(compiled, **call.words), tensors)
        except Exception as error:
            return f"{program.use}, call {place}: {type(error).__name__}: {str(error).strip()[:300]}"
        if text := each.wrong(found):
            shapes = [tuple(x.shape) for x in tensors]
            return f"{program.use}, call {place} of {shapes} {call.words or ''}: {text}"
    return ""
