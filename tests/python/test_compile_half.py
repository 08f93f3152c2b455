"""Half precision under torch.compile(backend="nvfuser"): numbers beside it are rounded where eager rounds them."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh, results  # noqa: F401
from torch.nn import functional as F

HALF = [torch.bfloat16, torch.float16]
# None of them has an exact value in half precision.
NUMBERS = [0.1, 0.7, 0.3]


def around(dtype):
    """Values at the numbers, as rounded, and beside them; 64, as eager rounds what is no whole vector twice."""
    exact = torch.tensor([sign * number for number in NUMBERS for sign in (1, -1)], dtype=dtype)
    beside = [torch.nextafter(exact, torch.full_like(exact, way)) for way in (9, -9)]
    return torch.cat([exact, *beside, torch.tensor([0.5, 1, -1, 2], dtype=dtype), torch.randn(42).to(dtype)])


def of_x(x, number, dtype):
    """A tensor without axes, on the device of x."""
    return torch.full((), number, dtype=dtype, device=x.device)


# Right or wrong: nothing is nearly so.
DECIDED = {
    "eq": lambda x, v: x == v,
    "ne": lambda x, v: x != v,
    "lt": lambda x, v: x < v,
    "le": lambda x, v: x <= v,
    "gt": lambda x, v: x > v,
    "ge": lambda x, v: x >= v,
    "the number first": lambda x, v: (v < x, v >= x),
    "a tensor without axes": lambda x, v: x >= of_x(x, v, torch.float32),
    "one in double": lambda x, v: x == of_x(x, v, torch.float64),
    "an integer": lambda x, v: torch.eq(x * 0 + 256, 257),
    "integers": lambda x, v: x * 0 + 258 == torch.arange(x.numel(), device=x.device) + 250,
    "what was filled in": lambda x, v: x.masked_fill(x > 0, v) == v,
    "what was chosen": lambda x, v: torch.where(x > 0, v, x) >= v,
    "a constant": lambda x, v: (torch.full_like(x, v) == v, x.new_full((3,), v) >= v),
    "what was padded": lambda x, v: F.pad(x, (1, 1), value=v) == v,
    "the greatest": lambda x, v: (x * v == (x * v).amax(), (x + v >= (x + v).amin())),
    "a product": lambda x, v: x * v == v,
    "a mask": lambda x, v: x.masked_fill(x == v, 0),
    "clamp": lambda x, v: (x.clamp(-v, v), x.clamp_min(v), x.clamp(max=v) == v),
    "maximum": lambda x, v: torch.maximum(x, of_x(x, v, torch.float32)),
    "hardshrink": lambda x, v: F.hardshrink(x, v),
    "threshold": lambda x, v: F.threshold(x, v, 0.3),
    "hardtanh": lambda x, v: F.hardtanh(x, -v, v),
    "relu": lambda x, v: F.relu(x - x.new_full((), v)),
    "isclose": lambda x, v: torch.isclose(x, torch.full_like(x, v), rtol=0, atol=0),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_is_as_in_eager(name, dtype):
    def function(x, w):
        return [part for v in NUMBERS for part in _listed(DECIDED[name](x, v))]

    x = around(dtype)
    assert not failures(assert_as_eager(function, x, x, exact=True))
    trained = around(dtype).requires_grad_()
    assert not failures(assert_as_eager(function, trained, x, exact=True))


def _listed(result):
    return list(result) if isinstance(result, tuple | list) else [result]


# One operation, rounded once by eager and by us: the same to the bit.
ROUNDED = {
    "add": lambda x, v: (x + v, v + x),
    "alpha": lambda x, v: (torch.add(x, x.flip(0), alpha=v), torch.sub(x, x.flip(0), alpha=v)),
    "sub": lambda x, v: (x - v, v - x, torch.rsub(x, x.flip(0), alpha=v)),
    "mul": lambda x, v: (x * v, x * of_x(x, v, torch.float32), x * of_x(x, v, torch.float64)),
    "div": lambda x, v: x / v,
    "lerp": lambda x, v: torch.lerp(x, x.flip(0), v),
    "addcmul": lambda x, v: torch.addcmul(x, x.flip(0), x, value=v),
    "addcdiv": lambda x, v: torch.addcdiv(x, x.flip(0), x, value=v),
    "fmod": lambda x, v: (torch.fmod(x, v), x % v, torch.remainder(v, x)),
    "floor": lambda x, v: (x // v, torch.div(x, v, rounding_mode="trunc")),
    "integers": lambda x, v: x + torch.arange(257, 257 + x.numel(), device=x.device),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", ROUNDED)
def test_a_number_is_as_exact_as_in_eager(name, dtype):
    def function(x):
        return [part for v in NUMBERS for part in _listed(ROUNDED[name](x, v))]

    assert not failures(assert_as_eager(function, around(dtype), exact=True))


@pytest.mark.parametrize("x", [[0.5, 0.25], [0.5, 0.0], [1e5, -70000.0], [300.5, -2.5], [0.0]])
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8]
)
def test_a_reduction_casts_first(x, dtype):
    if dtype is torch.uint8 and min(x) < 0:
        pytest.skip("negative numbers have no defined value there")

    def function(x):
        rows = x.expand(3, -1) * 1
        results = [x.sum(dtype=dtype), x.prod(dtype=dtype), rows.sum(1, dtype=dtype), rows.prod(0, dtype=dtype)]
        return [*results, rows.mean(0, dtype=dtype)] if dtype.is_floating_point else results

    # Products of half precision are rounded at each step by eager, once by us.
    exact = dtype not in HALF
    for source in (torch.float32, torch.float64):
        assert not failures(assert_as_eager(function, torch.tensor(x, dtype=source), exact=exact))


@pytest.mark.parametrize("dtype", HALF)
def test_a_number_of_the_host_is_rounded_as_the_first_factor(dtype):
    number = torch.tensor(0.7, dtype=torch.float64, device="cpu")
    assert_as_eager(lambda x, s: (s * x, x * s, s * x[:1], s / x, x / s), around(dtype), number, exact=True)


@pytest.mark.parametrize("dtype", HALF)
def test_extremes_of_what_was_cast_are_found_again_in_the_backward(dtype):
    """The forward casts what it computes; the backward casts what was stored."""

    def function(x):
        y = F.gelu(x)
        return torch.linalg.vector_norm(y, float("-inf"), 1, dtype=torch.float64), y.float().amax(0), y

    x = torch.randn(2, 17).to(dtype).requires_grad_()
    torch.testing.assert_close(*(found[1] for found in (results(f, x) for f in (compiled(function), function))))


@pytest.mark.parametrize("dtype", [*HALF, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(4, 16, 5), (4, 3)])
@pytest.mark.parametrize("dim", [0, -1])
def test_weight_norm(shape, dim, dtype):
    def function(v, g):
        return torch._weight_norm(v, g, dim)

    sizes = [1] * len(shape)
    sizes[dim] = shape[dim]
    v, g = torch.randn(shape).to(dtype).requires_grad_(), (torch.rand(sizes) + 0.5).to(dtype).requires_grad_()
    assert not failures(assert_as_eager(function, v, g))
