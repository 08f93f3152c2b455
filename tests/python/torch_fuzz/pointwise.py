"""Random pointwise programs: whatever PyTorch computes element by element, in chains with shared operands."""

import random

import torch

from .inputs import LAYOUTS
from .program import Builder

DTYPES = {
    "torch.float32": 30,
    "torch.bfloat16": 18,
    "torch.float16": 14,
    "torch.float64": 14,
    "torch.int64": 7,
    "torch.int32": 7,
    "torch.bool": 4,
    "torch.uint8": 2,
    "torch.int8": 2,
    "torch.int16": 2,
}
SIZES = [1, 2, 3, 5, 7, 8, 16, 17, 31, 33, 64]

# Left out: what PyTorch writes in other operations before a backend sees it (`softshrink`, `addcdiv` with a value), and
# what shows the sign of a NaN.
# {x}, {y}, {z}: tensors; {s}: a number; {i}: a positive whole number; {m}: a mask; {dtype}.
EXACT_ONES = """
    {x} + {y}|{x} - {y}|{x} * {y}|{x} / {y}|{x} + {s}|{x} * {s}|{x} / {s}|{s} - {x}|{s} / {x}|-{x}|{x}.abs()|F.relu({x})
    {x}.to({dtype})|torch.where({m}, {x}, {y})|torch.where({m}, {x}, {s})|{x}.masked_fill({m}, {s})|{x} < {y}|{x} >= {s}
    {x} == {y}|{x}.clamp({low}, {high})|{x}.clamp_min({low})|{x}.clamp_max({high})|{x} ** 2|{x} ** 3|{x}.reciprocal()
    {x}.rsqrt()|{x}.floor()|{x}.ceil()|{x}.round()|{x}.trunc()|{x}.sign()|torch.isnan({x})|torch.isinf({x})
    torch.logical_and({x}, {y})|torch.logical_not({x})|torch.logical_xor({x}, {y})|F.hardtanh({x})|F.relu6({x})
    F.leaky_relu({x}, {small})|F.threshold({x}, {s}, {s2})|torch.square({x})|torch.nextafter({x}, {y})|{x}.isfinite()
    torch.rsub({x}, {y})|torch.addcmul({x}, {y}, {z})|{x}.clone()|{x}.float()|{x}.double()|{x}.half()|{x}.bfloat16()
"""
OTHER_ONES = """
    {x}.exp()|{x}.log()|{x}.sqrt()|{x}.sin()|{x}.cos()|{x}.tanh()|{x}.sigmoid()|F.silu({x})|F.gelu({x})|{x}.erf()
    F.gelu({x}, approximate="tanh")|F.softplus({x})|F.elu({x})|F.selu({x})|F.hardswish({x})|F.hardsigmoid({x})
    F.mish({x})
    {x}.expm1()|{x}.log1p()|{x}.exp2()|{x}.log2()|{x}.tan()|{x}.atan()|{x}.asinh()|torch.atan2({x}, {y})|{x}.pow({s})
    torch.pow({x}, {y})|torch.maximum({x}, {y})|torch.minimum({x}, {y})|torch.fmax({x}, {y})|torch.lerp({x}, {y}, {s})
    torch.add({x}, {y}, alpha={s})|torch.sub({x}, {y}, alpha={i})|torch.addcmul({x}, {y}, {z}, value={s})
    torch.addcdiv({x}, {y}, {z})|torch.hypot({x}, {y})|torch.clamp({x}, {y}, {z})|torch.remainder({x}, {i})
    torch.fmod({x}, {i})|torch.div({x}, {i}, rounding_mode="floor")|torch.div({x}, {i}, rounding_mode="trunc")
    torch.xlogy({x}, {y})|torch.logaddexp({x}, {y})|{x}.nan_to_num()|F.logsigmoid({x})|{x}.lgamma()|{x}.erfinv()
    {x} ** -1|{x} ** -2|{x} ** 0.5|{x} ** 4|{x}.frac()|torch.heaviside({x}, {y})|F.softsign({x})|F.tanhshrink({x})
    F.hardshrink({x})|F.celu({x})|F.mse_loss({x}, {y}, reduction="none")|torch.special.expit({x})
    F.smooth_l1_loss({x}, {y}, reduction="none")|F.l1_loss({x}, {y}, reduction="none")|torch.copysign({x}, {s})
"""


