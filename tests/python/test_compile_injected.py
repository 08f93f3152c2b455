"""An exception at any stage, forward or backward, of known or unknown sizes: PyTorch runs that part, results are
eager's, and nothing is written but one warning."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import nvfuser
import pytest
import torch
from compile_support import compiled, results
from nvfuser.dynamo import compiled_region, definition, fallback, plan, prepare, regions
from nvfuser.dynamo.backend import CompiledGraph, observing
from tested_device import ON_GPU, tensors_there

BACKEND = sys.modules[observing.__module__]  # the package has a function of its name


class Injected(Exception):
    """Nothing that anybody expects."""


class Injection:
    """Replaces `owner.name` by what raises at its `at`-th call while a graph of this direction is compiled or, once it
    is, run: an attribute of a class keeps its first argument."""

    def __init__(self, owner, name, at=0):
        self.owner, self.name, self.at = owner, name, at
        self.active, self.fired = False, 0

    def __call__(self, monkeypatch):
        found, calls = getattr(self.owner, self.name), []

        def instead(*args, **kwargs):
            if self.active:
                calls.append(None)
                if len(calls) == self.at + 1:
                    self.fired += 1
                    raise Injected("injected")
            return found(*args, **kwargs)

        monkeypatch.setattr(self.owner, self.name, instead)


class Execution(Injection):
    """The same of running a fusion: its `at`-th call in all regions of that direction."""

    def __init__(self, at=0):
        super().__init__(None, "execute", at)

    def __call__(self, monkeypatch):
        found, calls, self.regions = compiled_region.CompiledRegion.__init__, [], []

        def made(region, *args):
            found(region, *args)
            if self.active:
                run = region._execute

                def instead(inputs):
                    calls.append(None)
                    if len(calls) == self.at + 1:
                        self.fired += 1
                        raise Injected("injected")
                    return run(inputs)

                region._execute = instead

        monkeypatch.setattr(compiled_region.CompiledRegion, "__init__", made)


STAGES = {
    "copying the graph": lambda: Injection(BACKEND, "copied"),
    "noting results": lambda: Injection(BACKEND, "note_results"),
    "noting strides": lambda: Injection(BACKEND, "note_strides"),
    "the order in memory": lambda: Injection(BACKEND, "put_channels_last"),
    "rewriting": lambda: Injection(BACKEND, "prepare"),
    "writes into parts": lambda: Injection(BACKEND, "write_parts"),
    "a rewrite": lambda: Injection(prepare, "_join_views"),
    "cutting": lambda: Injection(BACKEND, "cut"),
    "telling what fuses": lambda: Injection(regions, "_why_not"),
    "telling the second": lambda: Injection(regions, "_why_not", 1),
    "placing": lambda: Injection(regions, "place"),
    "what a region reads": lambda: Injection(regions._Cutter, "_read"),
    "what leaves a region": lambda: Injection(regions._Cutter, "_leaves"),
    "the order of regions": lambda: Injection(regions._Cutter, "_order"),
    "a scope": lambda: Injection(definition.Scope, "__init__"),
    "an input": lambda: Injection(definition.Scope, "_define_input"),
    "the second input": lambda: Injection(definition.Scope, "_define_input", 1),
    "an operand": lambda: Injection(definition.Scope, "operand"),
    "a later operand": lambda: Injection(definition.Scope, "operand", 2),
    "an output": lambda: Injection(definition.Scope, "add_output"),
    "an executor": lambda: Injection(compiled_region, "_executor_of"),
    "strides of ones": lambda: Injection(compiled_region, "_strides_of_ones"),
    "the plan": lambda: Injection(BACKEND, "build"),
    "a step of it": lambda: Injection(plan._Planner, "_region"),
    "compiling ahead": lambda: Injection(BACKEND, "compile_ahead"),
    "running": Execution,
}
WAYS = ["inference", "forward", "backward", "of unknown sizes"]


def function(x, w):
    y = torch.tanh(x * w) @ w.t()
    return torch.softmax(y.view(-1, y.shape[-1]) * 2, -1) + y.sin()


def operands(way):
    requires_grad = way in ("forward", "backward")
    return torch.randn(6, 5, requires_grad=requires_grad), torch.randn(6, 5, requires_grad=requires_grad)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(fallback, "_WARNED", set())
    torch.manual_seed(0)
    with tensors_there():
        yield
    torch._dynamo.reset()


@pytest.fixture(scope="module")
def kernels():
    """Regions share kernels with equal ones that are alive."""
    alive = []
    for way in WAYS:
        with tensors_there(), observing() as seen:
            results(compiled(function, dynamic=way == "of unknown sizes"), *operands(way))
        alive.append(seen.graphs)
    yield alive
    torch._dynamo.reset()


def directed(injection, way, monkeypatch):
    """Active while a graph of that direction is made."""
    direction = {"of unknown sizes": "inference"}.get(way, way)
    compile_ = CompiledGraph._compile

    def made(graph, gm, arguments):
        injection.active = graph.direction == direction
        try:
            compile_(graph, gm, arguments)
        finally:
            injection.active = False

    monkeypatch.setattr(CompiledGraph, "_compile", made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stage", STAGES)
def test_recovered(stage, way, kernels, monkeypatch, capfd):
    injection = STAGES[stage]()
    inputs = operands(way)
    theirs = results(function, *inputs)
    injection(monkeypatch)
    directed(injection, way, monkeypatch)
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message="nvfuser")
        monkeypatch.setattr(warnings, "showwarning", lambda message, *_: print(message, file=sys.stderr))
        fast = compiled(function, dynamic=way == "of unknown sizes")
        ours = [results(fast, *inputs) for _ in range(2)]
    assert injection.fired == 1
    for each in ours:
        torch.testing.assert_close(each, theirs, check_stride=True)
    said = capfd.readouterr().err.strip().splitlines()
    assert len(said) == 2 and said[0].startswith("nvfuser: ") and said[0].endswith(": injected"), said
    assert said[1] == "  help: NVFUSER_DISABLE=fallback makes this an error"


@pytest.mark.skipif(ON_GPU, reason="kernels are not the host compiler's there")
@pytest.mark.parametrize("broken", ["exits", "is missing", "writes nothing"])
def test_a_broken_compiler(broken, tmp_path):
    """In a process of its own: its only compiler fails."""
    program = tmp_path / "c++"
    if broken != "is missing":
        program.write_text(f"#!/bin/sh\nexit {int(broken == 'exits')}\n")
        program.chmod(0o755)
    text = (
        "import nvfuser.dynamo, torch\n"
        "x = torch.randn(6, 5, requires_grad=True)\n"
        "f = lambda x: torch.softmax(x * 2, -1).sin()\n"
        "fast = torch.compile(f, backend='nvfuser')\n"
        "for _ in range(2):\n"
        "    y, z = fast(x), f(x)\n"
        "    torch.testing.assert_close(y, z)\n"
        "    torch.testing.assert_close(torch.autograd.grad(y.sum(), x), torch.autograd.grad(z.sum(), x))\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(nvfuser.__path__[0]).parent),
        "PATH": str(tmp_path),
        "CXX": str(program),
        "NVFUSER_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.strip()]
    warned = [line for line in said if "is left to PyTorch, because its fusion failed: host compiler: " in line]
    assert len(warned) == 1, done.stderr
    assert len([line for line in said if "nvfuser" in line.lower()]) == 2, done.stderr  # with its help
