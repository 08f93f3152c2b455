"""Random FusionDefinitions beside PyTorch: one definition, executed with sizes that change, to and from 1, in several
layouts. A statement is taken where both define it; what PyTorch refuses for some sizes is not asked of us."""

import math
import random
import re
from dataclasses import dataclass, field, replace

import torch
from nvfuser_direct import DataType, FusionDefinition
from torch.nn import functional as F

from .compare import differences, near
from .inputs import LAYOUTS, Input
from .program import names_in, renamed
from .rows_of_definitions import AXES, POINTWISE

_DTYPES = {torch.float64: 4, torch.float32: 4, torch.int64: 2, torch.int32: 1, torch.bool: 1}
_ENUM = {
    torch.float64: DataType.Double, torch.float32: DataType.Float, torch.int64: DataType.Int,
    torch.int32: DataType.Int32, torch.bool: DataType.Bool,
}  # fmt: skip
_NAMES = {"torch": torch, "F": F, "DataType": DataType, "math": math}
_SIZES = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33]


def _rows(text):
    for line in text.strip().splitlines():
        pair, needs = line.rsplit(" ; ", 1)
        ours, theirs = pair.split(" | ")
        letters, ranks = re.match(r"([fib]+)(\d*)$", needs.strip()).groups()
        yield ours, theirs, letters, int(ranks[:1] or 0), int(ranks[1:] or 6)


ROWS = [*_rows(POINTWISE), *_rows(AXES)]


@dataclass
class Definition:
    """`statements`: (name, ours, PyTorch's); `calls`: the sizes of all inputs, call after call."""

    seed: int
    inputs: dict
    statements: list
    outputs: list
    calls: list = field(default_factory=list)
    fixed: bool = False  # whether sizes are constants of the definition

    def text(self):
        lines = [f"{name} = fd.{ours}    # {theirs}" for name, ours, theirs in self.statements]
        return "\n".join([*lines, f"outputs {self.outputs}, sizes {self.calls}, fixed: {self.fixed}", ""])

    def script(self, call):
        return f'"""{self.text()}"""\n\nfrom torch_fuzz import definitions\nprint(definitions.check({self.seed}))\n'

    def tensors(self, call):
        return {
            name: replace(of, shape=shape).make() for (name, of), shape in zip(self.inputs.items(), call, strict=True)
        }

    def smaller(self):
        if len(self.calls) > 1:
            for place in range(len(self.calls)):
                yield replace(self, calls=self.calls[:place] + self.calls[place + 1 :])
        for output in self.outputs if len(self.outputs) > 1 else ():
            yield self.for_output(output)
        for name, _, _ in self.statements[:-1] if len(self.outputs) == 1 else ():
            yield self.for_output(name)
        for place, (name, ours, _) in enumerate(self.statements):
            for operand in dict.fromkeys(names_in(ours)):
                if operand not in self.inputs or name not in self.outputs:
                    yield self.without(place, operand)

    def without(self, place, operand):
        """An operand of a statement instead of its result."""
        gone = self.statements[place][0]
        rest = self.statements[:place] + self.statements[place + 1 :]
        statements = [(name, *(renamed(text, gone, operand) for text in texts)) for name, *texts in rest]
        return replace(self, statements=statements, outputs=[operand if o == gone else o for o in self.outputs])

    def for_output(self, output):
        """With this output alone, and what it needs."""
        wanted, kept = {output}, []
        for statement in reversed(self.statements):
            if statement[0] in wanted:
                kept.append(statement)
                wanted.update(names_in(statement[1]))
        return replace(self, statements=kept[::-1], outputs=[output])

    def expected(self, call):
        scope = {**_NAMES, **self.tensors(call)}
        for name, _, theirs in self.statements:
            scope[name] = eval(theirs, scope)
        return [scope[name] for name in self.outputs]

    def define(self):
        with FusionDefinition() as fd:
            scope = {**_NAMES, "fd": fd, "ops": fd.ops}
            for (name, of), shape in zip(self.inputs.items(), self.calls[0], strict=True):
                sizes = list(shape) if self.fixed else [-1] * len(shape)
                dense = [of.layout == "contiguous"] * len(sizes)
                scope[name] = fd.define_tensor(shape=sizes, contiguity=dense, dtype=_ENUM[of.dtype])
            for name, ours, _ in self.statements:
                scope[name] = eval(ours, scope)
            for name in self.outputs:
                fd.add_output(scope[name])
        return fd


