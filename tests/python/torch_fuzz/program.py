"""A random program: inputs and statements as text, so that it can be printed, run in several ways, and cut down."""

import contextlib
import re
import sys
import types
from dataclasses import dataclass, field, replace

import torch
from torch._subclasses import FakeTensorMode

from .inputs import Input

PRELUDE = """import torch
from torch.nn import functional as F

aten = torch.ops.aten
"""
# What statements may name, as a module of its own: tracing looks names up where a function is from.
_MODULE = types.ModuleType("torch_fuzz_program")
exec(PRELUDE, vars(_MODULE))
sys.modules[_MODULE.__name__] = _MODULE
_NAMES = vars(_MODULE)


@dataclass
class Program:
    """`statements`: (name, expression) in order; `outputs`: names; `within`: what they run in, as text; `use`: how it
    is called (uses.py)."""

    seed: int
    inputs: dict = field(default_factory=dict)  # name: Input
    statements: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    within: str = ""
    use: str = ""

    def text(self, name="program"):
        lines = [f"def {name}({', '.join(self.inputs)}):"]
        lines += [f"    with {self.within}:"] if self.within else []
        indent = "        " if self.within else "    "
        lines += [f"{indent}{result} = {expression}" for result, expression in self.statements]
        return "\n".join([*lines, f"    return ({', '.join(self.outputs)},)"]) + "\n"

    def function(self, name="program", text=""):
        """`text`: that of the function, where it is another one."""
        scope = dict(_NAMES)
        exec(compile(text or self.text(name), f"<{name} {self.seed}>", "exec"), scope)
        return scope[name]

    def tensors(self, device="cpu"):
        return [each.make(device) for each in self.inputs.values()]

    def smaller(self):
        return _smaller(self)

    def script(self, call):
        """A file that does the same: makes the inputs, runs eager and `call`, an expression over `program` and
        `tensors`, and prints where they differ."""
        inputs = ",\n    ".join(repr(each) for each in self.inputs.values())
        return (
            f'"""A random program of seed {self.seed}. Run with PYTHONPATH=build/python:tests/python."""\n\n{PRELUDE}\n'
            "import nvfuser.dynamo  # makes the backend known\n"
            "from torch_fuzz.compare import differences\nfrom torch_fuzz.inputs import Input\n\n\n"
            f"{self.text()}\n\nINPUTS = [\n    {inputs},\n]\n\n\ndef tensors():\n"
            "    return [each.make() for each in INPUTS]\n\n\n"
            f"theirs = program(*tensors())\nours = {call}\n"
            "for position, (a, b) in enumerate(zip(ours, theirs)):\n"
            '    print(position, differences(a, b) or "equal")\n'
        )


_WORD = re.compile(r"\b[a-z]\d+\b")
_WRITES = re.compile(r"\.\w+[a-z]_\(|out=")


def names_in(expression):
    """Inputs and results that an expression reads: a letter and a number each."""
    return _WORD.findall(expression)


def renamed(expression, name, other):
    """The expression with `other` where it reads `name`."""
    return _WORD.sub(lambda match: other if match.group() == name else match.group(), expression)


def _read(statements):
    return {name for _, expression in statements for name in names_in(expression)}


def needed(program):
    """The program without what no output needs. What is written in place may be seen in any tensor."""
    wanted, statements = set(program.outputs), []
    for name, expression in reversed(program.statements):
        if name in wanted or _WRITES.search(expression):
            statements.append((name, expression))
            wanted.update(names_in(expression))
    inputs = {name: each for name, each in program.inputs.items() if name in wanted}
    return replace(program, inputs=inputs, statements=statements[::-1])


