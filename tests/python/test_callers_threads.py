"""Kernels of the CPU run on the threads of the program that calls: PyTorch's where it is loaded, else a pool of ours.

Each case is a program of its own, since a process keeps the threads that it once had.
"""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BEGIN = """
import os, sys, threading, time
sys.path.insert(0, {here!r})
import conftest
import numpy as np
from nvfuser_direct import DataType, FusionDefinition

def defined(define, *arrays):
    with FusionDefinition() as fd:
        tensors = [fd.define_tensor([-1] * x.ndim, [True] * x.ndim, dtype=DataType.Float) for x in arrays]
        fd.add_output(define(fd, *tensors))
    return fd

def threads():
    return os.listdir("/proc/self/task")

def name_of(thread):
    with open(f"/proc/self/task/{{thread}}/comm") as file:
        return file.read().strip()

def state_of(thread):
    try:
        with open(f"/proc/self/task/{{thread}}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:  # it is over
        return "Z"

def our_threads():
    return [thread for thread in threads() if name_of(thread) == "nvfuser-cpu"]

random = np.random.default_rng(0)
x, y = (random.standard_normal((512, 1024), dtype=np.float32) for _ in range(2))
fd = defined(lambda fd, x, y: fd.ops.add(fd.ops.mul(x, y), y), x, y)
wanted = x * y + y

def check(*arguments):
    (result,) = fd.execute(arguments or (x, y))
    np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-5, atol=1e-5)
"""
WITH_TORCH = "import torch\nx, y = torch.from_numpy(x), torch.from_numpy(y)\n"


def run(body, **environment):
    """Standard output of a program, which has to end well."""
    import os

    program = BEGIN.format(here=str(HERE)) + body
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def several_processors():
    import os

    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one processor has no threads to share")


def test_no_more_threads_run_than_processors():
    run(
        WITH_TORCH
        + """
stop, most, me = threading.Event(), 0, None
def watch():
    global most, me
    me = str(threading.get_native_id())
    while not stop.is_set():
        running = [t for t in threads() if t != me and state_of(t) == "R"]
        most = max(most, len(running))
        time.sleep(0.0005)
watcher = threading.Thread(target=watch)
big = torch.empty(1 << 24)
check()
watcher.start()
until = time.monotonic() + 2
while time.monotonic() < until:
    big.zero_()
    fd.execute([x, y])
stop.set()
watcher.join()
check()
assert not our_threads(), our_threads()
assert most <= torch.get_num_threads(), (most, torch.get_num_threads())
"""
    )


def test_torch_set_num_threads_is_kept_on_every_thread():
    run(
        WITH_TORCH
        + """
torch.set_num_threads(1)
before = len(threads())
check()
assert len(threads()) == before
def elsewhere():
    inside = len(threads())
    check()
    assert len(threads()) == inside
with_errors = []
def guarded():
    try:
        elsewhere()
    except BaseException as error:
        with_errors.append(error)
thread = threading.Thread(target=guarded)
thread.start()
thread.join()
assert not with_errors, with_errors
torch.set_num_threads(2)
check()
assert len(threads()) > before  # and threads come when they are wanted again
"""
    )


@pytest.mark.parametrize("setting", [{"OMP_NUM_THREADS": "1"}, {"NVFUSER_CPU_THREADS": "1"}])
def test_a_program_that_wants_one_thread_gets_no_other(setting):
    run(WITH_TORCH + "before = len(threads())\ncheck()\nassert len(threads()) == before\n", **setting)


@pytest.mark.parametrize("setting", [{"OMP_PROC_BIND": "true"}, {"OMP_STACKSIZE": "256k"}, {"OMP_DYNAMIC": "true"}])
def test_settings_of_openmp_are_kept(setting):
    run(WITH_TORCH + "(x @ y.t()).sum()\nfor _ in range(20):\n    check()\nassert not our_threads()\n", **setting)


def test_calls_from_inside_a_parallel_region():
    run(
        WITH_TORCH
        + """
import ctypes, ctypes.util
from pathlib import Path
check()
runtime = ctypes.CDLL(next(Path(torch.__file__).parent.glob("lib/libgomp*")))
inside, errors = [], []
def body(_):
    try:
        for _ in range(5):
            check()
        inside.append(threading.get_native_id())
    except BaseException as error:
        errors.append(error)
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(body)
runtime.GOMP_parallel(callback, None, 2, 0)
assert not errors, errors
assert len(set(inside)) == 2, inside
"""
    )


def test_calls_from_autograd():
    run(
        WITH_TORCH
        + """
leaf = torch.zeros(512, 1024, requires_grad=True)
leaf.register_hook(lambda gradient: check())
for _ in range(3):
    (leaf * 2).sum().backward()
"""
    )


def test_calls_from_several_threads_beside_torch():
    run(
        WITH_TORCH
        + """
errors = []
def work():
    try:
        for _ in range(40):
            other = torch.relu(x - y)
            check()
            assert torch.equal(other, torch.relu(x - y))
    except BaseException as error:
        errors.append(error)
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
assert not errors, errors
"""
    )


@pytest.mark.parametrize("torch", [False, True])
def test_a_forked_child_computes(torch):
    run(
        (WITH_TORCH + "torch.relu(x)\n" if torch else "")
        + """
check()
for _ in range(2):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(20):
                check()
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    until = time.monotonic() + 60
    ended = 0
    while not ended and time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, 9)
    assert ended and status == 0, (ended, status)
    check()
"""
    )


def test_a_pool_of_ours_without_openmp_and_none_once_torch_came():
    run(
        """
def work_of(ids):
    total = 0
    for thread in ids:
        with open(f"/proc/self/task/{thread}/stat") as file:
            total += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
    return total
for _ in range(20):
    check()
ours = our_threads()
assert ours
"""
        + WITH_TORCH
        + """
check()
before = work_of(ours)
until = time.monotonic() + 1
while time.monotonic() < until:
    fd.execute([x, y])
assert work_of(ours) - before <= 5, "the pool works beside PyTorch"  # hundredths of a second
"""
    )


def test_results_do_not_depend_on_whose_threads_they_are():
    body = """
import hashlib
digest = hashlib.sha256()
for rows, row in ((3, 70000), (512, 1024), (70000, 3), (1, 1 << 20)):
    data = random.standard_normal((rows, row), dtype=np.float32)
    for axes in ([0], [1], [0, 1]):
        total = defined(lambda fd, t: fd.ops.sum(fd.ops.exp(t), axes), data)
        (result,) = total.execute([torch.from_numpy(data) if with_torch else data])
        digest.update(np.ascontiguousarray(np.asarray(result)).tobytes())
print(digest.hexdigest())
"""
    own = run("with_torch = False\n" + body)
    assert own == run(WITH_TORCH + "with_torch = True\n" + body)
    assert own == run(WITH_TORCH + "with_torch = True\ntorch.set_num_threads(1)\n" + body)
