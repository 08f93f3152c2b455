"""What torch.compile(backend="nvfuser") promises of each operation: the results of eager PyTorch, in value, dtype,
strides and shared memory. Operands, and differences that are meant; docs/numerics.md prints the latter.

The operations are those of compile_rows.py: one row for each overload that is fused.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

ANY = ("cpu", "cuda")


@dataclass(frozen=True)
class Meant:
    """A difference from eager: `what` of the results of `operations`, in `dtypes` of the operands (all for none), where
    `where(x, w)` holds for an element (everywhere for none)."""

    operations: str
    what: str  # "values", "signs of zeros", "strides"
    why: str
    dtypes: tuple = ()
    where: Callable | None = None
    words: str = ""  # of `where`
    devices: tuple = ANY


MEANT = [
    Meant(
        "maximum minimum fmax fmin clamp clamp_min clamp_max relu",
        "signs of zeros",
        "eager gives either zero, by the length and layout of the tensors; here -0 is less than +0, and relu gives +0",
    ),
    Meant("lerp", "signs of zeros", "a result that cancels: which of two equal terms is subtracted decides"),
    Meant(
        "gelu gelu_backward",
        "values",
        "eager's vectors give NaN of infinities, or not, by the length of the tensor; here gelu(inf) is inf, and "
        "gelu(-inf) NaN or -0",
        where=lambda x, w: x.isinf(),
        words="x is infinite",
    ),
    Meant(
        "fmod remainder",
        "values",
        "eager's vectors give NaN where the quotient has more digits than the dtype; here it is exact",
        where=lambda x, w: (x.double() / w.double()).abs() > 2.0**20,
        words="the quotient is beyond 2^20",
        devices=("cpu",),
    ),
    Meant(
        "pow.Tensor_Scalar",
        "values",
        "eager computes x ** -0.5 as a power in this dtype, and as a reciprocal root in the others, as here",
        dtypes=("float16",),
        where=lambda x, w: x.isinf() | (x == 0),
        words="x is infinite or 0",
        devices=("cpu",),
    ),
    Meant(
        "copysign",
        "values",
        "the sign of a NaN hangs on how it was made",
        where=lambda x, w: w.isnan(),
        words="the sign is that of NaN",
    ),
    Meant(
        "copysign",
        "signs of zeros",
        "the sign of a NaN hangs on how it was made",
        where=lambda x, w: w.isnan(),
        words="the sign is that of NaN",
    ),
    Meant(
        "prod",
        "values",
        "eager rounds each product on the way, here the last one is",
        dtypes=("float16", "bfloat16"),
        devices=("cpu",),
    ),
    Meant(
        "cumprod",
        "values",
        "eager's scan of a GPU rounds each product on the way, here each result is rounded once",
        dtypes=("float16", "bfloat16"),
        devices=("cuda",),
    ),
    Meant(
        "view.dtype",
        "values",
        "bits of a NaN hang on how it was made",
        where=lambda x, w: x.isnan(),
        words="x is NaN",
    ),
]


def name_of(row):
    """Of the operation of an overload."""
    return row.partition(".")[0]


def meant(row, what, dtype, device):
    """Rows that say it of this overload."""
    dtype = str(dtype).removeprefix("torch.")
    return [
        each
        for each in MEANT
        if (name_of(row) in each.operations.split() or row in each.operations.split())
        and each.what == what
        and (not each.dtypes or dtype in each.dtypes)
        and device in each.devices
    ]


def described():
    """The list for docs/numerics.md."""
    for each in MEANT:
        names = ", ".join(f"`{name}`" for name in each.operations.split())
        of = f", of {', '.join(each.dtypes)}" if each.dtypes else ""
        when = f", where {each.words}" if each.words else ""
        on = "" if each.devices == ANY else f", on {' and '.join(each.devices)}"
        yield f"- {names}: {each.what}{of}{when}{on}: {each.why}."


# Operands -------------------------------------------------------------------------------------------


def special(dtype):
    """Each of 16 values beside each other one."""
    if dtype.is_floating_point:
        values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -3.25, 1e-30, 2e4, 0.1, 7]
    elif dtype is torch.bool:
        values = [True, False] * 8
    else:
        ends = torch.iinfo(dtype)
        values = [ends.min, ends.min + 1, ends.max, ends.max - 1, *range(0 if ends.min == 0 else -4, 16)]
    values = torch.tensor(values[:16], dtype=dtype)
    x, w = torch.meshgrid(values, values.roll(3), indexing="ij")
    if not dtype.is_floating_point and dtype is not torch.bool:
        # Eager's processes end where the least integer is divided by -1.
        w = torch.where((w == 0) | (w == -1), 3, w).to(dtype)
    return x.contiguous(), w.contiguous()


def ordinary(dtype, shape=(6, 4, 5)):
    """Nothing that is undefined for many operations, or that decides by a rounding."""
    count = math.prod(shape)
    x = (torch.arange(count) * 7 % 31).double() / 64 + 0.265625
    w = (torch.arange(count) * 5 % 29).double() / 16 + 1.03125
    if not dtype.is_floating_point:
        x, w = (torch.arange(count) * 7 % 11) - 4, torch.arange(count) % 5 + 1
        x = x.abs() if dtype is torch.uint8 else x
    return x.view(shape).to(dtype), w.view(shape).to(dtype)


def turned(x):
    return x.movedim(0, -1).contiguous().movedim(-1, 0)


def channels_last(x):
    """Of four axes."""
    return (x if x.dim() == 4 else x[None]).contiguous(memory_format=torch.channels_last)


def sliced(x):
    """Each second element of a larger tensor."""
    return torch.stack([x, x], -1).flatten(-2)[..., ::2]


LAYOUTS = {"contiguous": lambda x: x, "turned": turned, "channels last": channels_last, "sliced": sliced}
SHAPES = {"ordinary": (6, 4, 5), "ones": (1, 4, 1), "a row": (1, 7), "no elements": (3, 0), "no axes": ()}
DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float32, torch.float64, torch.float16, torch.bfloat16)} | {
    str(d).removeprefix("torch."): d
    for d in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
}


def cases():
    """(dtype, values or shape, layout) of all combinations."""
    for dtype in DTYPES:
        for layout in ("contiguous", "turned", "sliced"):
            yield dtype, "special", layout
        for layout in LAYOUTS:
            yield dtype, "ordinary", layout
        for shape in ("ones", "a row", "no elements", "no axes"):
            yield dtype, shape, "contiguous"
        yield dtype, "ones", "turned"


def operands(dtype, values, layout):
    dtype = DTYPES[dtype]
    x, w = special(dtype) if values == "special" else ordinary(dtype, SHAPES[values])
    return LAYOUTS[layout](x), LAYOUTS[layout](w)
