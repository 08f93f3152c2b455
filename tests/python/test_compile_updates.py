"""Arguments that a compiled function updates in place: written by the kernels of a region, with eager's values."""

import pytest
import torch
from compile_support import compiled, failures, fresh  # noqa: F401
from nvfuser._C import PartialUpdateError
from nvfuser.dynamo.backend import observing


def axpy(p, g):
    p.add_(g, alpha=-0.1)


def moments(p, g):
    p.mul_(0.9).add_(g)
    g.mul_(p).sin_()


def swapped(p, g):
    old = p.clone()
    p.copy_(g * 1)
    g.copy_(old + 0)


def returned(p, g):
    p.add_(g)
    return p * 2, p


def seen_before(p, g):
    before = p.sin()
    p.copy_(g + 1)
    return before, p.cos()


def read_by_a_product(p, g):
    y = p @ g.t()
    p.mul_(2)
    return y


def read_by_a_product_later(p, g):
    p.mul_(2)
    return p @ g.t()


def of_rows(p, g):
    p.sub_(p.mean(0))
    g.div_(g.norm())


def with_softmax(p, g):
    p.copy_(torch.softmax(p, 1) - torch.softmax(p.t(), 1).t()[: p.shape[0], : p.shape[1]])


def a_part(p, g):
    p[:, 1:3].copy_(g[:, 1:3] * 2)
    return p.sum()


def another_dtype(p, g):
    p.copy_(g.double() * 2)


def not_read(p, g):
    p.copy_(g.exp())
    return g.exp()


PROGRAMS = [
    axpy, moments, swapped, returned, seen_before, read_by_a_product, read_by_a_product_later, of_rows, with_softmax,
    a_part, another_dtype, not_read,
]  # fmt: skip
# Those of which no copy is left to PyTorch.
FOLDED = [axpy, moments, swapped, read_by_a_product, of_rows, with_softmax]
LAYOUTS = {
    "rows": lambda: torch.randn(6, 5),
    "turned": lambda: torch.randn(5, 6).t(),
    "with gaps": lambda: torch.randn(6, 9)[:, 1:6],
    "half": lambda: torch.randn(6, 5, dtype=torch.float16),
}


def run(function, make):
    """Results and arguments, of two calls."""
    torch.manual_seed(1)
    p, g = make(), make()
    found = []
    for _ in range(2):
        found += [function(p, g), p.clone(), g.clone()]
    return found, (p._version > 0, p.stride(), g.stride())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
@torch.no_grad()
def test_as_eager(program, layout):
    theirs = run(program, LAYOUTS[layout])
    with observing() as seen:
        ours = run(compiled(program), LAYOUTS[layout])
    assert not failures(seen.graphs)
    half = {"rtol": 0.01, "atol": 0.01} if layout == "half" else {}  # eager rounds in between
    torch.testing.assert_close(ours, theirs, equal_nan=True, **half)
    if program in FOLDED and layout in ("rows", "half"):
        assert not [node for graph in seen.graphs for node in graph.cut.reasons if "copy_" in node.name]


@torch.no_grad()
def test_arguments_that_share_memory():
    def function(p, q):
        p.add_(1)
        q.mul_(2)

    def shifted():
        base = torch.arange(12.0)
        return base[:8], base[4:]

    for theirs, ours in [(shifted(), shifted()), ((torch.ones(4),) * 2, (torch.ones(4),) * 2)]:
        function(*theirs)
        compiled(function)(*ours)
        torch.testing.assert_close(ours, theirs)


def test_autograd_hears_of_it():
    p = torch.randn(4)
    x = torch.randn(4, requires_grad=True)
    y = (x * p).sum()
    compiled(lambda p: p.add_(1))(p)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def broken(monkeypatch, error):
    """Executions of regions end with the error."""
    from nvfuser.dynamo import compiled_region, fallback

    class Broken(compiled_region.direct.FusionExecutorCache):
        def execute(self, inputs):
            raise error

    monkeypatch.setattr(fallback, "_WARNED", set())
    monkeypatch.setattr(compiled_region, "_EXECUTORS", {})
    monkeypatch.setattr(compiled_region.direct, "FusionExecutorCache", Broken)


@torch.no_grad()
def test_a_region_that_fails_updates_once(monkeypatch):
    broken(monkeypatch, OSError("no such thing"))
    p, g = torch.randn(4), torch.randn(4)
    expected = p - 0.1 * g
    with pytest.warns(UserWarning, match="no such thing"):
        compiled(axpy)(p, g)
    torch.testing.assert_close(p, expected)


@torch.no_grad()
def test_a_region_that_fails_half_way_is_not_run_again(monkeypatch):
    broken(monkeypatch, PartialUpdateError("half of it was written"))
    p = torch.randn(4)
    before = p.clone()
    with pytest.raises(PartialUpdateError, match="half of it"):
        compiled(axpy)(p, torch.randn(4))
    torch.testing.assert_close(p, before)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.1, centered=True),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("foreach", [False, True])
def test_optimizers(name, foreach):
    def trained(wrap):
        torch.manual_seed(2)
        parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in [(3, 4), (4,), (1,), (5, 2)]]
        optimizer = OPTIMIZERS[name](parameters)
        for group in optimizer.param_groups:
            group["foreach"] = foreach
        step = wrap(optimizer.step)
        for _ in range(4):
            for parameter in parameters:
                parameter.grad = torch.randn_like(parameter)
            step()
        return [parameter.detach() for parameter in parameters]

    torch.testing.assert_close(trained(compiled), trained(lambda step: step))


IN_PLACE = {
    "silu": lambda x: torch.nn.functional.silu(x, inplace=True),
    "hardswish": lambda x: torch.nn.functional.hardswish(x, inplace=True),
    "sin": torch.Tensor.sin_,
    "cos and scale": lambda x: x.cos_().mul_(1.5),
    "a part": lambda x: (x[1:].sin_(), x)[1],
}


@pytest.mark.skipif(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 9), reason="PyTorch notes no such writes")
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_was_computed_with_a_gradient_is_updated_by_another_graph(name):
    """AOTAutograd writes to such an argument behind the graph: what the backward needs of it is a copy."""
    found = []
    for function in (IN_PLACE[name], compiled(IN_PLACE[name])):
        x = (torch.arange(24.0).reshape(4, 6) / 12 - 1).requires_grad_()
        before = x * 1.5
        y = function(before)
        (y.square().sum() + before.sum()).backward()
        found.append((y.detach(), before.detach(), x.grad))
    for mine, theirs in zip(*reversed(found), strict=True):
        torch.testing.assert_close(mine, theirs)
