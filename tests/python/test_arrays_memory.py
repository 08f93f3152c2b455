"""Whose memory outputs are, what keeps them alive, and which objects a call holds."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition


def define(make, rank=1, dtype=DataType.Float):
    with FusionDefinition() as fd:
        outputs = make(fd, fd.define_tensor([-1] * rank, [True] * rank, dtype=dtype))
        for output in outputs if isinstance(outputs, tuple) else (outputs,):
            fd.add_output(output)
    return fd


def tensors_alive():
    gc.collect()
    return sum(type(each) is torch.Tensor for each in gc.get_objects())


def test_outputs_are_tensors_of_pytorch():
    """Made by its allocator: with storage that it can change, and counted by its profiler."""
    fd = define(lambda fd, x: fd.ops.neg(x))
    x = torch.randn(1000)
    fd.execute([x])
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        (out,) = fd.execute([x])
    assert torch.equal(out, -x)
    assert out.untyped_storage().resizable() and out.resize_(2000).shape == (2000,)
    allocated = [event.cpu_memory_usage for event in profiler.events() if event.name == "[memory]"]
    assert 4000 <= max(allocated) < 4096 * 2


def test_large_outputs_on_the_cpu_are_used_again():
    """Memory that the system would have to clear anew in each call stays with the library."""
    fd = define(lambda fd, x: fd.ops.neg(x))
    x = torch.randn(1 << 20)
    (out,) = fd.execute([x])
    place = out.data_ptr()
    assert torch.equal(out, -x)
    del out
    assert fd.execute([x])[0].data_ptr() == place


@pytest.mark.parametrize("size", [3, 1 << 20], ids=["small", "large"])
def test_nothing_stays_of_a_call(size):
    fd = define(lambda fd, x: (fd.ops.neg(x), fd.ops.add(x, 1.0)))
    x = torch.randn(size)
    fd.execute([x])
    before = tensors_alive()
    for _ in range(50):
        fd.execute([x])
    assert tensors_alive() == before and sys.getrefcount(x) == 2
    first, second = fd.execute([x])
    dead = weakref.ref(first)
    del first
    assert dead() is None and torch.equal(second, x + 1)


def test_outputs_that_share_memory():
    """Two outputs of one result, and a view of one, live on without each other."""
    with FusionDefinition() as fd:
        y = fd.ops.neg(fd.define_tensor([4, 6], [True, True]))
        for output in (y, y, fd.ops.reshape(y, [24]), fd.ops.permute(y, [1, 0])):
            fd.add_output(output)
    x = torch.randn(4, 6)
    for _ in range(3):
        outputs = fd.execute([x])
        assert [tuple(output.shape) for output in outputs] == [(4, 6), (4, 6), (24,), (6, 4)]
        while outputs:
            last = outputs.pop()
            gc.collect()
            expected = -x.t() if last.shape == (6, 4) else -x
            assert torch.equal(last.reshape(expected.shape), expected)


def test_empty_and_zero_dimensional_outputs():
    fd = define(lambda fd, x: fd.ops.neg(x), rank=2)
    (out,) = fd.execute([torch.ones(0, 3)])
    assert type(out) is torch.Tensor and out.shape == (0, 3)
    fd = define(lambda fd, x: fd.ops.sum(x))
    (out,) = fd.execute([torch.ones(7)])
    assert out.shape == () and out.item() == 7


def test_an_input_lives_on_in_its_views():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.reshape(fd.define_tensor([4, 6], [True, True]), [24]))
    x = torch.arange(24.0).reshape(4, 6)
    place = x.data_ptr()
    (out,) = fd.execute([x])
    assert out.data_ptr() == place
    del x
    gc.collect()
    torch.randn(24), np.empty(24)
    assert torch.equal(out, torch.arange(24.0))


def test_a_list_may_change_during_the_call():
    """Inputs are kept by the call itself: another thread empties the list all the time."""
    import threading

    fd = define(lambda fd, x: fd.ops.neg(x))
    inputs, stop = [], threading.Event()

    def empty():
        while not stop.is_set():
            inputs.clear()

    fd.execute([torch.ones(50_000)])
    thread = threading.Thread(target=empty)
    thread.start()
    for _ in range(300):
        inputs.append(torch.ones(50_000))
        try:
            (out,) = fd.execute(inputs)
        except (RuntimeError, IndexError):  # it was empty
            continue
        assert out.sum() == -50_000
    stop.set()
    thread.join()


RECORDED = """
import ctypes, torch

# A table that passes on to PyTorch's and writes down what is called.
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"dlpack_exchange_api"
given = get(torch.Tensor.__dlpack_c_exchange_api__, name)
words = (ctypes.c_void_p * 7).from_address(given)  # version, previous, then five functions
table = (ctypes.c_void_p * 7)(*words)
called = []
two = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def passing(label, address):
    real = two(address)
    def call(a, b):
        called.append(label)
        return real(a, b)
    return two(call)
kept = [passing("from_object", words[3]), passing("to_object", words[4]), passing("borrow", words[5])]
for i, function in enumerate(kept):
    table[3 + i] = ctypes.cast(function, ctypes.c_void_p)
torch.Tensor.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), name, None)
from nvfuser_direct import FusionDefinition  # which reads the table

with FusionDefinition() as fd:
    a, b = fd.define_tensor([-1], [True]), fd.define_tensor([-1], [True])
    fd.add_output(fd.ops.add(a, b))
x = torch.ones(3)
assert fd.execute([x, x])[0].tolist() == [2, 2, 2]
called.clear()
fd.execute([x, x])
assert set(called) <= {"borrow"}, called  # nothing is owned, nothing is wrapped
with FusionDefinition() as fd:
    a = fd.define_tensor([-1], [True])
    fd.add_output(a)
called.clear()
assert fd.execute([x])[0].data_ptr() == x.data_ptr()
assert called == ["borrow", "from_object", "to_object"], called  # the output owns what the input lent
"""


def test_tensors_are_borrowed_through_the_exchange_table():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", RECORDED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
