"""Every operation of the C interface's table beside PyTorch, over the dtypes that PyTorch has.

`POINTWISE`, `CASES` (in operation_*.py) and `RANDOM` name each operation: a new line in the table fails
`test_every_operation_is_covered` until it has a line in one of them. Dtypes of results are those of the project's
promotion rules (three tiers; a reduced-precision common type computes and comes out as Float), values are PyTorch's,
computed in the same dtype and cast to the result's.
"""

import operation_composites  # noqa: F401  its cases join the others
import operation_library  # noqa: F401  and so do these
import pytest
import torch
from nvf import TORCH_DTYPES, DType, Failed, Fusion, Status, op_names
from operation_batch import Batch, run_cases
from operation_cases import CASES
from operation_dtypes import (
    ALL,
    COMPLEX,
    FLOATS,
    WIDE,
    full_precision,
    join,
    lower_tier,
    narrowed,
    sample,
)
from operation_pointwise import POINTWISE, accepted, pointwise_case

# Random operations: checked by what must hold of every draw. Functions of a fusion and a dtype; each gives its outputs
# and a check of their values.

RANDOM = {}


def random(function):
    RANDOM[function.__name__.rstrip("_")] = function
    return function


DRAWS = (100, 50)


@random
def rand_like(fusion, dtype, like):
    def check(x):
        assert x.min() >= 0 and x.max() < 1 and abs(x.mean() - 0.5) < 0.02 and abs(x.var() - 1 / 12) < 0.01

    return [fusion.op("rand_like", like)], check


@random
def randn_like(fusion, dtype, like):
    def check(x):
        assert abs(x.mean()) < 0.06 and abs(x.std() - 1) < 0.05 and 2.5 < x.abs().max() < 6.5

    return [fusion.op("randn_like", like)], check


@random
def uniform(fusion, dtype, like):
    def check(x):
        assert x.shape == DRAWS and x.min() >= -1 and x.max() < 3 and abs(x.mean() - 1) < 0.07

    return [fusion.op("uniform", -1.0, 3.0, list(DRAWS), dtype)], check


@random
def normal(fusion, dtype, like):
    def check(x):
        assert x.shape == DRAWS and abs(x.mean() - 5) < 0.15 and abs(x.std() - 2) < 0.12

    return [fusion.op("normal", 5.0, 2.0, list(DRAWS), dtype)], check


@random
def uniform_of_threads(fusion, dtype, like):
    from nvfuser._C import number_of_threads

    threads, width, seed, offset = 256, 8, 77, 5

    def check(x):
        assert x.shape == DRAWS and x.min() > 0 and x.max() <= 1 and abs(x.mean() - 0.5) < 0.02
        flat = x.flatten().tolist()
        assert all(flat[e] == number_of_threads(seed, offset, e, threads, width) for e in range(0, len(flat), 37))

    drawn = fusion.op("uniform_of_threads", list(DRAWS), threads, width, seed, offset)
    return [fusion.op("cast", drawn, dtype)], check


@random
def dropout(fusion, dtype, like):
    def check(x, mask):
        assert mask.dtype == torch.bool and abs(mask.double().mean() - 0.75) < 0.03
        torch.testing.assert_close(x, torch.where(mask, 1 / 0.75, 0.0).double())

    return fusion.ops("dropout", like, 0.25), check


# Tests -------------------------------------------------------------------------------------------


def cases_of(dtype):
    cases = [(name, pointwise_case(name, dtype)) for name, spec in POINTWISE.items() if dtype in accepted(spec)]
    for name, group in CASES.items():
        for _, dtypes, function in group:
            if dtype in dtypes:
                cases.append((name, lambda batch, function=function: function(batch, dtype)))
    return cases


def test_every_operation_is_covered():
    covered = [*POINTWISE, *CASES, *RANDOM]
    assert sorted(set(covered)) == op_names()
    run = sum(len(cases_of(dtype)) for dtype in ALL) + 2 * len(RANDOM)
    refused = sum(len(ALL) - len(accepted(spec)) for spec in POINTWISE.values())
    print(f"\n{len(op_names())} operations: {run} cases beside PyTorch, {refused} operand types refused")
    assert run > 1500


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_operations(dtype):
    cases = cases_of(dtype)
    troubles = []
    for begin in range(0, len(cases), 64):
        troubles += run_cases(cases[begin : begin + 64])
    assert not troubles, "\n" + "\n".join(troubles)


