"""Where the backend of torch.compile fails, PyTorch runs the part: values are eager's, and one warning says why."""

import sys
import warnings

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, results
from nvfuser.dynamo import compiled_region, explain, fallback, regions
from nvfuser.dynamo.backend import observing
from nvfuser.dynamo.compiled_region import CompiledRegion
from nvfuser.dynamo.definition import Scope
from nvfuser.dynamo.operators import RULES
from nvfuser.dynamo.operators.table import Rule
from nvfuser.dynamo.placement import Kind
from tested_device import ON_GPU, tensors_there
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(fallback, "_WARNED", set())
    with tensors_there():
        yield
    torch._dynamo.reset()


BACKEND = sys.modules[observing.__module__]  # the package has a function of its name


class Broken(Exception):
    """No RuntimeError: whatever is thrown is caught."""


def breaks(*args, **kwargs):
    raise Broken("no such thing")


def program(x, w):
    y = F.dropout(torch.tanh(x) + 1, 0.3) @ w * 2
    return torch.softmax(y, -1), y[0].exp()


def program_without_dropout(x, w):
    """A compiled dropout draws in an order of its own on a GPU."""
    y = torch.tanh(x).relu() @ w * 2
    return torch.softmax(y, -1), y[0].exp()


def broken_rule(monkeypatch, **parts):
    monkeypatch.setitem(RULES, torch.ops.aten.tanh.default, Rule(**{"define": lambda *_: None, **parts}))


class BrokenCache(compiled_region.direct.FusionExecutorCache):
    """A fusion that is defined, and cannot be run."""

    execute = report = breaks


def broken_execution(monkeypatch):
    monkeypatch.setattr(compiled_region, "_EXECUTORS", {})
    monkeypatch.setattr(compiled_region.direct, "FusionExecutorCache", BrokenCache)
    monkeypatch.setattr(BACKEND, "compile_ahead", lambda regions: [])


def breaking(module, name):
    return lambda monkeypatch: monkeypatch.setattr(module, name, breaks)


# Where it breaks: how, and what is left to PyTorch.
STAGES = {
    "tracing": (lambda patch: patch.setattr(BACKEND, "aot_autograd", lambda **given: breaks), "a graph"),
    "padding": (breaking(BACKEND, "pad_products"), "padding of products"),
    "a decomposition": (
        lambda patch: patch.setattr(
            BACKEND,
            "decompositions",
            lambda: {
                **DECOMPOSITIONS,
                torch.ops.aten.native_dropout.default: fallback.guarded("native_dropout", breaks),
            },
        ),
        "native_dropout",
    ),
    "rewriting": (breaking(BACKEND, "prepare"), "a graph (forward)"),
    "cutting": (breaking(BACKEND, "cut"), "a graph (forward)"),
    "placing": (breaking(regions, "place"), "a graph (forward)"),
    "whether an operation fuses": (lambda patch: broken_rule(patch, refuse=breaks), "the operation tanh"),
    "defining an operation": (lambda patch: broken_rule(patch, define=breaks), "the operation tanh"),
    "defining a view": (
        lambda patch: patch.setitem(RULES, torch.ops.aten.select.int, Rule(breaks, kind=Kind.FREE)),
        "the operation select",
    ),
    "defining an input": (lambda patch: patch.setattr(Scope, "_define_input", breaks), "region 0"),
    "defining an output": (lambda patch: patch.setattr(Scope, "add_output", breaks), "region 0"),
    "making the program": (breaking(BACKEND, "build"), "a graph (forward)"),
    "compiling ahead": (breaking(BACKEND, "compile_ahead"), "a graph (forward)"),
    "making an executor": (breaking(compiled_region, "_executor_of"), "region 0"),
    "planning, compiling and running": (broken_execution, "region 0"),
}
DECOMPOSITIONS = BACKEND.decompositions()


def inputs():
    return torch.randn(6, 5, requires_grad=True), torch.randn(5, 4, requires_grad=True)


