"""Operations that change shapes, reduce, index or make tensors; composites. Each line of `CASES` is a case beside
PyTorch, for some dtypes."""

import torch
from nvf import DTYPE_OF_TORCH, TORCH_DTYPES, DType
from operation_dtypes import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    REDUCED,
    SIGNED,
    UNSIGNED,
    WIDE,
    in_full,
    moved,
    narrowed,
    sample,
    widened,
)

CASES = {}  # name: list of (label, dtypes, function of Batch and dtype)


def case(name, dtypes=WIDE):
    def add(function):
        CASES.setdefault(name, []).append((function.__name__, dtypes, function))
        return function

    return add


def simple(name, ours, theirs, dtypes=WIDE, domain="finite", shape=None, tolerance=None):
    """One tensor in, one out: ours(batch, value), theirs(tensor)."""

    def function(batch, dtype):
        x = sample(dtype, domain, 0)
        x = x.reshape(shape) if shape else x
        expected = moved(theirs, x) if dtypes is ALL else theirs(x)
        batch.expect(ours(batch, batch.input(x)), expected, tolerance)

    CASES.setdefault(name, []).append((name, dtypes, function))


# Pointwise with parameters.


@case("where", ALL)
def where_(b, dtype):
    condition = sample(DType.Bool, "any", 9)
    x, y = sample(dtype, "any", 0), sample(dtype, "any", 1)
    b.expect(
        b.op("where", b.input(condition), b.input(x), b.input(y)),
        moved(lambda a, b: torch.where(condition, a, b), x, y),
    )


@case("clamp", INTEGERS + FLOATS)
def clamp_(b, dtype):
    x = sample(dtype, "any", 0)
    low, high = (2, 9) if dtype in INTEGERS else (-0.5, 1.5)
    wide_x = widened(x, dtype)
    b.expect(b.op("clamp", b.input(x), low, high), narrowed(wide_x.clamp(low, high), dtype))
    b.expect(b.op("clamp", b.input(x), min=low), narrowed(wide_x.clamp(min=low), dtype))
    b.expect(b.op("clamp", b.input(x), max=high), narrowed(wide_x.clamp(max=high), dtype))


@case("threshold", INTEGERS + FLOATS)
def threshold_(b, dtype):
    x = sample(dtype, "any", 0)
    limit, value = (3, 7) if dtype in INTEGERS else (0.5, -1.5)
    wide_x = widened(x, dtype)
    expected = torch.where(wide_x <= limit, torch.full_like(wide_x, value), wide_x)
    b.expect(b.op("threshold", b.input(x), limit, value), narrowed(expected, dtype))


@case("addcmul", WIDE)
def addcmul_value(b, dtype):
    x, y, z = (sample(dtype, "finite", i) for i in range(3))
    b.expect(b.op("addcmul", b.input(x), b.input(y), b.input(z), 0.25), torch.addcmul(x, y, z, value=0.25))


@case("addcmul", BOOL)
def addcmul_of_bools(b, dtype):
    x, y, z = (sample(dtype, "any", i) for i in range(3))
    b.expect(b.op("addcmul", b.input(x), b.input(y), b.input(z)), x.long() + y.long() * z.long())  # value is the Int 1


@case("complex", WIDE)
def complex_(b, dtype):
    x, y = sample(dtype, "any", 0), sample(dtype, "any", 1)
    b.expect(b.op("complex", b.input(x), b.input(y)), torch.complex(x, y))


@case("cast", ALL)
def cast_(b, dtype):
    x = sample(dtype, "small" if dtype not in COMPLEX else "any", 0)
    t = b.input(x)
    for to in ALL:
        if dtype in COMPLEX and to not in COMPLEX:
            source = x != 0 if to in BOOL else x.real.clamp(min=0) if to in UNSIGNED else x.real
            if to in UNSIGNED:
                continue  # a negative real part has no meaning there; reals are cast below
        else:
            source = x
        if to in REDUCED or dtype in REDUCED:
            source = source.to(torch.complex64 if source.is_complex() else torch.float32)
        b.expect(b.op("cast", t, to), source.to(TORCH_DTYPES[to]))


@case("bitcast", ALL)
def bitcast_(b, dtype):
    x = sample(dtype, "finite", 0)
    for to in ALL:
        if TORCH_DTYPES[to].itemsize == x.dtype.itemsize and (to in BOOL) == (dtype in BOOL):
            b.expect(b.op("bitcast", b.input(x), to), x.contiguous().view(TORCH_DTYPES[to]))


