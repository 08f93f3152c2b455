"""Memory that runs out in the library while Python defines and runs a fusion: a MemoryError or the right result, and
the next call is right. Interpreters that end while a fusion is planned, compiled or run end as others do.

Each case is a program of its own, with allocations that fail on request (tests/unit/failing_allocations.cpp) before the
C++ library's.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARMS = """
#include <dlfcn.h>

#include <string_view>

#include "failing_allocations.cpp"

// nanobind's own functions end the process where there is no memory: those of the library are meant.
static bool isOurs(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && std::string_view(info.dli_fname).find("libnvfuser") != std::string_view::npos;
}
extern "C" void arm(long fails, int lasting) {
  nvfuser::allocations.callers = isOurs;
  nvfuser::allocations.calls = 0;
  nvfuser::allocations.fails = fails;
  nvfuser::allocations.lasting = lasting != 0;
  nvfuser::allocations.armed = true;
}
extern "C" long disarm() {
  nvfuser::allocations.armed = false;
  return nvfuser::allocations.calls;
}
extern "C" long live() { return nvfuser::allocations.live; }
"""
BEGIN = f"""
import ctypes, os, signal, sys, threading, time
sys.path.insert(0, {str(HERE)!r})
import conftest
import numpy as np
from nvfuser_direct import DataType, FusionDefinition

x = np.arange(24, dtype=np.float32).reshape(4, 6) + 1

def defined(operations=1):
    with FusionDefinition() as fd:
        t = fd.define_tensor([-1, -1], [True, True], dtype=DataType.Float)
        value = t
        for i in range(operations):
            value = fd.ops.add(fd.ops.sin(value), t) if i % 2 else fd.ops.mul(value, fd.define_scalar(0.5))
        fd.add_output(value)
        fd.add_output(fd.ops.div(t, fd.ops.sum(t, [0], True)))
    return fd

def is_right(results):
    half, share = map(np.asarray, results)
    return np.array_equal(half, x * np.float32(0.5)) and np.allclose(share, x / x.sum(0), rtol=1e-6)
"""
FAILING = """
library = ctypes.CDLL(None)
library.arm.argtypes = [ctypes.c_long, ctypes.c_int]
library.disarm.restype = library.live.restype = ctypes.c_long

def with_failure(n, lasting, work):
    '''Its result, and whether it asked for that much memory.'''
    library.arm(n, lasting)
    try:
        result = work()
    except MemoryError:
        result = MemoryError
    finally:
        calls = library.disarm()
    return result, calls > n

def numbers():
    '''The first 200, and then ever fewer.'''
    n = 0
    while True:
        yield n
        n += 1 if n < 200 else n // 12
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A library whose operator new fails when it is told to."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("failing")
    (folder / "failing.cpp").write_text(ARMS)
    built = folder / "failing.so"
    words = ["-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'tests' / 'unit'}"]
    subprocess.run([compiler, *words, "-o", built, folder / "failing.cpp"], check=True)
    return built


def run(body, code=0, **environment):
    """What a program writes to its standard error; it ends with this code."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + body],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == code, f"{done.returncode}: {done.stderr[-3000:]}"
    return done.stderr


@pytest.mark.parametrize("lasting", [0, 1])
def test_each_allocation_of_a_definition_and_its_first_call(failing, lasting):
    run(
        FAILING
        + f"""
def work():
    return is_right(defined().execute([x]))

assert work()
failures = 0
for n in numbers():
    result, failed = with_failure(n, {lasting}, work)
    assert result is MemoryError or result is True, (n, result)
    failures += result is MemoryError
    assert work(), n
    if not failed:
        break
assert failures > 150, failures
""",
        LD_PRELOAD=str(failing),
    )


def test_each_allocation_of_a_call_of_one_definition(failing):
    run(
        FAILING
        + """
fd = defined()
failures = 0
for n in numbers():
    result, failed = with_failure(n, 0, lambda: is_right(fd.execute([x])))
    assert result is MemoryError or result is True, (n, result)
    failures += result is MemoryError
    assert is_right(fd.execute([x])), n
    if not failed:
        break
assert failures > 3, failures
before = library.live()
for n in range(200):
    result, failed = with_failure(n % 20, 0, lambda: is_right(fd.execute([x])))
result = None
assert library.live() - before < 20, library.live() - before
""",
        LD_PRELOAD=str(failing),
    )


# What converts arguments calls Python, and nanobind's functions do not let a thread end there: work has to have begun.
AFTER = """
begin = time.process_time()
until = time.monotonic() + 10
while time.process_time() - begin < {after} and time.monotonic() < until:
    time.sleep(0.01)
sys.exit(3)"""
ENDS = {
    "in a definition": "fd = FusionDefinition(); fd.__enter__(); fd.define_tensor([-1], [True]); sys.exit(3)",
    "with results alive": "fd = defined(); results = fd.execute([x]); sys.exit(3)",
    "by an error": "fd = defined(); results = fd.execute([x]); os.close(2); raise SystemExit(3)",
    "while a daemon plans": f"""
fd = defined(2000)
threading.Thread(target=lambda: fd.execute([x]), daemon=True).start()
{AFTER}""",
    "while a daemon compiles": """
fd = defined()
threading.Thread(target=lambda: fd.execute([x]), daemon=True).start()
time.sleep(0.3 + {after})
sys.exit(3)""",
    "while daemons run": f"""
fd = defined()
assert is_right(fd.execute([x]))
def go():
    while True:
        fd.execute([x])
for _ in range(4):
    threading.Thread(target=go, daemon=True).start()
{AFTER}""",
    "in a child": """
fd = defined()
assert is_right(fd.execute([x]))
child = os.fork()
if child == 0:
    sys.exit(3 if is_right(fd.execute([x])) and is_right(defined().execute([x])) else 4)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))""",
    "in a child of one that compiles": """
fd = defined()
thread = threading.Thread(target=lambda: fd.execute([x]))
thread.start()
time.sleep({after})
child = os.fork()
if child == 0:
    sys.exit(3 if is_right(defined().execute([x])) else 4)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))""",
}
CASES = [(end, after) for end, body in ENDS.items() for after in ((0.1, 0.2, 0.4) if "{after}" in body else (0.0,))]


@pytest.mark.parametrize(("end", "after"), CASES)
def test_an_interpreter_that_ends(end, after):
    said = run(ENDS[end].replace("{after}", str(after)), code=3)
    assert "leaked" not in said and "Fatal" not in said and "Error" not in said, said


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_process_that_a_signal_ends_while_it_compiles(name, tmp_path):
    slow, begun = tmp_path / "slow-compiler", tmp_path / "begun"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *--version*) exec c++ "$@" ;; esac\necho > {begun}\nsleep 3\n')
    slow.chmod(0o755)
    environment = {**os.environ, "CXX": str(slow), "TMPDIR": str(tmp_path)}
    # A signal that whoever runs the tests ignores (nohup), the program would ignore, too.
    heed = "" if name == "SIGKILL" else f"import signal; signal.signal(signal.{name}, signal.SIG_DFL)\n"
    words = [sys.executable, "-c", heed + BEGIN + "defined().execute([x])"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL) as program:
        until = time.monotonic() + 60
        while not begun.exists() and time.monotonic() < until:
            time.sleep(0.05)
        program.send_signal(getattr(signal, name))
        assert program.wait(30) == -getattr(signal, name)
