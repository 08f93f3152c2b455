"""Random programs of one kind (kinds.py): how the names in a row become tensors and numbers.

    F.cross_entropy({x}, {i}, weight={w}) ; x=f2 ; i=I[x0]<x1 ; w=P[x1]

A small letter takes a tensor that is there, or makes one: f floating point, n integer or bool, c complex, o and w a
floating or integer argument that may be written to. Behind it: how many axes it has, "+" for at least. A capital makes
an argument of the sizes in brackets: F floating point, O and G the same without a gradient, P and Q between 0 and 1
with one and without, I whole numbers below what follows "<", B truth values, C complex. Sizes are expressions; x_ are
those of x, x0 the first, xl the last, xm the one before, xr the one along r, xrp r itself, xall all elements, xmin the
smallest.
"""

import random
import re

import torch

from .inputs import LAYOUTS
from .kinds import KINDS
from .observed import takes
from .program import Builder
from .rows_of_layers import POINTWISE

_SLOT = re.compile(r"(?P<letter>[A-Za-z])(?P<rank>\d?)(?P<more>\+?)(\[(?P<sizes>.*)\])?(<(?P<below>.+))?$")
_NAMES = list(KINDS)
_SUITS = {
    "f": lambda t: t.is_floating_point(),
    "n": lambda t: not t.is_floating_point() and not t.is_complex(),
    "c": lambda t: t.is_complex(),
}
_VALUES = {"P": "probability", "Q": "probability"}


class _Refused(Exception):
    """There is no such tensor."""


def _rows(text):
    for line in filter(None, text.splitlines()):
        template, *slots = (part.strip() for part in line.split(" ; "))
        yield template, dict(slot.split("=", 1) for slot in slots)


ROWS = {
    name: [row for row in _rows(kind.rows) if not any(part in row[0] for part in kind.without)]
    for name, kind in KINDS.items()
}
_NEIGHBOURS = list(_rows(POINTWISE))


def _sizes_of(name, shape):
    named = {f"{name}{place}": size for place, size in enumerate(shape)}
    named |= {f"{name}_": list(shape), f"{name}all": torch.Size(shape).numel(), f"{name}min": min(shape, default=1)}
    if shape:
        named[f"{name}l"] = shape[-1]
    if len(shape) > 1:
        named[f"{name}m"] = shape[-2]
    return named