@pytest.mark.parametrize("stage", STAGES)
def test_values_are_eagers_wherever_it_breaks(stage, monkeypatch):
    breaks_there, part = STAGES[stage]
    breaks_there(monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        is_drawn_by_us = ON_GPU and part != "native_dropout"
        assert_as_eager(program_without_dropout if is_drawn_by_us else program, *inputs())
    said = [str(warning.message) for warning in caught if "nvfuser" in str(warning.message)]
    assert len(said) == 1 and said[0].startswith(f"nvfuser: {part}"), said
    assert "is left to PyTorch, because" in said[0] and "no such thing" in said[0]


@pytest.mark.parametrize("stage", STAGES)
def test_it_is_an_error_without_fallback(stage, monkeypatch):
    STAGES[stage][0](monkeypatch)
    monkeypatch.setenv("PYTORCH_NVFUSER_DISABLE", "fallback")
    with pytest.raises(Exception, match="no such thing"):
        results(compiled(program), *inputs())


def test_a_gradient_that_pytorch_cannot_trace_is_eagers():
    """Of x ** k with a k that changes: PyTorch 2.13 compares a symbol there, which it says it cannot."""
    x, power = torch.randn(3, 4, requires_grad=True), compiled(lambda x, k: x**k)
    for k in (2, 3, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.testing.assert_close(results(power, x, k), results(lambda x, k: x**k, x, k))


def test_the_rest_of_a_region_stays_fused(monkeypatch):
    broken_rule(monkeypatch, define=breaks)
    with pytest.warns(UserWarning, match="tanh is left to PyTorch"):
        graphs = assert_as_eager(lambda x: torch.exp(torch.tanh(x.sin() + 1) * 2), torch.randn(7))
    (graph,) = graphs
    assert len(graph.regions) == 2 and failures(graphs) == ["its rule failed: no such thing"]
    assert [node.name for node in graph.cut.reasons] == ["tanh"]


def test_explain_tells_of_a_graph_that_was_given_up(monkeypatch):
    monkeypatch.setattr(BACKEND, "build", breaks)
    with pytest.warns(UserWarning, match="no such thing"):
        text = explain(lambda x: x * 2, torch.randn(3))
    assert text == "graph 1 (inference): runs in PyTorch, because it cannot be compiled: no such thing\n"


# Whose error it is ----------------------------------------------------------------------------------


@pytest.mark.skipif(ON_GPU, reason="there PyTorch asserts in a kernel, and the process has no device any more")
@pytest.mark.parametrize(
    "function",
    [
        lambda table, index: F.embedding(index, table) * 2,
        lambda table, index: table.index_select(0, index) * 2,
        lambda table, index: table.gather(0, index[:, None]).exp(),
        lambda table, index: torch.softmax(table[index] * 2, -1),
    ],
)
def test_a_wrong_index_is_the_users_and_the_region_stays_fused(function):
    table, good, bad = torch.randn(5, 3), torch.tensor([1, 4]), torch.tensor([1, 9])
    fast = compiled(function)
    with warnings.catch_warnings(), observing() as seen:
        warnings.simplefilter("error")
        for index in (good, bad, good, bad, good):
            if index is good:
                torch.testing.assert_close(fast(table, index), function(table, index))
                continue
            with pytest.raises((IndexError, RuntimeError)) as theirs:
                function(table, index)
            with pytest.raises(type(theirs.value)) as ours:
                fast(table, index)
            assert str(ours.value) == str(theirs.value)
    assert seen.graphs[0].regions and not failures(seen.graphs)


def test_a_region_that_failed_is_not_tried_again(monkeypatch):
    calls, made = [], CompiledRegion.__init__

    def execute(inputs):
        calls.append(inputs)
        raise Broken("broken once")

    def broken(region, *args):
        made(region, *args)
        region._execute = execute

    x = torch.randn(4)
    monkeypatch.setattr(CompiledRegion, "__init__", broken)
    with observing() as seen, pytest.warns(UserWarning, match="broken once"):
        fast = compiled(lambda x: x * 2 + 1)
        for _ in range(3):
            torch.testing.assert_close(fast(x), x * 2 + 1)
    (region,) = seen.graphs[0].regions
    assert len(calls) == 1 and region.failure == "its fusion failed: broken once"


# Modes and options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_a_mode_is_accepted_with_one_warning(mode, monkeypatch):
    monkeypatch.setattr(BACKEND, "_noted_modes", set())
    x = torch.randn(3, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for function in (lambda x: x * 2, lambda x: torch.softmax(x, -1) + 1):
            torch.testing.assert_close(compiled(function, mode=mode)(x), function(x))
    said = [str(warning.message) for warning in caught if "nvfuser" in str(warning.message)]
    assert said == [f'torch.compile: mode="{mode}" changes nothing with the backend "nvfuser", which has one mode']


def test_the_default_mode_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(lambda x: x * 2, mode="default")(torch.randn(3))


def test_options_are_refused():
    with pytest.raises(Exception, match=r"has the option exact_numerics, and was given speed"):
        compiled(lambda x: x + 1, options={"speed": 1})(torch.randn(3))
