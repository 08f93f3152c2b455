"""torch.compile of operations with numbers that the dtype of their tensor does not have: they are cast to it, as in
eager PyTorch, or refused by it."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from torch.nn import functional as F

NUMBERS = (-1, 255, 256, 300, -129, 2**31 + 3, -(2**40) - 1)

OPERATIONS = {
    "sums": lambda x, number: (x + number, x - number, torch.rsub(x, number)),
    "products": lambda x, number: x * number,
    "bits": lambda x, number: (x & number, x | number, x ^ number),
    "comparisons": lambda x, number: (x == number, x != number, x < number, x >= number),
}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_they_lose_their_highest_bits(operation, dtype):
    def all_of_them(x):
        results = [OPERATIONS[operation](x, number) for number in NUMBERS]
        return [y for each in results for y in (each if isinstance(each, tuple) else (each,))]

    assert not failures(assert_as_eager(all_of_them, torch.tensor([5, 100, 44]).to(dtype), exact=True))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_divisors_do_so_too(dtype):
    numbers = [number for number in NUMBERS if torch.tensor(number).to(dtype)]

    def quotients(x):
        return [y for n in numbers for y in (x % n, x // n, torch.fmod(x, n), torch.div(x, n, rounding_mode="trunc"))]

    assert not failures(assert_as_eager(quotients, torch.tensor([5, 100, 44]).to(dtype), exact=True))


REFUSED = {
    "a divisor that is 0 then": (lambda x: x % 256, torch.uint8),
    "a filled part": (lambda x: x.masked_fill(x > 3, 300), torch.uint8),
    "a choice": (lambda x: torch.where(x > 3, x, 300), torch.int8),
    "a filled tensor": (lambda x: torch.full_like(x, -70000) + x, torch.float16),
    "a bound": (lambda x: x.clamp(max=1000) + 1, torch.int8),
    "one below": (lambda x: x.clamp_min(-70000.0) + 1, torch.float16),
    "a factor": (lambda x: torch.add(x, x, alpha=300) + 1, torch.uint8),
    "a margin": (lambda x: F.pad(x, (1, 1), value=300) + 1, torch.uint8),
    "truth values": (lambda x: (x > 3) - x, torch.int32),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses_is_refused(name):
    function, dtype = REFUSED[name]
    x = torch.tensor([5, 100, 44]).to(dtype)
    with pytest.raises((RuntimeError, ZeroDivisionError)) as theirs:
        function(x)
    with pytest.raises((RuntimeError, ZeroDivisionError), match=str(theirs.value)[:40]):
        compiled(function)(x)


def test_unsigned_numbers_are_filled_in_from_the_end():
    def filled(x):
        return x.masked_fill(x > 7, -1), torch.where(x > 7, x, -2), torch.full_like(x, -3) + x, x.clamp(min=-1)

    assert not failures(assert_as_eager(filled, torch.tensor([5, 200], dtype=torch.uint8), exact=True))


def test_bounds_that_are_infinite_are_none():
    assert_as_eager(lambda x: (x.masked_fill(x > 3, -torch.inf), x.clamp(-torch.inf, 50)), torch.arange(9.0).half())


EIGHTHS = (1.0, 448.0, 449.0, 464.0, 465.0, 1e4, -600.0, float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e-3)


@pytest.mark.parametrize("dtype", (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64), ids=str)
@pytest.mark.parametrize("to", (torch.float8_e4m3fn, torch.float8_e5m2), ids=str)
def test_what_is_beyond_float8_is_as_in_eager(dtype, to):
    """PyTorch saturates e4m3fn, or makes NaN of it, by its version."""
    numbers = EIGHTHS if dtype.is_floating_point else (1, -7, 500, -900)
    x = torch.tensor(numbers).to(dtype)
    program = lambda x: ((x + x - x).to(to), x.to(to).float() * 2)  # noqa: E731
    for got, wanted in zip(torch.compile(program, backend="nvfuser")(x), program(x), strict=True):
        assert got.dtype == wanted.dtype
        torch.testing.assert_close(got.float(), wanted.float(), rtol=0, atol=0, equal_nan=True)


def test_an_update_of_float8_is_as_in_eager():
    x, got, wanted = torch.tensor(EIGHTHS), *torch.zeros(2, len(EIGHTHS), dtype=torch.float8_e4m3fn)
    torch.compile(lambda to, x: to.copy_(x * 3), backend="nvfuser")(got, x)
    wanted.copy_(x * 3)
    torch.testing.assert_close(got.float(), wanted.float(), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("turned", (False, True))
def test_angles_of_complex_numbers(turned):
    z = torch.randn(3, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    z = (z.t() if turned else z.conj()).requires_grad_()
    program = lambda z: z.angle() * 2  # noqa: E731
    got, wanted = torch.compile(program, backend="nvfuser")(z), program(z)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(torch.autograd.grad(got.sum(), z), torch.autograd.grad(wanted.sum(), z))