class _Draw:
    def __init__(self, seed, name=None):
        self.name = name or _NAMES[seed % len(_NAMES)]
        self.kind = KINDS[self.name]
        self.rng = random.Random(seed)
        within = self.rng.choice(self.kind.within) if self.kind.within else ""
        self.builder = Builder(seed, self.rng, within=f'torch.autocast("cpu", {within})' if within else "")
        self.dtype = self.rng.choices(list(self.kind.dtypes), list(self.kind.dtypes.values()))[0]

    def program(self):
        rng = self.rng
        for _ in range(rng.randint(1, 2)):
            self._input(self.dtype, self._shape(rng.choice(self.kind.ranks)))
        wanted = rng.choice([1, 1, 2, 3, 4, 6])
        outputs = 0.6 if self.name in ("views", "in place") else 0.25
        program = self.builder.fill(wanted, 8 * wanted, self._statement, outputs)
        return program if program is not None and takes(program) else None

    def _shape(self, rank):
        shape = [self.rng.choice(self.kind.sizes) for _ in range(rank)]
        while torch.Size(shape).numel() > 3000:
            shape = [max(1, size // 2) for size in shape]
        return shape

    def _input(self, dtype, shape, values=None, grad=None):
        layout = self.rng.choice(list(LAYOUTS)) if self.rng.random() < 0.3 and grad is not False else "contiguous"
        differentiable = dtype.is_floating_point or dtype.is_complex
        grad = self.rng.random() < self.kind.grad if grad is None else grad
        return self.builder.add_input(
            dtype=dtype, shape=tuple(shape), layout=layout, values=values or self.kind.values,
            requires_grad=differentiable and grad,
        )  # fmt: skip

    def _float(self):
        if self.dtype.is_floating_point:
            return self.dtype
        return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(self.dtype, torch.float32)

    def _statement(self):
        rows = _NEIGHBOURS if self.rng.random() < self.kind.neighbours else ROWS[self.name]
        self.statement(*self.rng.choice(rows))

    def statement(self, template, slots):
        """Adds a row with operands, if there are such and PyTorch takes them; the name of its result or None."""
        used = list(dict.fromkeys(re.findall(r"\{([a-z])\}", template + "".join(slots.values()))))
        self.words, self.sizes = {}, {}
        try:
            for name in [*(["x"] if "x" in used and "x" not in slots else []), *slots]:
                self._fill(name, slots.get(name, "f"))
            for name in used:
                if name not in self.words:
                    self._default(name)
            return self.builder.add(template.format(**self.words), self._fits)
        except (_Refused, NameError, IndexError, KeyError, SyntaxError):
            return None

    def _fill(self, name, text):
        slot = _SLOT.match(text).groupdict()
        made = self._make(slot) if slot["sizes"] is not None else self._find(slot)
        self.words[name] = made
        shape = list(self.builder.values[made].shape)
        self.sizes |= _sizes_of(name, shape)
        if name == "x":
            self._axes(shape)

    def _axes(self, shape):
        rank = len(shape)
        place = self.rng.randrange(rank) if rank else 0
        self.words["r"] = place if self.rng.random() < 0.7 else place - max(rank, 1)
        self.words["q"] = self.rng.randrange(rank) if rank else 0
        self.sizes |= {"xr": shape[place] if rank else 1, "xrp": place}

    def _make(self, slot):
        letter = slot["letter"]
        shape = eval(f"({slot['sizes']},)" if slot["sizes"] else "()", {}, dict(self.sizes))
        if any(size < 0 for size in shape):
            raise _Refused
        if letter == "I":
            below = eval(slot["below"], {}, dict(self.sizes))
            if below < 1:
                raise _Refused
            return self._input(torch.int64, shape, f"index:{below}")
        if letter == "B":
            return self._input(torch.bool, shape, "ordinary")
        if letter == "C":
            return self._input(torch.complex64, shape)
        x = self.builder.values.get(self.words.get("x"))
        dtype = x.dtype if x is not None and x.is_floating_point() else self._float()
        return self._input(dtype, shape, _VALUES.get(letter), False if letter in "OGQ" else None)

    def _find(self, slot):
        """A tensor that is there, or a new argument."""
        letter, rank = slot["letter"], int(slot["rank"] or 0)
        exact = bool(slot["rank"]) and not slot["more"]

        def suits(tensor):
            return tensor.dim() == rank if exact else tensor.dim() >= rank

        values = self.builder.values
        if letter in "ow":
            whole = letter == "w"
            names = [
                name for name, each in self.builder.program.inputs.items()
                if not each.requires_grad and each.dtype.is_floating_point != whole
                and each.dtype is not torch.bool and suits(values[name]) and not each.values.startswith("index")
            ]  # fmt: skip
            names += [
                name
                for name, tensor in values.items()
                if name[0] == "v" and not tensor.is_leaf and suits(tensor) and not whole
            ]
            if names and self.rng.random() < 0.7:
                return self.rng.choice(names)
            dtype = torch.int32 if whole else self._float()
        else:
            kind = _SUITS[letter]
            if self.rng.random() < 0.9:
                found = self.builder.pick(lambda tensor: kind(tensor) and suits(tensor))
                if found is not None:
                    return found
            dtype = (
                self.dtype
                if kind(torch.empty(0, dtype=self.dtype))
                else {"f": self._float(), "n": torch.int64}.get(letter)
            )
            if dtype is None:
                dtype = torch.complex64
        ranks = [rank] if exact else [each for each in self.kind.ranks if each >= rank] or [rank]
        return self._input(dtype, self._shape(self.rng.choice(ranks)), grad=False if letter in "ow" else None)

    def _default(self, name):
        rng = self.rng
        x = self.builder.values.get(self.words.get("x"))
        shape = x.shape if x is not None else ()
        if name == "s":
            self.words[name] = rng.choice([0.5, 2, -1.5, 3.0])
        elif name == "k":
            self.words[name] = rng.choice([1, 2, 3, 5])
        elif name == "y":
            self.words[name] = self._beside(shape, lambda t: t.is_floating_point(), self._float())
        elif name == "n":
            of = self.dtype if not self.dtype.is_floating_point and not self.dtype.is_complex else torch.int64
            self.words[name] = self._beside(shape, _SUITS["n"], of)
        elif name == "m":
            self.words[name] = self._beside(shape, lambda t: t.dtype is torch.bool, torch.bool)
        else:
            raise _Refused

    def _beside(self, shape, suits, dtype):
        found = self.builder.pick(lambda tensor: suits(tensor) and tensor.shape == shape)
        if found is None or self.rng.random() < 0.15:
            stretched = [1 if self.rng.random() < 0.4 else size for size in shape]
            return self._input(dtype, stretched[self.rng.randint(0, len(shape)) :] if shape else shape)
        return found

    def _fits(self, tensor):
        if tensor.numel() > 20_000 or tensor.dim() > 7 or (tensor.numel() == 0 and self.name != "empty"):
            return False
        if self.name == "missing" or not (tensor.is_floating_point() or tensor.is_complex()):
            return True
        return bool(tensor.isfinite().all()) and bool((tensor.abs() < 1e5).all())


def draw(seed, kind=None):
    """The program of a seed, of a kind or of that number's; None where nothing was drawn."""
    return _Draw(seed, kind).program()


def can_be_taken(kind, row, tries=40):
    """Whether PyTorch takes a row of that kind, with some operands."""
    return any(_Draw(seed, kind).statement(*row) for seed in range(tries))


def numbers(kind, first, count):
    """`count` seeds of programs of that kind, from `first`."""
    place = _NAMES.index(kind)
    begin = first + (place - first) % len(_NAMES)
    return range(begin, begin + count * len(_NAMES), len(_NAMES))