def _listed(text):
    return [each.strip() for line in text.strip().splitlines() for each in line.split("|") if each.strip()]


_EXACT, _OTHER = _listed(EXACT_ONES), _listed(OTHER_ONES)
_INTEGER = [
    "{x} & {y}", "{x} | {y}", "{x} ^ {y}", "~{x}", "{x} << {shift}", "{x} >> {shift}", "torch.gcd({x}, {y})",
    "{x} % {i}", "{x} // {i}",
]  # fmt: skip


class _Draw:
    def __init__(self, seed, others, device):
        self.rng = random.Random(seed)
        self.builder = Builder(seed, self.rng, device)
        self.others = others
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
        self.shape = tuple(self.rng.choice(SIZES) for _ in range(rank))
        while torch.Size(self.shape).numel() > 5000:
            self.shape = self.shape[1:]
        if self.rng.random() < 0.02:
            self.shape = (self.rng.choice([40_001, 66_000]),)

    def program(self):
        rng, builder = self.rng, self.builder
        for _ in range(rng.randint(1, 3)):
            self._input(self._dtype(), self.shape)
        for _ in range(rng.randint(0, 2)):
            self._input(self._dtype(), self._stretched())
        wanted = rng.choice([1, 2, 3, 4, 6, 8, 12, 20])
        return builder.fill(wanted, 8 * wanted, self._statement)

    def _dtype(self):
        name = self.rng.choices(list(DTYPES), list(DTYPES.values()))[0]
        return getattr(torch, name.removeprefix("torch."))

    def _input(self, dtype, shape):
        values = "special" if self.rng.random() < 0.5 else "ordinary"
        layout = self.rng.choice(list(LAYOUTS)) if self.rng.random() < 0.5 else "contiguous"
        return self.builder.add_input(dtype=dtype, shape=shape, layout=layout, values=values)

    def _stretched(self):
        """A shape that meets the others': some sizes 1, some axes left out."""
        shape = tuple(1 if self.rng.random() < 0.4 else size for size in self.shape)
        return shape[self.rng.randint(0, len(shape)) :] if shape else shape

    def _statement(self):
        rng, builder = self.rng, self.builder
        x = builder.pick()
        if not builder.values[x].dtype.is_floating_point and rng.random() < 0.5:
            template = rng.choice(_INTEGER)
        else:
            template = rng.choice(_OTHER if rng.random() < self.others else _EXACT)
        masks = builder.pick(lambda tensor: tensor.dtype is torch.bool)
        if "{m}" in template and masks is None:
            masks = builder.add(f"{x} > {self._number()}")
            if masks is None:
                return
        divides = any(word in template for word in ("/", "div(", "**"))
        if (
            divides
            and not builder.values[x].dtype.is_floating_point
            and any(s in template for s in ("{y}", "-", "{s}"))
        ):
            return  # Eager's process ends where the least integer is divided by -1; powers below 0 are errors.
        low, high = sorted([rng.choice([-1.0, 0.0, 0.5, -0.25]), rng.choice([0.0, 1.0, 3.5, 6.0])])
        expression = template.format(
            x=x,
            y=builder.pick(),
            z=builder.pick(),
            m=masks,
            s=self._number(),
            s2=self._number(),
            i=rng.choice([1, 2, 3, 7, 10]),
            shift=rng.choice([0, 1, 3, 5]),
            small=rng.choice([0.01, 0.1, 0.3]),
            low=low,
            high=high,
            dtype=f"torch.{str(self._dtype()).removeprefix('torch.')}",
        )
        builder.add(expression, lambda tensor: not tensor.is_complex() and tensor.numel() <= 100_000)

    def _number(self):
        return self.rng.choice([0, 1, 2, -1, 3, 0.5, 0.1, -0.3, 1.7, 1e-3, 2.5, 100.0])


def draw(seed, others=0.25, device="cpu"):
    """The program of a seed; `others`: the share of operations that are not rounded correctly by all who compute them.
    None where nothing was drawn."""
    return _Draw(seed, others, device).program()
