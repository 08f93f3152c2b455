"""Graphs that are called without AOTAutograd's function: autograd sees in them what it sees in eager's operations."""

import gc
import threading
import weakref

import nvfuser.dynamo  # noqa: F401  (the backend)
import pytest
import torch
from nvfuser.dynamo import direct_calls


def warm(function, *args, **options):
    """Compiled, and run forward and backward: later calls are direct ones."""
    compiled = torch.compile(function, backend="nvfuser", **options)
    given = [x.detach().clone().requires_grad_(x.requires_grad) for x in args]
    results = compiled(*given)
    results = results if isinstance(results, tuple) else (results,)
    with torch.enable_grad():
        sum(y.sum() for y in results if y.requires_grad).backward()
    return compiled


def is_direct(y):
    return y.grad_fn._forward_cls.__module__ == direct_calls.__name__


def softmax(x, w):
    return torch.softmax(torch.tanh(x) @ w, -1) * torch.sigmoid(x)


@pytest.fixture
def arguments():
    torch.manual_seed(0)
    return [torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)]


def of_eager(function, arguments, gradient):
    return torch.autograd.grad(function(*arguments), arguments, gradient)


@pytest.mark.parametrize(
    "gradient",
    [torch.randn(8, 8), torch.randn(8, 8).t(), torch.ones(()).expand(8, 8), torch.randn(8, 16)[:, ::2]],
    ids=["rows", "columns", "one number", "gaps"],
)
def test_gradients_in_any_layout(arguments, gradient):
    compiled = warm(softmax, *arguments)
    y = compiled(*arguments)
    assert is_direct(y)
    torch.testing.assert_close(y, softmax(*arguments))
    given = torch.autograd.grad(y, arguments, gradient)
    for got, wanted in zip(given, of_eager(softmax, arguments, gradient), strict=True):
        torch.testing.assert_close(got, wanted)


def test_backward_twice(arguments):
    compiled = warm(softmax, *arguments)
    ones = torch.ones(8, 8)
    wanted = of_eager(softmax, arguments, ones)
    y = compiled(*arguments)
    for retain in (True, True, False):
        for got, expected in zip(torch.autograd.grad(y, arguments, ones, retain_graph=retain), wanted, strict=True):
            torch.testing.assert_close(got, expected)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        torch.autograd.grad(y, arguments, ones)


def test_second_derivatives_are_an_error(arguments):
    compiled = warm(softmax, *arguments)
    ones = torch.ones(8, 8)
    y = compiled(*arguments)
    first = torch.autograd.grad(y, arguments, ones, create_graph=True)
    for got, wanted in zip(first, of_eager(softmax, arguments, ones), strict=True):
        assert got.requires_grad
        torch.testing.assert_close(got, wanted)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        first[0].sum().backward()


def test_what_is_saved_is_guarded_and_freed(arguments):
    compiled = warm(softmax, *arguments)
    x, w = (x.detach().clone().requires_grad_() for x in arguments)
    y = compiled(x, w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()

    y = compiled(*arguments)
    saved = [weakref.ref(one) for one in y.grad_fn.saved_tensors if not any(one is x for x in arguments)]
    loss = y.sum()
    del y
    loss.backward()
    del loss
    gc.collect()
    assert [one() for one in saved] == [None] * len(saved)


def test_hooks_of_saved_tensors(arguments):
    compiled = warm(softmax, *arguments)
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.shape)
        return tensor.numpy(force=True)

    def unpack(array):
        unpacked.append(array.shape)
        return torch.from_numpy(array)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = compiled(*arguments)
    given = torch.autograd.grad(y, arguments, torch.ones(8, 8))
    assert packed and len(packed) == len(unpacked)
    for got, wanted in zip(given, of_eager(softmax, arguments, torch.ones(8, 8)), strict=True):
        torch.testing.assert_close(got, wanted)


def test_results_that_nobody_reads_and_integers(arguments):
    def several(x, w):
        places = (x @ w).argmax(-1)
        return torch.tanh(x * w), torch.sigmoid(x + w), places

    compiled = warm(several, *arguments)
    first, second, places = compiled(*arguments)
    assert is_direct(first) and not places.requires_grad
    given = torch.autograd.grad(second, arguments, torch.ones(8, 8))
    wanted = torch.autograd.grad(several(*arguments)[1], arguments, torch.ones(8, 8))
    for got, expected in zip(given, wanted, strict=True):
        torch.testing.assert_close(got, expected)


def test_one_argument_without_gradients(arguments):
    x, w = arguments[0], arguments[1].detach()
    compiled = warm(softmax, x, w)
    y = compiled(x, w)
    assert is_direct(y)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x), torch.autograd.grad(softmax(x, w).sum(), x))