def shrink(program, fails, most=200):
    """A smaller program that fails, too, of those that `smaller` gives. `fails(program)` is asked at most so many
    times."""
    asked = 0

    def still(candidate):
        nonlocal asked
        asked += 1
        try:
            return asked <= most and fails(candidate)
        except Exception:  # no program any more
            return False

    changed = True
    while changed and asked < most:
        changed = False
        for candidate in program.smaller():
            if still(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(program):
    """One output, each statement's operands instead of its result, each result as the output, plainer inputs."""
    for output in program.outputs if len(program.outputs) > 1 else ():
        yield needed(replace(program, outputs=[output]))
    for name, _ in program.statements[:-1]:
        yield needed(replace(program, outputs=[name]))
    for position, (name, expression) in enumerate(program.statements):
        rest = program.statements[:position] + program.statements[position + 1 :]
        if _WRITES.search(expression) and name not in program.outputs and name not in _read(rest):
            yield needed(replace(program, statements=rest))
    for position, (name, expression) in enumerate(program.statements):
        for operand in dict.fromkeys(names_in(expression)):
            rest = program.statements[:position] + program.statements[position + 1 :]
            statements = [(other, renamed(text, name, operand)) for other, text in rest]
            outputs = [operand if output == name else output for output in program.outputs]
            if not any(output in program.inputs for output in outputs):
                yield needed(replace(program, statements=statements, outputs=outputs))
    for name, each in program.inputs.items():
        if each.layout != "contiguous":
            yield replace(program, inputs={**program.inputs, name: replace(each, layout="contiguous")})
        if each.values in ("special", "missing"):
            yield replace(program, inputs={**program.inputs, name: replace(each, values="ordinary")})


# What PyTorch says of operands that it does not take.
_REFUSALS = (RuntimeError, IndexError, TypeError, NotImplementedError, ValueError, ZeroDivisionError, AttributeError)


class Builder:
    """Draws a program statement by statement, each run at once: what PyTorch refuses is not taken."""

    def __init__(self, seed, rng, device="cpu", within=""):
        self.program, self.rng, self.device = Program(seed, within=within), rng, device
        self.values = {}  # name: tensor
        self._scope, self._fake_scope = dict(_NAMES), dict(_NAMES)
        self._fake = FakeTensorMode()

    def add_input(self, **facts):
        name = f"a{len(self.program.inputs)}"
        # Seeds of inputs follow from the program's, whatever else is drawn.
        made = Input(seed=self.program.seed * 64 + len(self.program.inputs), **facts)
        self.program.inputs[name] = made
        tensor = made.make(self.device)
        self._keep(name, tensor, self._fake.from_tensor(tensor))
        return name

    def fill(self, wanted, tries, statement, outputs=0.2):
        """Draws statements until there are `wanted`, and gives the program: the last result and a share of the others.
        None where PyTorch took no statement."""
        for _ in range(tries):
            if len(self.program.statements) >= wanted:
                break
            statement()
        names = [name for name, _ in self.program.statements]
        return self.finish([names[-1], *(name for name in names if self.rng.random() < outputs)]) if names else None

    def _keep(self, name, tensor, fake):
        self.values[name] = tensor
        self._scope[name] = tensor
        self._fake_scope[name] = fake

    def add(self, expression, accept=lambda tensor: True):
        """The name of the result, or None where PyTorch refuses (eager or tracing), or `accept` does."""
        name = f"v{len(self.program.statements)}"
        try:
            with self._within():
                tensor = eval(expression, self._scope)
                with self._fake:
                    fake = eval(expression, self._fake_scope)
        except _REFUSALS:
            return None
        if not isinstance(tensor, torch.Tensor) or not accept(tensor):
            return None
        if (fake.dtype, fake.shape, fake.stride()) != (tensor.dtype, tensor.shape, tensor.stride()):
            return None  # what is traced is not what runs
        self.program.statements.append((name, expression))
        self._keep(name, tensor, fake)
        return name

    def _within(self):
        return eval(self.program.within, dict(_NAMES)) if self.program.within else contextlib.nullcontext()

    def pick(self, suits=lambda tensor: True):
        """A name: recent ones more often."""
        names = [name for name, tensor in self.values.items() if suits(tensor)]
        if not names:
            return None
        return names[-1] if self.rng.random() < 0.5 else self.rng.choice(names)

    def finish(self, outputs):
        self.program.outputs = list(dict.fromkeys(outputs))
        return needed(self.program)
