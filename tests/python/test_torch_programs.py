"""Random programs of PyTorch as models have them, compiled, forward and backward, beside eager: a few of each way.
docs/fuzzing.md tells how to run more."""

import pytest
import torch
from torch_fuzz import graphs
from torch_fuzz.compare import differences
from torch_fuzz.program import Program, needed, shrink
from torch_fuzz.ways import run


@pytest.fixture(autouse=True)
def fresh():
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("way", ["graphs", "dynamic", "scripts"])
def test_random_graphs(way):
    programs = [program for program in map(graphs.draw, range(7_000_000, 7_000_012)) if program is not None]
    wrong = {p.text(): text for p, text in zip(programs, run(way, programs), strict=True) if text}
    assert not wrong


def test_a_seed_draws_the_same_program():
    for seed in range(7_100_000, 7_100_020):
        assert graphs.draw(seed) == graphs.draw(seed)


def test_failures_are_cut_down():
    """What fails here are programs with a hyperbolic tangent."""
    program = next(p for p in map(graphs.draw, range(7_200_000, 7_201_000)) if p and p.text().count("tanh") == 1)
    small = shrink(program, lambda candidate: bool(candidate.function()) and "tanh" in candidate.text())
    assert len(small.statements) == 1 and small.inputs
    scope = {}
    exec(small.script("program(*tensors())"), scope)  # the file that repeats it runs
    assert not differences(scope["ours"][0], scope["theirs"][0])


def test_what_no_output_needs_goes():
    program = Program(0, {"a0": None, "a1": None}, [("v0", "a0 + 1"), ("v1", "a1 * v0"), ("v2", "v0 * 2")], ["v2"])
    assert needed(program) == Program(0, {"a0": None}, [("v0", "a0 + 1"), ("v2", "v0 * 2")], ["v2"])