def test_running_statistics_are_updated():
    torch.manual_seed(0)
    eager = torch.nn.Sequential(torch.nn.Conv1d(3, 4, 1), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
    ours = torch.nn.Sequential(torch.nn.Conv1d(3, 4, 1), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
    ours.load_state_dict(eager.state_dict())
    compiled = torch.compile(ours, backend="nvfuser")
    for step in range(3):
        x = torch.randn(2, 3, 5)
        version = ours[1].running_mean._version
        wanted, got = eager(x), compiled(x)
        assert is_direct(got) == (step > 0)
        assert ours[1].running_mean._version > version
        (wanted * wanted).sum().backward()
        (got * got).sum().backward()
    for got, wanted in zip(ours.state_dict().values(), eager.state_dict().values(), strict=True):
        torch.testing.assert_close(got, wanted)
    for got, wanted in zip(ours.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(got.grad, wanted.grad, rtol=1e-4, atol=1e-4)


def test_results_can_be_changed_in_place():
    torch.manual_seed(0)
    layer = torch.nn.Linear(4, 5)
    x = torch.randn(2, 3, 4, requires_grad=True)
    compiled = warm(lambda x: layer(torch.tanh(x)), x)
    y = compiled(x)
    assert is_direct(y)
    y.mul_(2)
    (given,) = torch.autograd.grad(y.sum(), x)
    (wanted,) = torch.autograd.grad((layer(torch.tanh(x)) * 2).sum(), x)
    torch.testing.assert_close(given, wanted)


def test_autocast(arguments):
    def half(x, w):
        with torch.autocast("cpu", torch.bfloat16):
            return torch.relu(x @ w)

    def run(function):
        with torch.autocast("cpu", torch.bfloat16):
            y = function(*arguments)
        return y, torch.autograd.grad(y, arguments, torch.ones_like(y))

    for function in (half, softmax):
        compiled = torch.compile(function, backend="nvfuser")
        run(compiled)
        y, given = run(compiled)
        assert is_direct(y)
        wanted, expected = run(function)
        assert y.dtype == wanted.dtype
        torch.testing.assert_close(y, wanted, rtol=2e-2, atol=2e-2)
        for one, other in zip(given, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=4e-2, atol=4e-2)


def test_gradients_within_no_grad(arguments):
    def inner(x, w):
        with torch.enable_grad():
            return softmax(x, w)

    with torch.no_grad():
        compiled = warm(inner, *arguments)
        y = compiled(*arguments)
        assert not torch.is_grad_enabled()
    assert y.requires_grad and is_direct(y)
    given = torch.autograd.grad(y, arguments, torch.ones(8, 8))
    for got, wanted in zip(given, of_eager(softmax, arguments, torch.ones(8, 8)), strict=True):
        torch.testing.assert_close(got, wanted)


def test_in_threads_and_in_a_backward_of_a_compiled_function(arguments):
    compiled = warm(softmax, *arguments)
    wanted = of_eager(softmax, arguments, torch.ones(8, 8))
    results = []

    def work():
        y = compiled(*arguments)
        results.append(torch.autograd.grad(y, arguments, torch.ones(8, 8)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4

    def step(x, w):  # its backward is run where Dynamo looks at frames
        y = compiled(x, w)
        torch._dynamo.graph_break()
        return torch.autograd.grad(y, (x, w), torch.ones(8, 8))

    results.append(torch.compile(step, backend="nvfuser")(*arguments))
    for given in results:
        for got, expected in zip(given, wanted, strict=True):
            torch.testing.assert_close(got, expected)


def test_batches_of_gradients_are_an_error(arguments):
    compiled = warm(softmax, *arguments)
    y = compiled(*arguments)
    with pytest.raises(RuntimeError, match="within vmap"):
        torch.func.vmap(lambda gradient: torch.autograd.grad(y, arguments, gradient))(torch.ones(3, 8, 8))


@pytest.mark.parametrize("dynamic", [True, None])
def test_sizes_that_change(dynamic):
    def normalised(x, w):
        return torch.softmax(x * w, -1) * x.shape[0]

    compiled = torch.compile(normalised, backend="nvfuser", dynamic=dynamic)
    for size in (4, 7, 4, 9, 16, 5):
        x, w = torch.randn(size, 6, requires_grad=True), torch.randn(6, requires_grad=True)
        y = compiled(x, w)
        given = torch.autograd.grad(y, (x, w), torch.ones(6, size).t())
        wanted = torch.autograd.grad(normalised(x, w), (x, w), torch.ones(size, 6))
        for got, expected in zip(given, wanted, strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    assert is_direct(y)


def test_compiled_autograd(arguments):
    compiled = torch.compile(softmax, backend="nvfuser")
    wanted = of_eager(softmax, arguments, torch.ones(8, 8))
    for _ in range(3):
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="nvfuser")):
            y = compiled(*arguments)
            y.sum().backward()
        for x, expected in zip(arguments, wanted, strict=True):
            torch.testing.assert_close(x.grad, expected)
            x.grad = None
        warm_once = compiled(*arguments)  # outside, which compiles the backward
        warm_once.sum().backward()
        for x in arguments:
            x.grad = None
    assert is_direct(y)


def test_aliases_and_mutated_arguments_are_left_to_aotautograd(arguments):
    def aliases(x, w):
        y = torch.tanh(x * w)
        return y, y.t()

    compiled = warm(aliases, *arguments)
    y, turned = compiled(*arguments)
    assert y.data_ptr() == turned.data_ptr()

    def updates(x, w):
        x.mul_(2)
        return x.sum() + w

    compiled = torch.compile(updates, backend="nvfuser")
    x = torch.ones(3)
    for _ in range(3):
        compiled(x, torch.ones(3))
    assert x.tolist() == [8, 8, 8]


def test_without_gradients_grad_mode_is_kept(arguments):
    compiled = torch.compile(softmax, backend="nvfuser")
    x, w = (x.detach() for x in arguments)
    for _ in range(3):
        y = compiled(x, w)
        assert torch.is_grad_enabled() and not y.requires_grad
        torch.testing.assert_close(y, softmax(x, w))
        with torch.no_grad():
            assert not compiled(*arguments).requires_grad
