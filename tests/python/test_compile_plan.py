"""Plans of compiled graphs, called again and again: from the second on few steps need Python, and give the same."""

import threading
import warnings

import pytest
import torch
from compile_support import compiled, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing
from tested_device import ON_GPU

CALLS = 4
HAS_DISPATCHER = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)


def ways(graph):
    """How often each way stands in the plan's text."""
    lines = str(graph.run).splitlines()
    found = ["a fusion", "a library", "a view", "arithmetic", "Python"]
    return {way: sum(f"  {way}" in line for line in lines) for way in found}


def layer(x, w, b):
    y = torch.addmm(b, torch.tanh(x), w.t()).view(2, -1, 3)
    return torch.relu(y.transpose(0, 1)) * 2


def operands(**options):
    return torch.randn(4, 5, **options), torch.randn(6, 5, **options), torch.randn(6, **options)


@torch.no_grad()
def test_no_step_of_a_layer_is_pythons():
    with observing() as seen:
        function = compiled(layer)
        for _ in range(CALLS):
            args = operands()
            torch.testing.assert_close(function(*args), layer(*args))
    (graph,) = seen.graphs
    assert ways(graph) == {"a fusion": 2, "a library": 1, "a view": 3, "arithmetic": 0, "Python": 0}
    assert graph.run.calls_of_python == []


@torch.no_grad()
def test_arguments_may_be_other_tensors_each_time():
    """Strides, an offset, a parameter, an inference tensor, a lazy view: where Dynamo does not compile anew."""
    function = compiled(layer)
    x, w, b = operands()
    with torch.inference_mode():
        of_inference = x.clone()
    for given in (x, torch.nn.Parameter(x), x.clone(), of_inference, x.t().contiguous().t(), torch.cat([x, x])[4:]):
        for _ in range(CALLS):
            torch.testing.assert_close(function(given, w, b), layer(given, w, b))


@torch.no_grad()
def test_sizes_that_change():
    def function(x, w):
        n = x.shape[0]
        y = (torch.sin(x) @ w).view(n, 2, -1)
        return torch.cos(y[:, 0]) * n, y.transpose(0, 1).reshape(-1, n * 3)

    with observing() as seen:
        changing = compiled(function, dynamic=True)
        for n in (4, 5, 7, 5, 4, 9):
            x, w = torch.randn(n, 8), torch.randn(8, 6)
            for _ in range(2):
                torch.testing.assert_close(changing(x, w), function(x, w))
    assert len(seen.graphs) == 1


@torch.no_grad()
def test_tensors_with_rules_of_their_own():
    function = compiled(lambda x, y: torch.exp(x * 2).t().contiguous() + y)
    x, y = torch.randn(3, 4), torch.randn(4, 3)
    wanted = torch.exp(x * 2).t() + y
    for _ in range(CALLS):
        torch.testing.assert_close(function(x, y), wanted)
        batched = torch.func.vmap(lambda a: function(a, y))(torch.stack([x, x]))
        torch.testing.assert_close(batched, torch.stack([wanted, wanted]))
    z = torch.randn(3, 4, dtype=torch.complex64).conj().imag  # lazily negated
    for _ in range(CALLS):
        torch.testing.assert_close(function(z, y), torch.exp(z * 2).t() + y)


def test_gradients_again_and_again():
    function = compiled(layer)
    for _ in range(CALLS):
        args = operands(requires_grad=True)
        same = [x.detach().clone().requires_grad_() for x in args]
        function(*args).square().sum().backward()
        layer(*same).square().sum().backward()
        for x, y in zip(args, same, strict=True):
            torch.testing.assert_close(x.grad, y.grad)


@torch.no_grad()
def test_axes_of_one_element_have_their_strides_each_time():
    def function(x):
        return torch.sin(x.permute(1, 0, 2)) * 2

    x = torch.randn(3, 1, 5)
    again = compiled(function)
    assert {again(x).stride() for _ in range(CALLS)} == {function(x).stride()}


@torch.no_grad()
def test_arguments_are_written_each_time_and_have_new_versions():
    step = compiled(lambda p, g: p.sub_(0.5 * g))
    p, g = torch.zeros(6), torch.ones(6)
    for call in range(1, CALLS + 1):
        version = p._version
        step(p, g)
        assert p._version > version and torch.equal(p, torch.full((6,), -0.5 * call))


@torch.no_grad()
def test_views_of_arguments_are_pytorchs():
    function = compiled(lambda x: (x.view(-1)[2:], torch.sin(x)))
    x = torch.randn(3, 4)
    for _ in range(CALLS):
        part, _ = function(x)
        part.zero_()
        assert x.view(-1)[2:].abs().sum() == 0 and part._base is x
        x.normal_()