# Reductions. Integers and Bool add up in int64; floats keep their dtype.


def reduced_in(x):
    return x if x.is_floating_point() or x.is_complex() else x.to(torch.int64)


SUMMED = BOOL + SIGNED + (DType.Byte, DType.Half, DType.BFloat16) + WIDE + COMPLEX


@case("sum", SUMMED)
def sum_(b, dtype):
    x = sample(dtype, "finite", 0)
    t = b.input(x)
    exact = in_full(reduced_in(x))
    b.expect(b.op("sum", t), exact.sum().to(reduced_in(x).dtype), (2e-2, 2e-2) if dtype in REDUCED else None)
    b.expect(b.op("sum", t, [-1], True), exact.sum(-1, keepdim=True).to(reduced_in(x).dtype),
             (2e-2, 2e-2) if dtype in REDUCED else None)  # fmt: skip
    if dtype not in COMPLEX:
        b.expect(b.op("sum", t, axes=0, dtype=DType.Double), x.double().sum(0))


@case("prod", SUMMED)
def prod_(b, dtype):
    x = sample(dtype, "small", 0)
    exact = in_full(reduced_in(x)).prod(1)
    b.expect(b.op("prod", b.input(x), 1), exact.to(reduced_in(x).dtype), (3e-2, 3e-2) if dtype in REDUCED else None)


EXTREME = BOOL + SIGNED + (DType.Byte, DType.Half, DType.BFloat16) + WIDE


@case("max", EXTREME)
def max_(b, dtype):
    x = sample(dtype, "any", 0)
    b.expect(b.op("max", b.input(x), [1]), x.amax(1))
    b.expect(b.op("max", b.input(x)), x.amax())


@case("min", EXTREME)
def min_(b, dtype):
    x = sample(dtype, "any", 0)
    b.expect(b.op("min", b.input(x), [0], keepdim=True), x.amin(0, keepdim=True))


@case("mean", WIDE + COMPLEX)
def mean_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("mean", b.input(x)), x.mean())
    b.expect(b.op("mean", b.input(x), [0], True), x.mean(0, keepdim=True))


@case("var", WIDE + COMPLEX)
def var_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("var", b.input(x), [-1]), x.var(-1))
    b.expect(b.op("var", b.input(x), [0, 1], 0, True), x.var((0, 1), correction=0, keepdim=True))


@case("var_mean", WIDE + COMPLEX)
def var_mean_(b, dtype):
    x = sample(dtype, "finite", 0)
    for value, expected in zip(b.fusion.ops("var_mean", b.input(x), [1], 1), torch.var_mean(x, 1), strict=True):
        b.expect(value, expected)


@case("welford", WIDE)
def welford_(b, dtype):
    x = sample(dtype, "finite", 0)
    avg, var_sum, n = b.fusion.ops("welford", b.input(x), [1])
    b.expect(avg, x.mean(1))
    b.expect(var_sum, x.var(1, correction=0) * x.shape[1])
    b.expect(n, torch.full((x.shape[0],), x.shape[1]))


# Shapes: they move elements of any dtype.