def test_operand_types_that_make_no_sense_are_refused():
    troubles = []
    for name, spec in POINTWISE.items():
        for dtype in ALL:
            if dtype in accepted(spec) or any(dtype in dtypes for _, dtypes, _ in CASES.get(name, [])):
                continue
            fusion = Fusion()
            try:
                fusion.op(name, *(fusion.tensor(2, dtype) for _ in range(spec.arity)))
                troubles.append(f"{name} takes {dtype.name}")
            except Failed as error:
                named = name in error.message
                if error.status != Status.USER_ERROR or not named:
                    troubles.append(f"{name} of {dtype.name}: {error}")
    assert not troubles, "\n" + "\n".join(troubles)


@pytest.mark.parametrize("dtype", WIDE, ids=lambda dtype: dtype.name)
def test_random_operations(dtype):
    fusion = Fusion()
    like = fusion.tensor(2, dtype)
    checks = []
    for name, define in RANDOM.items():
        values, check = define(fusion, dtype, like)
        fusion.output(*values)
        checks.append((name, len(values), check))
    fusion.random_state(1234, 0)
    results = iter(fusion.execute(torch.ones(DRAWS, dtype=TORCH_DTYPES[dtype])))
    for name, count, check in checks:
        drawn = [next(results) for _ in range(count)]
        assert drawn[0].dtype == TORCH_DTYPES[dtype], name
        try:
            check(*(x if x.dtype == torch.bool else x.double() for x in drawn))
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


# The consequences that the promotion rules state, as they are written: (operands, result of add). T: tensor,
# Z: 0-dim tensor, S: scalar.
STATED = [
    ("T Float", "S Double", "Float"),
    ("T Half", "S Double", "Float"),
    ("T Int", "S Double", "Double"),
    ("T Int", "S Float", "Float"),
    ("T Int32", "S Int", "Int32"),
    ("T Bool", "S Int", "Int"),
    ("T Int", "T Float", "Float"),
    ("T Int32", "T Int", "Int"),
    ("T Int", "T Double", "Double"),
    ("T Double", "T ComplexFloat", "ComplexDouble"),
    ("T Half", "T BFloat16", "Float"),
    ("T Half", "T Half", "Float"),
    ("T Float8_e4m3fn", "T Float8_e4m3fn", "Float"),
    ("T Float", "Z Double", "Float"),
    ("Z Float", "T Int", "Float"),
    ("Z Float", "S Double", "Float"),
    ("S Double", "S Double", "Double"),
    ("S Float", "S Float", "Float"),
    ("S Int32", "S Int32", "Int32"),
    ("T Float", "S ComplexDouble", "ComplexFloat"),
]


def test_stated_promotions():
    for first, second, result in STATED:
        fusion = Fusion()
        operands = []
        for tier, name in (first.split(), second.split()):
            dtype = DType[name]
            operands.append(fusion.scalar(dtype) if tier == "S" else fusion.tensor(2 if tier == "T" else 0, dtype))
        for one, other in (operands, operands[::-1]):
            assert fusion.op("add", one, other).dtype == DType[result], (first, second)


@pytest.mark.parametrize("tier", ["tensor", "zero_dim", "scalar"])
def test_promotion_of_all_pairs(tier):
    """add of every two dtypes: the dtype when defined and when run, and the value."""
    troubles = []
    for first in ALL:
        batch = Batch()
        x = sample(first, "small", 0)
        for second in ALL:
            batch.operation = f"add of {first.name} and {tier} {second.name}"
            y = sample(second, "small", 1)
            joined = join(first, second) if tier == "tensor" else lower_tier(first, second)
            if joined is None:
                with pytest.raises(Failed, match="no integer type holds the values of"):
                    batch.op("add", batch.input(x), batch.input(y))
                continue
            result = full_precision(joined)
            if tier == "scalar":
                y = y[0, 0].item()
                operand = batch.scalar(y, second)
                y = torch.tensor(y, dtype=torch.complex128 if isinstance(y, complex) else torch.float64)
            else:
                y = y if tier == "tensor" else y[0, 0].clone()
                operand = batch.input(y)
            compute = TORCH_DTYPES[result] if result in FLOATS + COMPLEX else torch.int64
            total = x.to(compute) + (y.to(compute) if result in COMPLEX or not y.is_complex() else y)
            try:
                batch.expect(batch.op("add", batch.input(x), operand), narrowed(total, result))
            except (AssertionError, Failed) as error:
                troubles.append(str(error))
        troubles += batch.run()
    assert not troubles, "\n" + "\n".join(troubles)
