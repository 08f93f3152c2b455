"""Ctrl-C while a call plans, compiles or runs ends it soon, and the next call is like any other.

Each case is a program of its own, whose main thread is the interpreter's.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SECONDS = 0.5  # in which it is taken
BEGIN = """
import os, signal, sys, threading, time
sys.path.insert(0, {here!r})
import conftest
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import numpy as np
from nvfuser_direct import DataType, FusionDefinition

def interrupted(call, after):
    '''Seconds from the signal to the exception: of the clock, or of work on a machine that has more to do.'''
    sent = []
    def send():
        time.sleep(after)
        sent.append((time.monotonic(), time.process_time()))
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send).start()
    begin = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        clock, work = time.monotonic() - sent[0][0], time.process_time() - sent[0][1]
        print("taken after", round(clock, 3), "s, work", round(work, 3), "s", file=sys.stderr)
        return min(clock, work)
    raise AssertionError(f"it was done after {{time.monotonic() - begin}} s, without an interrupt")

def chain(operations):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True], dtype=DataType.Float)
        value = x
        for i in range(operations):
            value = fd.ops.add(fd.ops.sin(value), x) if i % 2 else fd.ops.mul(value, fd.define_scalar(0.5))
        fd.add_output(value)
    return fd

def chain_of(x, operations):
    value = x
    for i in range(operations):
        value = np.sin(value) + x if i % 2 else value * np.float32(0.5)
    return value
"""


def run(body, **environment):
    program = BEGIN.format(here=str(HERE)) + f"SECONDS = {SECONDS}\n" + body
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("after", [0.1, 0.4, 1.0])
def test_a_long_plan(after):
    run(
        f"""
fd = chain(3300)  # 5,000 operations
x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
assert interrupted(lambda: fd.execute([x]), {after}) < SECONDS
small = chain(5)
(result,) = small.execute([x])
np.testing.assert_allclose(np.asarray(result), chain_of(x, 5), rtol=1e-5)
"""
    )


def test_the_same_definition_after_an_interrupted_plan():
    run(
        """
fd = chain(600)
x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
for after in (0.06, 0.15):
    try:
        interrupted(lambda: fd.execute([x]), after)
    except AssertionError:
        break  # it is fast here
(result,) = fd.execute([x])
np.testing.assert_allclose(np.asarray(result), chain_of(x, 600), rtol=1e-3, atol=1e-4)
"""
    )


@pytest.fixture
def slow_compiler(tmp_path):
    """A compiler that waits as long as a file is there; its path, and the file's."""
    sleepy = tmp_path / "sleepy"
    sleepy.touch()
    compiler = tmp_path / "slow-compiler"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) ;; '
        f'*) while [ -e {sleepy} ]; do sleep 0.05; done ;; esac\nexec c++ "$@"\n'
    )
    compiler.chmod(0o755)
    return compiler, sleepy


@pytest.mark.parametrize("waiting", [False, True])
def test_the_host_compiler(slow_compiler, waiting):
    compiler, sleepy = slow_compiler
    run(
        f"""
import subprocess
fd, other = chain(3), chain(3)
x = np.random.default_rng(0).standard_normal((4, 8), dtype=np.float32)
def compilers():
    found = subprocess.run(["pgrep", "-f", "^/bin/sh " + {str(compiler)!r}], capture_output=True, text=True)
    return found.stdout.split()
results = []
thread = threading.Thread(target=lambda: (time.sleep(0.3), results.extend(other.execute([x]))))
if {waiting}:  # for the same kernel, and goes on wanting it
    thread.start()
assert interrupted(lambda: fd.execute([x]), 1.5) < SECONDS
until = time.monotonic() + 5
while not {waiting} and compilers() and time.monotonic() < until:
    time.sleep(0.05)
assert {waiting} or not compilers(), "the compiler was left behind"
os.remove({str(sleepy)!r})
(result,) = fd.execute([x])
np.testing.assert_allclose(np.asarray(result), chain_of(x, 3), rtol=1e-5)
if {waiting}:
    thread.join(60)
    np.testing.assert_allclose(np.asarray(results[0]), chain_of(x, 3), rtol=1e-5)
""",
        CXX=str(compiler),
    )


LONG_KERNEL = """
x = np.random.default_rng(0).standard_normal((4096, 8192), dtype=np.float32)
if with_torch:
    import torch
    torch.set_num_threads(threads)
    x = torch.from_numpy(x)
def call():
    while True:
        long.execute([x])
long = chain(60)
small = x[:16]
long.execute([small])
begin = time.monotonic()
long.execute([x])
took = time.monotonic() - begin
print("a kernel takes", took, file=sys.stderr)
assert interrupted(call, 0.3 * took) < SECONDS
(result,) = long.execute([small])
np.testing.assert_allclose(np.asarray(result), chain_of(np.asarray(small), 60), rtol=1e-3, atol=1e-4)
assert interrupted(call, 0.3 * took) < SECONDS
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("with_torch", [False, True])
def test_a_long_kernel(threads, with_torch):
    run(
        f"threads, with_torch = {threads}, {with_torch}\n{LONG_KERNEL}",
        NVFUSER_CPU_THREADS="1" if threads == 1 else "0",
    )


def test_a_long_product_of_matrices():
    run(
        """
with FusionDefinition() as fd:
    a, b = (fd.define_tensor([-1, -1], [True, True], dtype=DataType.Float) for _ in range(2))
    fd.add_output(fd.ops.matmul(a, b))
data = np.random.default_rng(0).standard_normal((6144, 6144), dtype=np.float32)
fd.execute([data[:8, :8].copy()] * 2)
assert interrupted(lambda: [fd.execute([data, data]) for _ in range(100)], 0.7) < SECONDS
part = data[:8, :8].copy()
(result,) = fd.execute([part, part])
np.testing.assert_allclose(np.asarray(result), part @ part, rtol=1e-4, atol=1e-4)
"""
    )


def test_torch_compile(slow_compiler):
    compiler, sleepy = slow_compiler
    run(
        f"""
import torch
import nvfuser.dynamo
def function(x):
    return torch.sin(torch.cos(x) * 2) + x
compiled = torch.compile(function, backend="nvfuser")
x = torch.randn(64, 64)
torch.compile(lambda x: x + 1, backend="eager")(x)  # PyTorch's own imports
assert interrupted(lambda: compiled(x), 4) < SECONDS
os.remove({str(sleepy)!r})
torch.testing.assert_close(compiled(x), function(x))
""",
        CXX=str(compiler),
    )


def test_the_documented_frontend(slow_compiler):
    compiler, sleepy = slow_compiler
    run(
        f"""
import nvfuser
fusion = nvfuser.Fusion()
with nvfuser.FusionDefinition(fusion) as fd:
    fd.add_output(fd.ops.sin(fd.define_tensor(1)))
x = np.random.default_rng(0).standard_normal(100, dtype=np.float32)
assert interrupted(lambda: fusion.execute([x]), 1.5) < SECONDS
os.remove({str(sleepy)!r})
(result,) = fusion.execute([x])
np.testing.assert_allclose(np.asarray(result), np.sin(x), rtol=1e-5)
""",
        CXX=str(compiler),
    )