simple("broadcast", lambda b, t: b.op("broadcast", t, [False, True, False]), lambda x: x[:, None, :], ALL)
simple(
    "broadcast_in_dim", lambda b, t: b.op("broadcast_in_dim", t, [4, 5, 6], [0, 2]),
    lambda x: x[:, None, :].expand(4, 5, 6), ALL,
)  # fmt: skip
simple("repeat", lambda b, t: b.op("repeat", t, [2, 3]), lambda x: x.repeat(2, 3), ALL)
simple("reshape", lambda b, t: b.op("reshape", t, [8, -1]), lambda x: x.reshape(8, 3), ALL)
simple("flatten", lambda b, t: b.op("flatten", t), lambda x: x.flatten(), ALL)
simple("flatten", lambda b, t: b.op("flatten", t, 1, 2), lambda x: x.flatten(1, 2), WIDE, shape=(2, 3, 4))
simple("stride_order", lambda b, t: b.op("stride_order", t, [0, 2, 1]), torch.clone, ALL, shape=(2, 3, 4))
simple("permute", lambda b, t: b.op("permute", t, [2, 0, 1]), lambda x: x.permute(2, 0, 1), ALL, shape=(2, 3, 4))
simple("transpose", lambda b, t: b.op("transpose", t), lambda x: x.t(), ALL)
simple("transpose", lambda b, t: b.op("transpose", t, 0, 2), lambda x: x.transpose(0, 2), WIDE, shape=(2, 3, 4))
simple("unsqueeze", lambda b, t: b.op("unsqueeze", t, -1), lambda x: x.unsqueeze(-1), ALL)
simple("slice", lambda b, t: b.op("slice", t, [1, 2], [3, 6]), lambda x: x[1:3, 2:6], ALL)
simple("slice", lambda b, t: b.op("slice", t, [0, 2], [9, 4], [1, 1]), lambda x: x[0:9, 2:4], WIDE)
simple(
    "strided_slice",
    lambda b, t: b.op("strided_slice", t, [2, 5], [3, 3], [-1, -2]),
    lambda x: x[:3].flip(0)[:, 1::2].flip(1),
    ALL,
)
simple("strided_slice", lambda b, t: b.op("strided_slice", t, [1, 0], [2, 2], [2, 3]), lambda x: x[1::2, ::3], WIDE)
simple("flip", lambda b, t: b.op("flip", t, [-1]), lambda x: x.flip(1), ALL)
simple("flip", lambda b, t: b.op("flip", t, [0, 1]), lambda x: x.flip(0, 1), WIDE)
simple("chunk", lambda b, t: b.fusion.ops("chunk", t, 2, 1)[1], lambda x: x.chunk(2, 1)[1], ALL)


@case("expand", ALL)
def expand_(b, dtype):
    x = sample(dtype, "finite", 0)[:1]
    t = b.input(x)
    b.expect(b.op("expand", t, [3, -1]), x.expand(3, -1))
    b.expect(b.op("expand", t, [2, 5, -1]), x.expand(2, 5, -1))


@case("expand_as", ALL)
def expand_as_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("expand_as", b.input(x[:, :1]), b.input(x)), x[:, :1].expand_as(x))


@case("squeeze", ALL)
def squeeze_(b, dtype):
    x = sample(dtype, "finite", 0).reshape(4, 1, 6)
    b.expect(b.op("squeeze", b.input(x), [1]), x.squeeze(1))


@case("pad", ALL)
def pad_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("pad", b.input(x), [2, -1, 1, 2]), moved(lambda v: torch.nn.functional.pad(v, (2, -1, 1, 2)), x))


@case("pad", WIDE)
def pad_value(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("pad", b.input(x), [1, 2], 3.5), torch.nn.functional.pad(x, (1, 2), value=3.5))


@case("cat", ALL)
def cat_(b, dtype):
    x, y, z = (sample(dtype, "finite", i) for i in range(3))
    y, z = y[:, :2].contiguous(), z[:, :3].contiguous()
    tensors = [b.input(v) for v in (x, y, z)]
    b.expect(b.op("cat", tensors, 1), moved(lambda *v: torch.cat(v, 1), x, y, z))
    b.expect(b.op("cat", tensors[:1], 0), x)


@case("size")
@case("shape")
def sizes(b, dtype):
    x = sample(dtype, "finite", 0)
    t = b.input(x)
    values = [b.op("size", t, -1), *b.fusion.ops("shape", t)]
    for value, expected in zip(values, (6, 4, 6), strict=True):
        b.expect(value, torch.tensor(expected))


simple("view_as_real", lambda b, t: b.op("view_as_real", t), torch.view_as_real, COMPLEX)

# Indexing.


@case("select", ALL)
def select_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("select", b.input(x), 3, 1), x.select(1, 3))
    b.expect(b.op("select", b.input(x), b.scalar(2, DType.Int), 0), x.select(0, 2))


@case("index_select", ALL)
def index_select_(b, dtype):
    x = sample(dtype, "finite", 0)
    index = torch.tensor([5, 0, 0, 2])
    b.expect(b.op("index_select", b.input(x), b.input(index), 1), moved(lambda x: x.index_select(1, index), x))


INDEX = torch.tensor([[3, 0, 1], [2, 2, 0]])


@case("gather", ALL)
def gather_(b, dtype):
    x = sample(dtype, "finite", 0)
    b.expect(b.op("gather", b.input(x), b.input(INDEX), 0), moved(lambda x: x.gather(0, INDEX), x))