@torch.no_grad()
def test_large_results_and_several_kernels():
    def function(x):
        centred = x - x.mean(0)
        return centred / centred.square().sum(1, keepdim=True), x.sum()

    x = torch.randn(1024, 600)
    again = compiled(function)
    for _ in range(CALLS):
        torch.testing.assert_close(again(x), function(x))


def test_no_step_of_a_block_that_is_trained_is_pythons():
    """Norms of several kernels, a gradient that is one number everywhere, a convolution, a copy between products."""

    def block(x, w, b, v):
        y = torch.nn.functional.layer_norm(torch.conv1d(x, w), (6,), b)
        return (torch.nn.functional.gelu(y).transpose(1, 2) @ v.exp()).sum()

    given = [torch.randn(*shape, requires_grad=True) for shape in ((3, 4, 8), (5, 4, 3), (6,), (5, 2))]
    with observing() as seen:
        again = compiled(block)
        for _ in range(CALLS):
            found = torch.autograd.grad(again(*given), given)
            for one, right in zip(found, torch.autograd.grad(block(*given), given), strict=True):
                torch.testing.assert_close(one, right, rtol=1e-4, atol=1e-5)
    for graph in seen.graphs:
        assert all(region.repeats is not None for region in graph.regions)
        if HAS_DISPATCHER:
            assert ways(graph)["Python"] == 0, str(graph.run)
            assert graph.run.calls_of_python == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_that_is_trained_is_not_pythons(dtype):
    """On a GPU its kernels are: they give numbers beside tensors."""

    def attention(x, w):
        q, k, v = (x.tanh() @ w).view(2, 16, 3, 2, 32).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).exp()

    x, w = torch.randn(2, 16, 64, dtype=dtype), torch.randn(64, 192, dtype=dtype) / 8
    given = [x.requires_grad_(), w.requires_grad_()]
    with observing() as seen:
        again = compiled(attention)
        for _ in range(CALLS):
            found = torch.autograd.grad(again(*given).sum(), given)
            for one, right in zip(found, torch.autograd.grad(attention(*given).sum(), given), strict=True):
                torch.testing.assert_close(one, right, rtol=0.1 if dtype is torch.bfloat16 else 1e-3, atol=0.1)
    assert seen.graphs
    for graph in seen.graphs:
        # A view of an argument that is handed on to the backward is PyTorch's.
        left = ("aten.permute", "aten._scaled_dot") if ON_GPU else ("aten.permute",)
        made = [made for made in graph.run.calls_of_python if not made.startswith(left)]
        assert made == [] or not HAS_DISPATCHER


@torch.no_grad()
def test_arguments_that_share_memory_are_written_as_eager_writes_them():
    def step(p, g):
        p.sub_(0.5 * g)
        return p.sum(0)

    again = compiled(step)
    for first in (0, 4, 2, 0, 3):  # apart, side by side, overlapping
        base, wanted = torch.arange(24.0).view(8, 3), torch.arange(24.0).view(8, 3)
        assert torch.equal(again(base[first : first + 4], base[4:]), step(wanted[first : first + 4], wanted[4:]))
        assert torch.equal(base, wanted)


@torch.no_grad()
def test_an_index_out_of_range_is_pytorchs_error_each_time():
    table, good, bad = torch.randn(5, 3), torch.tensor([0, 4]), torch.tensor([0, 5])
    function = compiled(lambda t, i: torch.nn.functional.embedding(i, t) * 2)
    for _ in range(CALLS):
        torch.testing.assert_close(function(table, good), table[good] * 2)
        if not ON_GPU:
            with pytest.raises(IndexError, match="index out of range"):
                function(table, bad)


@torch.no_grad()
def test_profilers_see_the_library():
    function, args = compiled(layer), operands()
    for _ in range(CALLS):
        function(*args)
    with torch.profiler.profile() as profile:
        function(*args)
    assert "aten::addmm" in {event.name for event in profile.events()}


def test_several_threads_call_one_graph():
    function, failed = compiled(layer), []
    args = [operands() for _ in range(4)]
    with torch.no_grad():
        wanted = [layer(*each) for each in args]
        function(*args[0])

    def work(place):
        with torch.no_grad(), warnings.catch_warnings():
            for _ in range(200):
                if not torch.equal(function(*args[place]), first[place]):
                    failed.append(place)

    with torch.no_grad():
        first = [function(*each) for each in args]
        for result, expected in zip(first, wanted, strict=True):
            torch.testing.assert_close(result, expected)
    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