class _Draw:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.made = Definition(seed, {}, [], [])
        self.values = {}

    def definition(self, rows=()):
        """With a statement of each of the rows; of those drawn at random for none."""
        rng, made = self.rng, self.made
        for _ in range(rng.randint(1, 2)):
            rank = rng.choice([0, 1, 2, 2, 3, 3, 4])
            shape = [rng.choice(_SIZES[: 10 if rank < 3 else 6]) for _ in range(rank)]
            self._input(rng.choices(list(_DTYPES), list(_DTYPES.values()))[0], tuple(shape))
        for row in rows or rng.choices(ROWS, k=rng.choice([2, 3, 5, 8, 16, 30])):
            self.statement(row)
        if not made.statements:
            return None
        names = [name for name, _, _ in made.statements]
        made.outputs = list(dict.fromkeys([names[-1], *(n for n in names if rng.random() < 0.3)]))
        first = tuple(self.values[name].shape for name in made.inputs)
        made.fixed = rng.random() < 0.25
        made.calls = [first, *([] if made.fixed else self._others(first)), first]
        return made

    def _others(self, first):
        """Of each size another one, the same wherever it stands."""
        for _ in range(3):
            new = {size: self.rng.choice([1, 1, 2, 3, 6, 9, size]) for shape in first for size in shape}
            yield tuple(tuple(new[size] for size in shape) for shape in first)

    def _input(self, dtype, shape):
        name = f"a{len(self.made.inputs)}"
        layout = self.rng.choice(list(LAYOUTS)) if self.rng.random() < 0.3 else "contiguous"
        made = Input(seed=self.made.seed * 64 + len(self.made.inputs), dtype=dtype, shape=shape, layout=layout)
        self.made.inputs[name], self.values[name] = made, made.make()
        return name

    def _beside(self, shape, dtype):
        found = [name for name, t in self.values.items() if t.shape == shape and t.dtype is dtype]
        return self.rng.choice(found) if found and self.rng.random() < 0.8 else self._input(dtype, tuple(shape))

    def statement(self, row):
        """Adds a statement of a row (ROWS), if there is a tensor for it."""
        ours, theirs, letters, least, most = row
        kinds = {"f": (torch.float32, torch.float64), "i": (torch.int32, torch.int64), "b": (torch.bool,)}
        dtypes = [dtype for letter in letters for dtype in kinds[letter]]
        found = [name for name, t in self.values.items() if t.dtype in dtypes and least <= t.dim() <= most]
        if not found:
            return
        x = found[-1] if self.rng.random() < 0.5 else self.rng.choice(found)
        value, rng = self.values[x], self.rng
        rank = value.dim()
        words = {
            "x": x, "k": rng.choice([1, 2, 3, 5]), "s": rng.choice([0.5, -1.5, 2.0]), "r": rng.randrange(max(rank, 1)),
            "back": list(range(rank))[::-1], "zeros": [0] * rank, "ones": [1] * rank, "twos": [2] * rank,
            "first": ", ".join([":1"] * rank), "minus": ", ".join(["-1"] * rank), "last": rank - 1,
            "others": ", ".join(["False"] * (rank - 1)),
        }  # fmt: skip
        if "{y}" in ours:
            words["y"] = self._beside(value.shape, value.dtype)
        if "{m}" in ours:
            words["m"] = self._beside(value.shape, torch.bool)
        theirs = theirs.format(**words)
        result = eval(theirs, {**_NAMES, **self.values})
        if result.numel() > 20_000 or result.dim() > 6 or (
            result.is_floating_point() and not (result.isfinite().all() and (result.abs() < 1e6).all())
        ):  # fmt: skip
            return
        name = f"v{len(self.made.statements)}"
        self.made.statements.append((name, ours.format(**words), theirs))
        self.values[name] = result


def draw(seed, rows=()):
    """The definition of a seed, of certain rows or of any; None where nothing was drawn."""
    return _Draw(seed).definition(rows)


def takes(definition):
    try:
        definition.expected(definition.calls[0])
    except Exception:
        return False
    return bool(definition.calls)


def check(seed):
    return run([draw(seed)])


def run(definitions):
    return [_run(each) for each in definitions]


def _run(of):
    try:
        fd = of.define()
    except Exception as error:
        return f"defined: {type(error).__name__}: {str(error).strip()[:300]}"
    for place, call in enumerate(of.calls):
        try:
            theirs = of.expected(call)
        except (RuntimeError, IndexError, ValueError):
            continue
        try:
            ours = fd.execute(list(of.tensors(call).values()), device="cpu")
        except Exception as error:
            return f"call {place} of {call}: {type(error).__name__}: {str(error).strip()[:400]}"
        for name, mine, other in zip(of.outputs, ours, theirs, strict=True):
            least = 1e-2 if "Half" in of.text() or "BFloat16" in of.text() else 1e-5
            if text := differences(mine, other, lambda a, b, least=least: near(a, b, least)):
                return f"call {place} of {call}: {name}: {text}"
    return ""