@case("take_along_axis", ALL)
def take_along_axis_(b, dtype):
    x = sample(dtype, "finite", 0)
    index = torch.randint(0, 6, (4, 3), generator=torch.Generator().manual_seed(1))
    b.expect(b.op("take_along_axis", b.input(x), b.input(index), 1), moved(lambda x: x.take_along_dim(index, 1), x))


@case("scatter", ALL)
def scatter_(b, dtype):
    x, source = sample(dtype, "finite", 0), sample(dtype, "finite", 1)[:2, :3].contiguous()
    index = torch.tensor([[3, 0, 1], [2, 1, 0]])
    expected = x.clone()
    for i in range(2):
        for j in range(3):
            expected[index[i, j], j] = source[i, j]
    b.expect(b.op("scatter", b.input(x), b.input(index), b.input(source), 0), expected)


@case("scatter", (*WIDE, DType.Int))
def scatter_accumulating(b, dtype):
    x, source = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
    index = torch.arange(source.numel()).reshape(source.shape) % x.shape[0]
    out = b.op("scatter", b.input(x), b.input(index), b.input(source), 0, accumulate=True)
    b.expect(out, x.scatter_add(0, index, source))


def scattered(name, reduction):
    @case(name, (DType.Float, DType.Double, DType.Int))
    def combined(b, dtype):
        x, source = sample(dtype, "finite", 0), sample(dtype, "finite", 1)
        index = torch.arange(source.numel()).reshape(source.shape) % x.shape[0]
        out = b.op(name, b.input(x), b.input(index), b.input(source), 0)
        b.expect(out, x.scatter_reduce(0, index, source, reduction))

    return combined


scattered("scatter_mul", "prod")
scattered("scatter_max", "amax")
scattered("scatter_min", "amin")


# Made from nothing.


def number(dtype):
    return True if dtype in BOOL else 3 if dtype in INTEGERS else 1.5 if dtype in FLOATS else 1.5 - 2j


@case("full", ALL)
def full_(b, dtype):
    length = b.op("size", b.input(sample(DType.Float, "finite", 0)), 1)
    expected = torch.full((2, 6), number(dtype), dtype=torch.complex128 if dtype in COMPLEX else torch.float64)
    b.expect(b.op("full", [2, length], number(dtype), dtype), expected.to(TORCH_DTYPES[dtype]))


@case("full_like", ALL)
def full_like_(b, dtype):
    x = sample(dtype, "finite", 0)
    wide_type = torch.complex128 if dtype in COMPLEX else torch.float64
    expected = torch.full(x.shape, number(dtype), dtype=wide_type).to(x.dtype)
    b.expect(b.op("full_like", b.input(x), number(dtype)), expected)


simple("zeros_like", lambda b, t: b.op("zeros_like", t), lambda x: torch.zeros(x.shape).to(x.dtype), list(ALL))
simple("ones_like", lambda b, t: b.op("ones_like", t), lambda x: torch.ones(x.shape).to(x.dtype), list(ALL))


@case("iota", (DType.Int32, DType.Int, *WIDE))
def iota_(b, dtype):
    theirs = TORCH_DTYPES[dtype]
    start, step = (3, 2) if dtype in INTEGERS else (0.5, 0.25)
    expected = start + step * torch.arange(7, dtype=theirs)
    b.expect(b.op("iota", 7, start, step, dtype), expected)
    b.expect(b.op("iota", 5), torch.arange(5))


@case("eye", SIGNED + WIDE + COMPLEX)
def eye_(b, dtype):
    b.expect(b.op("eye", 3, dtype), torch.eye(3, dtype=TORCH_DTYPES[dtype]))
    b.expect(b.op("eye", 3, dtype, 5), torch.eye(3, 5, dtype=TORCH_DTYPES[dtype]))


simple("triu", lambda b, t: b.op("triu", t), lambda x: widened(x, DTYPE_OF_TORCH[x.dtype]).triu().to(x.dtype),
       BOOL + SIGNED + FLOATS + COMPLEX)  # fmt: skip
simple("triu", lambda b, t: b.op("triu", t, 2), lambda x: x.triu(2))
simple("triu", lambda b, t: b.op("triu", t, -1), lambda x: x.triu(-1))
