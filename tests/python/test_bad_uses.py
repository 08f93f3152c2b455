"""More than 300 bad uses of both modules: each gives its exception and its words, none crashes, none leaks.

A use is a line of one of the tables in bad_uses_*.py:

    expression  ->  ExceptionClass: words of its message

evaluated with the names of bad_use_world.py. Where Python or PyTorch says it in words that depend on its version, the
words are those that all have in common. {id} in the words stands for the number of a fusion, which depends on what
else the process has defined. NVFUSER_LEAK_REPEATS=10000 makes the run that looks for leaks long.
"""

import contextlib
import ctypes
import gc
import os
import re
import warnings
from pathlib import Path

import bad_uses_definition
import bad_uses_execution
import bad_uses_operations
import bad_uses_schedules
import bad_uses_shapes
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PyTorch, about kinds of tensors that are only here to be refused
    import bad_use_world

TABLES = (
    bad_uses_definition.USES,
    bad_uses_operations.USES,
    bad_uses_shapes.USES,
    bad_uses_execution.USES,
    bad_uses_schedules.USES,
)
REPEATS = int(os.environ.get("NVFUSER_LEAK_REPEATS", "30"))


def read(table):
    """(expression, class of the exception, words) of each line."""
    for line in table.strip().splitlines():
        if line and not line.startswith("#"):
            expression, _, rest = line.partition("  ->  ")
            kind, _, words = rest.partition(": ")
            yield expression, kind, words


USES = [use for table in TABLES for use in read(table)]


@pytest.fixture(scope="module")
def world():
    with contextlib.ExitStack() as guards, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield bad_use_world.scope(guards)


def test_there_are_enough_and_each_is_another():
    expressions = [expression for expression, _, _ in USES]
    assert len(expressions) == len(set(expressions)) >= 300
    assert all(kind and len(words) >= 4 for _, kind, words in USES)


def trouble_with(expression, kind, words, world):
    """None where the use is answered as its line says."""
    try:
        eval(expression, world)
    except Exception as error:
        message = str(error)
        if type(error).__name__ != kind:
            return f"{expression}: {type(error).__name__} instead of {kind}: {message[:200]}"
        if not re.search(re.escape(words).replace(re.escape("{id}"), r"\d+"), message):
            return f"{expression}: the message has no {words!r}: {message[:200]}"
        if re.search(r"internal (assert|error)|bad_cast|frame #|std::(?!complex)", message, re.IGNORECASE):
            return f"{expression}: the message tells of our insides: {message[:200]}"
        return None
    return f"{expression}: no error"


def defines(expression):
    """Whether a value is defined on the way, which stays in the open definition."""
    return re.search(r"[(\[ ]fd\.define_", expression) is not None


def test_each_is_answered(world):
    """And nothing is changed by it: not the open definition, not a fusion that was compiled."""
    before = (
        repr(world["fd"]),
        len(world["fd"].fusion.vals()),
        world["neg"].execute([world["torch"].ones(3)])[0].tolist(),
    )
    troubles = []
    for expression, kind, words in USES:
        troubles.append(trouble_with(expression, kind, words, world))
        values = len(world["fd"].fusion.vals())
        if not defines(expression) and values != before[1]:
            troubles.append(f"{expression}: leaves {values - before[1]} values behind")
        before = (before[0], values, before[2])
    troubles = [trouble for trouble in troubles if trouble]
    assert not troubles, "\n" + "\n".join(troubles)
    assert world["neg"].execute([world["torch"].ones(3)])[0].tolist() == before[2]
    assert world["by_hand"]().manual_execute([world["torch"].ones(4, 6)])[0].shape == (4,)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settled_bytes():
    """What is in use, after memory that nobody uses was given back to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return resident_bytes()


def repeated(code, world, times):
    for _ in range(times):
        with contextlib.suppress(Exception):
            eval(code, world)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_none_leaks(world):
    """Memory is flat over REPEATS turns of each use, all together."""
    codes = [(expression, compile(expression, expression, "eval")) for expression, _, _ in USES]
    codes = [one for one in codes if not defines(one[0])]
    for _, code in codes:
        repeated(code, world, 3)
    start = settled_bytes()
    worst = []
    for expression, code in codes:
        before = resident_bytes()
        repeated(code, world, REPEATS)
        worst.append((resident_bytes() - before, expression))
    grown = settled_bytes() - start
    worst = sorted(worst, reverse=True)[:5]
    print(f"\n{len(codes)} uses, {REPEATS} times each: {grown / 2**10:.0f} KiB more; most at {worst}")
    assert grown < 2**20, worst
