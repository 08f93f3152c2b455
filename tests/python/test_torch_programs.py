"""Random programs of PyTorch as models have them, compiled, forward and backward, beside eager: a few of each way.
docs/fuzzing.md tells how to run more."""

import pytest
import torch
from torch_fuzz import definitions, graphs, kind_programs, trainings, use_programs
from torch_fuzz.compare import differences
from torch_fuzz.kinds import KINDS
from torch_fuzz.program import Program, needed, shrink
from torch_fuzz.uses import USES
from torch_fuzz.ways import WAYS, run


@pytest.fixture(autouse=True)
def fresh():
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("way", ["graphs", "dynamic", "scripts"])
def test_random_graphs(way):
    programs = [program for program in map(graphs.draw, range(7_000_000, 7_000_012)) if program is not None]
    wrong = {p.text(): text for p, text in zip(programs, run(way, programs), strict=True) if text}
    assert not wrong


@pytest.mark.parametrize("way", ["kinds", "kinds-dynamic"])
def test_random_programs_of_each_kind(way):
    count = 2 * len(KINDS)
    programs = [
        program for program in map(kind_programs.draw, range(7_000_000, 7_000_000 + count)) if program is not None
    ]
    batches = [programs[place : place + 12] for place in range(0, len(programs), 12)]
    wrong = {p.text(): text for batch in batches for p, text in zip(batch, run(way, batch), strict=True) if text}
    assert not wrong


@pytest.mark.parametrize("use", USES)
def test_random_programs_in_each_use(use):
    """The first program that is drawn for it."""
    seeds = range(7_000_000, 7_002_000)
    own = (seed for seed in seeds if list(USES)[seed % len(USES)] == use)
    program = next(program for program in map(use_programs.draw, own) if program is not None)
    assert program.use == use
    assert not run("uses", [program])[0], program.text()


@pytest.mark.parametrize("way", WAYS)
def test_each_number_is_a_program(way):
    drawn = [WAYS[way].draw(number) for number in (27_000_002, 27_000_026, 27_000_029, 27_112_710_000_018)]
    assert all(program is not None for program in drawn)
    again = [WAYS[way].draw(program.seed) for program in drawn]
    assert [each.text() for each in again] == [each.text() for each in drawn]


def test_random_definitions():
    drawn = [each for each in map(definitions.draw, range(7_000_000, 7_000_012)) if each is not None]
    wrong = {each.text(): text for each, text in zip(drawn, run("definitions", drawn), strict=True) if text}
    assert drawn and not wrong


@pytest.mark.parametrize("row", definitions.ROWS, ids=lambda row: row[0])
def test_each_statement_of_a_definition_is_one(row):
    drawn = next(each for each in (definitions.draw(seed, [row]) for seed in range(400)) if each is not None)
    drawn.define()
    assert drawn.expected(drawn.calls[0])


def test_a_definition_is_cut_down():
    definition = next(d for d in map(definitions.draw, range(7_400_000, 7_401_000)) if d and "tanh" in d.text())
    small = shrink(definition, lambda each: definitions.takes(each) and "ops.tanh(" in each.text())
    assert len(small.calls) == 1 and len(small.outputs) == 1
    assert len(small.statements) < 4


def test_random_trainings():
    drawn = [training for training in map(trainings.draw, range(7_000_000, 7_000_008)) if training is not None]
    wrong = {each.text(): text for each, text in zip(drawn, run("trainings", drawn), strict=True) if text}
    assert drawn and not wrong


def test_a_training_is_cut_down():
    """What fails here are trainings with a Linear."""
    training = next(t for t in map(trainings.draw, range(7_300_000, 7_301_000)) if t and "Linear" in t.text())
    small = shrink(training, lambda candidate: trainings.takes(candidate) and "nn.Linear" in candidate.text())
    assert len(small.layers) == 1 and small.steps == 2 and not small.hooked


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("half", "empty", "missing", "no axes")]
)  # others' rows
def test_each_statement_of_a_kind_is_one(kind):
    assert not [row for row in kind_programs.ROWS[kind] if not kind_programs.can_be_taken(kind, row)]


def test_a_seed_draws_the_same_program():
    for seed in range(7_100_000, 7_100_020):
        assert graphs.draw(seed) == graphs.draw(seed)
        assert kind_programs.draw(seed) == kind_programs.draw(seed)


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
