"""Operations at their edges: elements have one result wherever they stand, in the body of vectors, in the rest, alone;
ends of intervals, the least numbers, integers of two signs, divisors of zero."""

import math

import numpy as np
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition
from operation_pointwise import BINARY, UNARY
from tested_device import DEVICE


def of_floats(table):
    return [name for name, operation in table.items() if "f" in operation.classes]


NUMBERS = [0.5, -0.5, 2.0, 3.0, -1.0, 0.0, 1.5, math.inf, math.nan]
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 5e-324, -1e-310, 1e-40, 1.7e308, 3.4e38, -2.5, 0.5, 0.7]
LENGTH = 35  # whole vectors of any width, and a rest


def run(define, dtype, *inputs):
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor(shape=[-1], contiguity=[True], dtype=dtype) for _ in inputs]
        fd.add_output(define(fd, *tensors))
    return fd.execute(list(inputs))[0].cpu()


def bits(values):
    """Comparable as they are, NaN by its being one."""
    if values.dtype is torch.bool:
        return values.tolist()
    return [("nan" if math.isnan(v) else (v, math.copysign(1, v))) for v in values.double().tolist()]


def same(one, other):
    """Special values and signs of zeros are; of others both may be off by a rounding."""
    if isinstance(one, tuple) and isinstance(other, tuple) and math.isfinite(one[0]) and one[0] != 0:
        return math.isclose(one[0], other[0], rel_tol=1e-6)
    return one == other


def alike(define, dtype, *values):
    """Whether an element has one result at each place of a long tensor, and alone."""
    kind = {DataType.Float: torch.float32, DataType.Double: torch.float64}[dtype]
    rows = [torch.tensor(each, dtype=kind, device=DEVICE) for each in values]
    count = len(rows[0])
    for shift in range(0, LENGTH, 7):
        turned = [row.roll(shift).repeat(LENGTH // count + 1)[:LENGTH].contiguous() for row in rows]
        found = bits(run(define, dtype, *turned))
        alone = [bits(run(define, dtype, *(row[i : i + 1].clone() for row in rows)))[0] for i in range(count)]
        places = [(at - shift) % count for at in range(LENGTH)]
        assert all(same(found[at], alone[place]) for at, place in enumerate(places))


@pytest.mark.parametrize("dtype", [DataType.Float, DataType.Double])
@pytest.mark.parametrize("name", of_floats(UNARY))
def test_operations_of_one_operand(name, dtype):
    alike(lambda fd, x: getattr(fd.ops, name)(x), dtype, SPECIAL)


@pytest.mark.parametrize("dtype", [DataType.Float, DataType.Double])
@pytest.mark.parametrize("name", of_floats(BINARY))
def test_operations_of_two_operands(name, dtype):
    left = [a for a in SPECIAL[:9] for _ in range(3)]
    right = [SPECIAL[(i * 4 + 1) % len(SPECIAL)] for i in range(len(left))]
    alike(lambda fd, x, y: getattr(fd.ops, name)(x, y), dtype, left, right)


@pytest.mark.parametrize("dtype", [DataType.Float, DataType.Double])
@pytest.mark.parametrize("number", NUMBERS)
def test_powers_by_a_number(number, dtype):
    """Of an exponent of 1/2 compilers make a root, which is -0 of -0 and no number of -inf."""

    def define(fd, x):
        return fd.ops.pow(x, fd.define_scalar(number, DataType.Double))

    kind = {DataType.Float: torch.float32, DataType.Double: torch.float64}[dtype]
    values = [v for v in SPECIAL if abs(v) < 1e38 or math.isinf(v) or math.isnan(v)] * 3
    found = run(define, dtype, torch.tensor(values, dtype=kind, device=DEVICE))
    for value, result in zip(torch.tensor(values, dtype=kind).tolist(), found.tolist(), strict=True):
        try:
            expected = math.pow(value, number)
        except (ValueError, OverflowError):  # of a negative base; zero to a negative power
            continue
        if expected != 0 and math.isfinite(expected) and not 1e-37 < abs(expected) < 1e38:
            continue  # beyond Float
        assert math.isclose(result, expected, rel_tol=1e-6) or (math.isnan(result) and math.isnan(expected))
        assert math.isnan(expected) or math.copysign(1, result) == math.copysign(1, expected)


def test_the_inverse_of_erfc_of_the_least_numbers():
    tails = [5e-324, 1e-320, 1e-310, 2.3e-308, 1e-300]
    expected = [
        27.213293210812948815,
        27.073153719853040874,
        26.644806559364764782,
        26.542635020108010867,
        26.209469960516123855,
    ]
    x = torch.tensor(tails, dtype=torch.float64, device=DEVICE)
    found = run(lambda fd, x: fd.ops.erfcinv(x), DataType.Double, x)
    for tail, value, result in zip(tails, expected, found.tolist(), strict=True):
        assert math.isclose(result, value, rel_tol=4e-16), tail
    x = torch.tensor([1e-289, 9e-291, 1e-280], dtype=torch.float64, device=DEVICE)
    for tail, result in zip(x.tolist(), run(lambda fd, x: fd.ops.erfcinv(x), DataType.Double, x).tolist(), strict=True):
        assert math.isclose(math.erfc(result), tail, rel_tol=1e-12), tail


@pytest.mark.parametrize("dtype", [DataType.Half, DataType.BFloat16, DataType.Float, DataType.Double])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1000.0, 1000.5), (-1.0, -0.5), (-3.0, 5.0), (7.3, 1000.3)])
def test_uniform_numbers_stay_below_the_upper_end(dtype, low, high):
    for given in (True, False):  # the ends are known, or come with the call
        with FusionDefinition() as fd:
            if given:
                ends = [fd.define_scalar(low, DataType.Double), fd.define_scalar(high, DataType.Double)]
            else:
                ends = [fd.define_scalar(None, DataType.Double) for _ in range(2)]
            fd.add_output(fd.ops.uniform(*ends, [200_000], dtype=dtype))
        drawn = fd.execute([] if given else [low, high], device=DEVICE)[0]
        assert bool((drawn.double() < high).all())
        assert drawn.double().min() >= torch.tensor(low).to(drawn.dtype).double()
        if dtype in (DataType.Float, DataType.Double):
            assert abs(drawn.double().mean().item() - (low + high) / 2) < 0.01 * (high - low)


