"""Each operation that torch.compile(backend="nvfuser") fuses gives eager's results: value, dtype, strides, memory that
is shared, gradients. What differs is in the list of eager_contract.py, and nothing else does.

All rows are one program for each combination of operands; a part of them by default, everything with
NVFUSER_TEST_CONTRACT=all.
"""

import os
import re
from pathlib import Path

import pytest
import torch
from compile_rows import ROWS
from compile_support import compiled, failures
from eager_contract import DTYPES, LAYOUTS, cases, described, meant, operands, ordinary
from nvfuser.dynamo.backend import observing
from test_compile_strides import MEANT as OTHER_STRIDES
from test_compile_strides import SAME_ONES
from tested_device import DEVICE, tensors_there

ALL = os.environ.get("NVFUSER_TEST_CONTRACT") == "all"
PARTS = 1 if ALL else 4  # a combination is tried with each fourth row

SAMPLE = [
    ("float32", "special", "contiguous"),
    ("bfloat16", "special", "turned"),
    ("float16", "ordinary", "sliced"),
    ("float32", "ordinary", "channels last"),
    ("int64", "special", "sliced"),
    ("uint8", "special", "contiguous"),
    ("int8", "special", "turned"),
    ("bool", "special", "contiguous"),
    ("float32", "ones", "turned"),
    ("float32", "no axes", "contiguous"),
    ("float64", "no elements", "contiguous"),
]
CASES = list(cases()) if ALL else SAMPLE


@pytest.fixture(autouse=True)
def fresh():
    with tensors_there():
        yield
    torch._dynamo.reset()


def listed(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def rows_of(position):
    return [name for index, name in enumerate(ROWS) if index % PARTS == position % PARTS]


def taken(names, x, w):
    """Those that eager takes for these operands."""
    found = []
    for name in names:
        try:
            ROWS[name](x, w)
        except (RuntimeError, IndexError, TypeError, NotImplementedError, ValueError, ZeroDivisionError):
            continue
        found.append(name)
    return found


def program(names):
    return lambda x, w: [listed(ROWS[name](x, w)) for name in names]


def shared(results, *inputs):
    """For each result the first of inputs and results before it that has the same memory, if it has any."""
    first, found = {}, []
    for position, tensor in enumerate((*inputs, *results)):
        place = tensor.untyped_storage().data_ptr()
        found.append(first.setdefault(place, position) if place else None)
    return found[len(inputs) :]


def tolerance(dtype):
    return {"rtol": 2e-3, "atol": 1e-3} if dtype in (torch.float16, torch.bfloat16) else {}


def differences(name, mine, theirs, x, w):
    """What differs and is not meant to."""
    dtype = x.dtype
    if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
        return [f"{mine.dtype} {tuple(mine.shape)} for {theirs.dtype} {tuple(theirs.shape)}"]
    found = []
    ones = name in SAME_ONES
    sizes = list(zip(mine.shape, mine.stride(), theirs.stride(), strict=True))
    if any(a != b for size, a, b in sizes if size > 1 or ones) and mine.numel() and name not in OTHER_STRIDES:
        found.append(f"strides {mine.stride()} for {theirs.stride()}")

    def element(where):
        return (
            torch.broadcast_to(where, mine.shape) if x.shape == mine.shape else torch.ones_like(mine, dtype=torch.bool)
        )

    wide = (mine.double(), theirs.double())
    if mine.dtype.is_floating_point:
        near = torch.isclose(*wide, equal_nan=True, **(tolerance(mine.dtype) or {"rtol": 1e-5, "atol": 1e-6}))
    else:
        near = mine == theirs
    for row in meant(name, "values", dtype, DEVICE):
        near = near | (element(row.where(x, w)) if row.where else True)
    if not bool(near.all()):
        example = [tensor[~near][:3].tolist() for tensor in (x, w) if tensor.shape == mine.shape]
        found.append(f"{mine[~near][:3].tolist()} for {theirs[~near][:3].tolist()} of {example}")
    if mine.dtype.is_floating_point:
        zeros = (mine == 0) & (theirs == 0) & (mine.signbit() != theirs.signbit())
        for row in meant(name, "signs of zeros", dtype, DEVICE):
            zeros = zeros & ~(element(row.where(x, w)) if row.where else torch.ones_like(zeros))
        if bool(zeros.any()):
            found.append(f"signs of zeros, of {[t[zeros][:3].tolist() for t in (x, w) if t.shape == mine.shape]}")
    return found


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_results_are_eagers(case):
    x, w = operands(*case)
    names = taken(rows_of(CASES.index(case)), x, w)
    assert names
    function = program(names)
    with observing() as seen:
        ours = compiled(function, dynamic=False)(x, w)
    theirs = function(x, w)
    assert not failures(seen.graphs)
    wrong = {}
    for name, mine, other in zip(names, ours, theirs, strict=True):
        found = [text for a, b in zip(mine, other, strict=True) for text in differences(name, a, b, x, w)]
        # Results of one row: those of two rows may be one, as the program computes the same twice.
        if shared(mine, x, w) != shared(other, x, w) and x.numel():
            found.append(f"memory is shared as {shared(mine, x, w)}, not {shared(other, x, w)}")
        if found:
            wrong[name] = found
    assert not wrong


def differentiable(names, x, w):
    """Those that have finite gradients there, in eager."""
    found = []
    for name in taken(names, x, w):
        try:
            gradients = gradients_of(program([name]), x, w)
        except RuntimeError:  # no derivative in PyTorch
            continue
        if gradients and all(bool(g.isfinite().all()) for g in gradients):
            found.append(name)
    return found


def gradients_of(function, x, w):
    x, w = (tensor.detach().clone(memory_format=torch.preserve_format).requires_grad_() for tensor in (x, w))
    results = [y for row in function(x, w) for y in row if y.requires_grad]
    if not results:
        return []
    weights = [torch.arange(1, y.numel() + 1, dtype=y.dtype).cos().view(y.shape) for y in results]
    gradients = torch.autograd.grad(results, [x, w], weights, allow_unused=True)
    return [gradient for gradient in gradients if gradient is not None]


@pytest.mark.parametrize("layout", list(LAYOUTS) if ALL else ["turned"])
@pytest.mark.parametrize("domain", ["below 1", "above 1"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"] if ALL else ["float64"])
def test_gradients_are_eagers(dtype, domain, layout):
    """All rows' gradients together: in double precision, a wrong one shows in the sum."""
    x, w = (LAYOUTS[layout](tensor) for tensor in ordinary(DTYPES[dtype]))
    x, w = (x, w) if domain == "below 1" else (w, x)
    names = differentiable([name for i, name in enumerate(ROWS) if i % PARTS == int(domain == "below 1") % PARTS], x, w)
    assert names
    function = program(names)
    with observing() as seen:
        ours = gradients_of(compiled(function, dynamic=False), x, w)
    theirs = gradients_of(function, x, w)
    assert not failures(seen.graphs)
    for mine, other in zip(ours, theirs, strict=True):
        scale = other.abs().max().item()
        bounds = {"rtol": 1e-9, "atol": 1e-9 * scale} if dtype == "float64" else {"rtol": 0.05, "atol": 0.05 * scale}
        torch.testing.assert_close(mine, other, **bounds)


def test_the_page_lists_what_differs():
    page = (Path(__file__).resolve().parents[2] / "docs" / "numerics.md").read_text()
    printed = re.search(r"<!-- differences -->\n(.*?)<!-- end -->", page, re.DOTALL).group(1)
    assert " ".join(printed.split()) == " ".join(" ".join(described()).split())
