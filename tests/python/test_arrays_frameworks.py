"""Frameworks that are not installed here, as far as the module sees of them: DLPack, CuPy's pool and stream, JAX."""

import gc
import importlib.util
import sys
import types

import numpy as np
import pytest
from nvfuser_direct import FusionDefinition


def add_one(alias=False):
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1])
        if alias:
            fd.add_output(fd.ops.add(a, 1.0), alias_input=a)
        else:
            fd.add_output(fd.ops.add(a, 1.0))
            fd.add_output(a)
    return fd


class Lent:
    """An array that only speaks DLPack, as an extension's would; a consumer's words are written down."""

    def __init__(self, array, old=False):
        self.array, self.old, self.asked = array, old, []

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if self.old and "max_version" in asked:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("old", [False, True], ids=["version 1", "before version 1"])
def test_what_only_speaks_dlpack(old):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = Lent(x, old)
    out, same = add_one().execute([given])
    assert out.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(out), x + 1)
    np.from_dlpack(same)[0, 0] = 7  # the very memory
    assert x[0, 0] == 7
    assert given.asked[-1] == ({} if old else {"max_version": (1, 0)})
    for _ in range(3):  # a capsule may be left alone, or taken once
        assert out.__dlpack__() is not None and out.__dlpack__(max_version=(1, 0), stream=None) is not None
    del out, same
    gc.collect()
    assert x[1, 2] == 5


class CupyArray:
    """What cupy.ndarray is to a call: DLPack in, memory of the pool out."""

    def __init__(self, shape, dtype, memptr=None, strides=None):
        self.memory = memptr
        buffer = memptr.owner.view(np.uint8)[memptr.offset :]
        self.array = np.ndarray(shape, dtype, buffer=buffer.data, strides=strides)

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return (1, 0)


CupyArray.__module__ = "cupy"


class Memory:
    """A cupy.cuda.MemoryPointer of host memory."""

    def __init__(self, owner, offset=0):
        self.owner, self.offset = owner, offset
        self.ptr = owner.ctypes.data + offset

    def __add__(self, offset):
        return Memory(self.owner, self.offset + offset)


@pytest.fixture
def cupy(monkeypatch):
    """A module `cupy` as the calls need it, in host memory. `pool`: what was asked of it."""
    package, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")
    package.pool = []

    def alloc(size):
        package.pool.append(size)
        block = np.empty(size + 64, np.uint8)
        start = -block.ctypes.data % 64
        return Memory(block[start : start + size])

    cuda.alloc = alloc
    cuda.get_current_stream = lambda: types.SimpleNamespace(ptr=0)
    package.cuda, package.ndarray = cuda, CupyArray
    monkeypatch.setitem(sys.modules, "cupy", package)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    return package


def cupy_array(cupy, array):
    made = CupyArray(array.shape, array.dtype, cupy.cuda.alloc(array.nbytes))
    made.array[...] = array
    return made


def test_outputs_come_from_the_pool_of_cupy(cupy):
    x = cupy_array(cupy, np.arange(6, dtype=np.float32).reshape(2, 3))
    with FusionDefinition() as fd:
        a = fd.define_tensor([2, 3], [True, True])
        y = fd.ops.add(a, 1.0)
        fd.add_output(y)
        fd.add_output(fd.ops.permute(y, [1, 0]))
    cupy.pool.clear()
    out, turned = fd.execute([x])
    assert type(out) is CupyArray and type(turned) is CupyArray and 24 in cupy.pool
    np.testing.assert_array_equal(out.array, x.array + 1)
    np.testing.assert_array_equal(turned.array, (x.array + 1).T)
    blocks = [sys.getrefcount(out.memory.owner)]
    for _ in range(10):
        fd.execute([x])
    gc.collect()
    assert [sys.getrefcount(out.memory.owner)] == blocks


def test_memory_that_cupy_does_not_give(cupy):
    def refuse(size):
        raise MemoryError(f"out of memory allocating {size} bytes")

    x = cupy_array(cupy, np.ones((2, 3), np.float32))
    cupy.cuda.alloc = refuse
    with pytest.raises(MemoryError, match="out of memory allocating 24 bytes"):
        add_one().execute([x])


class JaxArray:
    """What jax.Array is to a call: DLPack in and out, never written."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return (1, 0)


JaxArray.__module__ = "jaxlib._jax"


def test_arrays_of_jax_are_not_written(monkeypatch):
    package, dlpack = types.ModuleType("jax"), types.ModuleType("jax.dlpack")
    dlpack.from_dlpack = lambda array: JaxArray(np.from_dlpack(array))
    package.dlpack = dlpack
    monkeypatch.setitem(sys.modules, "jax", package)
    monkeypatch.setitem(sys.modules, "jax.dlpack", dlpack)
    x = JaxArray(np.ones((2, 3), np.float32))
    out, same = add_one().execute([x])
    assert type(out) is JaxArray and out.array[1, 2] == 2
    same.array[...] = 5  # a copy: nobody else sees it
    assert x.array[0, 0] == 1
    with pytest.raises(RuntimeError, match="writes to input 0, but arrays of JAX are never written; take the result"):
        add_one(alias=True).execute([x])


if importlib.util.find_spec("jax"):

    def test_jax_itself():
        import jax

        x = jax.numpy.arange(6, dtype="float32").reshape(2, 3)
        out, same = add_one().execute([x])
        assert isinstance(out, jax.Array) and isinstance(same, jax.Array)
        np.testing.assert_array_equal(np.asarray(out), np.asarray(x) + 1)
        np.testing.assert_array_equal(np.asarray(same), np.asarray(x))
        with pytest.raises(RuntimeError, match="arrays of JAX are never written"):
            add_one(alias=True).execute([x])