# Signed and unsigned integers, and divisors of zero -------------------------------------------------


NAMES = {
    "uint8": DataType.Byte,
    "int8": DataType.Char,
    "uint16": DataType.UInt16,
    "int16": DataType.Short,
    "uint32": DataType.UInt32,
    "int32": DataType.Int32,
    "uint64": DataType.UInt64,
    "int64": DataType.Int,
}
PAIRS = [("uint8", "int8"), ("uint16", "int16"), ("uint32", "int32"), ("uint32", "int8"), ("uint16", "int64")]


def of_integers(name, first, second):
    with FusionDefinition() as fd:
        kinds = [NAMES[each.dtype.name] for each in (first, second)]
        tensors = [fd.define_tensor(shape=[-1], contiguity=[True], dtype=kind) for kind in kinds]
        fd.add_output(getattr(fd.ops, name)(*tensors))
    return fd.execute([first, second])[0]


@pytest.mark.parametrize("name", ["lt", "ge", "eq", "maximum", "minimum", "add", "sub", "mul"])
@pytest.mark.parametrize("pair", PAIRS)
def test_signed_beside_unsigned_integers(name, pair):
    unsigned, signed = (np.dtype(each) for each in pair)
    first = np.array([5, 0, np.iinfo(unsigned).max, 7], unsigned)
    second = np.array([-1, np.iinfo(signed).min, -1, 7], signed)
    function = {"lt": "less", "ge": "greater_equal", "eq": "equal"}.get(name, name.replace("sub", "subtract"))
    function = {"mul": "multiply"}.get(function, function)
    for operands in ((first, second), (second, first)):
        found, expected = of_integers(name, *operands), getattr(np, function)(*operands)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["lt", "maximum", "add"])
def test_no_integer_holds_both(name):
    unsigned, signed = np.array([5], np.uint64), np.array([-1], np.int64)
    with pytest.raises(RuntimeError, match=f"{name}: no integer type holds the values of .*; cast one of the operands"):
        of_integers(name, unsigned, signed)


@pytest.mark.parametrize("name", ["div", "mod", "ceilDiv"])
def test_a_scalar_that_is_divided_by_zero(name):
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int)
        s, t = (fd.define_scalar(None, DataType.Int) for _ in range(2))
        operation = getattr(fd.ops, name, None)
        if operation is None:
            pytest.skip(f"no operation {name}")
        fd.add_output(fd.ops.add(x, operation(s, t)))
    x = torch.arange(3, device=DEVICE)
    assert fd.execute([x, 6, 2])[0].tolist() == [int(v) + {"div": 3, "mod": 0, "ceilDiv": 3}[name] for v in x]
    with pytest.raises(
        RuntimeError, match=r"a scalar is divided by zero: i\d+ in .* is 0; pass sizes and scalars that divide"
    ):
        fd.execute([x, 6, 0])
