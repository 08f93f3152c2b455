"""Exact numerics: torch.compile(..., options={"exact_numerics": True}) gives eager's bits, and reductions one order."""

import re
from pathlib import Path

import numpy
import pytest
import torch
from compile_support import compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo import exact
from nvfuser.dynamo.backend import observing
from tested_device import DEVICE
from torch.nn import functional as F
from torch_fuzz import pointwise
from torch_fuzz.compare import same_bits
from torch_fuzz.ways import run_exact

EXACT = {"exact_numerics": True}


@pytest.mark.parametrize("first", [0, 24, 48, 72, 500_000_000, 500_000_024])
def test_random_programs_have_eagers_bits(first):
    programs = [pointwise.draw(seed, device=DEVICE) for seed in range(first, first + 24)]
    programs = [program for program in programs if program is not None]
    wrong = {program.text(): text for program, text in zip(programs, run_exact(programs, DEVICE), strict=True) if text}
    assert not wrong


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_after_each_operation(dtype):
    def chain(x, y):
        return (x * 1.1 + y) * 0.7 - x / 3

    x, y = (torch.randn(1000).to(dtype) for _ in range(2))
    with observing() as seen:
        ours = compiled(chain, options=EXACT)(x, y)
    assert len(seen.graphs[0].regions) == 1 and not failures(seen.graphs)
    assert bool(same_bits(ours, chain(x, y)).all())
    assert not bool(same_bits(compiled(chain)(x, y), chain(x, y)).all())  # what it costs others not to


def test_functions_are_pytorchs():
    def program(x):
        return F.relu(x * 2 + 1).exp() * 3

    x = torch.randn(64)
    with observing() as seen:
        ours = compiled(program, options=EXACT)(x)
    reasons = [reason for reason in seen.graphs[0].cut.reasons.values() if "exact_numerics" in reason]
    assert "exact_numerics: PyTorch's exp has roundings of its own" in reasons
    assert bool(same_bits(ours, program(x)).all())


def test_gradients_have_eagers_bits():
    def gradients(function, x, y):
        x, y = (t.detach().clone().requires_grad_() for t in (x, y))
        return torch.autograd.grad((function(x, y) * 3).sum(), (x, y))

    def program(x, y):
        return F.leaky_relu(x * y, 0.1) / (y * y + 1) + F.relu(x) * y.tanh()

    x, y = torch.randn(33, 17), torch.randn(33, 17)
    ours = gradients(compiled(program, options=EXACT), x, y)
    for mine, other in zip(ours, gradients(program, x, y), strict=True):
        assert bool(same_bits(mine, other).all())


def test_the_environment_switches_it_on(monkeypatch):
    def program(x):
        return (x * 1.1 + 0.3) * 0.7

    x = torch.randn(500).bfloat16()
    monkeypatch.setenv("NVFUSER_ENABLE", "exact_numerics")
    assert bool(same_bits(compiled(program)(x), program(x)).all())
    assert not bool(same_bits(compiled(program, options={"exact_numerics": False})(x), program(x)).all())


def test_other_options_are_refused():
    with pytest.raises(Exception, match="has the option exact_numerics, and was given speed"):
        compiled(lambda x: x + 1, options={"speed": 11})(torch.randn(3))


# Reductions -----------------------------------------------------------------------------------------


def in_order(rows):
    """Each row added up one by one, in Double."""
    there = rows.device
    rows = rows.cpu().numpy().astype(numpy.float64)
    return torch.from_numpy(numpy.add.accumulate(rows, axis=1)[:, -1]).float().to(there)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.t().contiguous().t(),
    "spaced": lambda x: torch.stack([x, x], -1)[..., 0],
    "three axes": lambda x: x.view(x.shape[0], -1, 7),
    "three axes, the reduced ones turned": lambda x: x.view(x.shape[0], -1, 7).mT.contiguous().mT,
}


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("count", [1, 3, 200])
def test_sums_have_one_order(count, layout):
    """Whatever lies where, and however many rows there are: those of the first rows are the same."""
    x = torch.randn(200, 7 * 911) * 10 ** torch.linspace(-3, 3, 7 * 911)
    given = LAYOUTS[layout](x[:count])
    dims = tuple(range(1, given.dim()))
    ours = compiled(lambda x: (x * 1.5).sum(dims), options=EXACT, dynamic=False)(given)
    assert torch.equal(ours, in_order(x[:count] * 1.5))


def test_sums_do_not_hang_on_threads():
    x = torch.randn(64, 50_000)
    programs = [lambda x: x.sum(1), lambda x: x.sum(), lambda x: x.sum(0), lambda x: torch.var_mean(x, 1)]
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append([compiled(program, options=EXACT)(x) for program in programs])
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(results[1:], results[:1] * 2, rtol=0, atol=0)


def test_softmax_and_norms_are_right():
    def program(x, w):
        return F.softmax(x, -1), F.layer_norm(x, x.shape[-1:], w), F.log_softmax(x, 0), x.std(1), x.norm(dim=1)

    x, w = torch.randn(40, 300), torch.randn(300)
    torch.testing.assert_close(compiled(program, options=EXACT)(x, w), program(x, w))


def test_the_page_has_the_table():
    page = (Path(__file__).resolve().parents[2] / "docs" / "numerics.md").read_text()
    printed = re.search(r"<!-- exact -->\n(.*?)<!-- end of exact -->", page, re.DOTALL).group(1)
    assert printed.split() == " ".join(exact.described()).split()
