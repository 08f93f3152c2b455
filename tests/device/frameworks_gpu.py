"""Arrays of CuPy and JAX on a GPU, by the packages themselves: the current stream, the pool, what is freed early.
Needs CuPy and JAX with CUDA:

    PYTHONPATH=build/python python -m pytest -q tests/device/frameworks_gpu.py
"""

import gc
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # the GPU's memory is not JAX's alone here

import cupy
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from nvfuser_direct import DataType, FusionDefinition

DTYPES = {
    **{DataType.Half: "float16", DataType.Float: "float32", DataType.Double: "float64"},
    **{DataType.Char: "int8", DataType.Short: "int16", DataType.Int32: "int32", DataType.Int: "int64"},
    **{DataType.Byte: "uint8", DataType.UInt32: "uint32", DataType.UInt64: "uint64"},
    **{DataType.ComplexFloat: "complex64", DataType.ComplexDouble: "complex128"},
}
WIDE = {"float64", "int64", "uint64", "complex128"}  # JAX has them only where it is asked for


def doubled(rank=2, dtype=DataType.Float, alias=False):
    """x + x, into x where `alias`."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1] * rank, [False] * rank, dtype=dtype)
        y = fd.ops.cast(fd.ops.add(x, x), dtype)
        if alias:
            fd.add_output(y, alias_input=x)
        else:
            fd.add_output(y)
    return fd


def softmax():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        e = fd.ops.exp(fd.ops.sub(x, fd.ops.broadcast_in_dim(fd.ops.max(x, [1]), x.shape(), [0])))
        fd.add_output(fd.ops.div(e, fd.ops.broadcast_in_dim(fd.ops.sum(e, [1]), x.shape(), [0])))
    return fd


def numbers(shape, dtype):
    drawn = np.random.default_rng(0).normal(size=shape) * 20
    return (np.abs(drawn) if dtype.startswith("u") else drawn).astype(dtype)


# ---- CuPy


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_cupy(dtype):
    x = cupy.asarray(numbers((33, 65), DTYPES[dtype]))
    (out,) = doubled(dtype=dtype).execute([x])
    assert type(out) is cupy.ndarray and out.dtype == x.dtype and out.device == x.device
    cupy.testing.assert_array_equal(out, x + x)


def test_truth_values_of_cupy():
    x = cupy.asarray(numbers((33, 65), "float32"))
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1], [True, True])
        fd.add_output(fd.ops.gt(a, 0.0))
    (out,) = fd.execute([x])
    assert out.dtype == bool
    cupy.testing.assert_array_equal(out, x > 0)
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1], [True, True], dtype=DataType.Bool)
        fd.add_output(fd.ops.logical_not(a))
    cupy.testing.assert_array_equal(fd.execute([out])[0], x <= 0)


def test_bfloat16_of_cupy():
    """CuPy has it by ml_dtypes, which JAX brings."""
    x = cupy.asarray(numbers((33, 65), "float32")).astype(np.dtype(jnp.bfloat16))
    (out,) = doubled(dtype=DataType.BFloat16).execute([x])
    assert type(out) is cupy.ndarray and out.dtype == x.dtype
    cupy.testing.assert_array_equal(out.astype(cupy.float32), 2 * x.astype(cupy.float32))


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[:, 1:60],
        lambda x: x[3::2, ::3],
        lambda x: cupy.broadcast_to(x[:1], x.shape),
        lambda x: x[:0],
        lambda x: x[:1, :1],
    ],
    ids=["turned", "columns", "steps", "expanded", "empty", "one element"],
)
def test_views_of_cupy(view):
    x = view(cupy.asarray(numbers((64, 96), "float32")))
    (out,) = doubled().execute([x])
    assert out.shape == x.shape
    cupy.testing.assert_array_equal(out, x + x)


def test_a_number_of_cupy():
    x = cupy.asarray(np.float32(3.5))
    (out,) = doubled(rank=0).execute([x])
    assert out.shape == () and out.item() == 7


def test_cupy_is_written_in_place():
    x = cupy.ones((256, 300), cupy.float32)
    memory = x.data.ptr
    assert doubled(alias=True).execute([x]) == []
    assert x.data.ptr == memory
    cupy.testing.assert_array_equal(x, cupy.full((256, 300), 2, cupy.float32))


def test_softmax_of_cupy():
    x = cupy.asarray(numbers((513, 4098), "float32"))
    (out,) = softmax().execute([x])
    e = cupy.exp((x - x.max(1, keepdims=True)).astype(cupy.float64))
    cupy.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-7)


BUSY = r"""
extern "C" __global__ void busy(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}
"""


def test_work_goes_to_the_current_stream_of_cupy():
    """It waits for what is before it there, and does not make the caller wait; what follows waits for it."""
    fd = doubled()
    busy = cupy.RawKernel(BUSY, "busy")
    x = cupy.ones((1024, 1024), cupy.float32)
    fd.execute([x])
    busy((1,), (1,), (1,))
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        fd.execute([x])
        busy((1,), (1,), (400_000_000,))
        x.fill(3)
        (out,) = fd.execute([x])
        assert not stream.done
        total = out.sum()
        assert not stream.done
    stream.synchronize()
    assert total.item() == 6 * x.size


def test_memory_comes_from_the_pool_of_cupy():
    fd = doubled()
    x = cupy.ones((1024, 1024), cupy.float32)
    fd.execute([x])
    gc.collect()
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    (out,) = fd.execute([x])
    assert pool.used_bytes() == before + x.nbytes
    del out
    assert pool.used_bytes() == before
    total = pool.total_bytes()
    for _ in range(1000):
        fd.execute([x])
    assert pool.used_bytes() == before and pool.total_bytes() == total


def test_memory_that_cupy_does_not_have():
    with FusionDefinition() as fd:
        x, y = fd.define_tensor([-1, 1], [True, None]), fd.define_tensor([1, -1], [None, True])
        fd.add_output(fd.ops.add(x, y))
    x = cupy.ones((1 << 20, 1), cupy.float32)
    with pytest.raises(MemoryError):
        fd.execute([x, x.T])
    assert doubled().execute([x])[0][5, 0] == 2


def test_cupy_and_others_are_not_mixed():
    with FusionDefinition() as fd:
        a, b = fd.define_tensor([-1], [True]), fd.define_tensor([-1], [True])
        fd.add_output(fd.ops.mul(a, b))
    x = cupy.ones(8, cupy.float32)
    with pytest.raises(RuntimeError, match="input 1 is a tensor of numpy, but those before it are of cupy"):
        fd.execute([x, np.ones(8, np.float32)])
    with pytest.raises(RuntimeError, match=r"input 1 is a tensor of jax.*, but those before it are of cupy"):
        fd.execute([x, jnp.ones(8)])
    assert fd.execute([x, x])[0].sum() == 8


# ---- JAX


@pytest.mark.parametrize("dtype", [DataType.BFloat16, *DTYPES], ids=str)
def test_dtypes_of_jax(dtype):
    name = DTYPES.get(dtype, "bfloat16")
    with jax.enable_x64(name in WIDE):
        x = jnp.asarray(numbers((33, 65), "float32" if name == "bfloat16" else name)).astype(name)
        (out,) = doubled(dtype=dtype).execute([x])
        assert isinstance(out, jax.Array) and out.dtype == x.dtype and out.devices() == x.devices()
        np.testing.assert_array_equal(np.asarray(out), np.asarray(x + x))


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 0)], ids=str)
def test_small_arrays_of_jax(shape):
    x = jnp.ones(shape, jnp.float32)
    (out,) = doubled().execute([x])
    assert out.shape == shape
    np.testing.assert_array_equal(np.asarray(out), np.asarray(x + x))


def test_a_number_of_jax():
    (out,) = doubled(rank=0).execute([jnp.float32(3.5) + 0])
    assert out.shape == () and float(out) == 7


def test_softmax_of_jax():
    x = jnp.asarray(numbers((513, 4098), "float32"))
    (out,) = softmax().execute([x])
    np.testing.assert_allclose(np.asarray(out), np.asarray(jax.nn.softmax(x, axis=1)), rtol=1e-4, atol=1e-7)


def test_jax_goes_on_with_the_outputs():
    """Before and behind the fusion are JAX's own programs, which it queues on streams of its own."""
    fd = doubled()
    before = jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ y / 64), x))
    behind = jax.jit(lambda y: (y - 1).sum())
    x = jnp.asarray(numbers((2048, 2048), "float32"))
    wanted = float(behind(2 * before(x)))
    for _ in range(20):
        (out,) = fd.execute([before(x)])
        assert float(behind(out)) == pytest.approx(wanted, rel=1e-5)


def test_memory_that_jax_gives_away():
    """An input that nobody else holds may not become another array's memory before it was read."""
    fd = doubled()
    make = jax.jit(lambda value: jnp.full((4096, 4096), value, jnp.float32))
    for i in range(50):
        (out,) = fd.execute([make(float(i))])
        others = [make(-1.0) for _ in range(3)]
        assert float(out[0, 0]) == float(out[-1, -1]) == 2 * i
        del others


def test_memory_of_jax_stays_flat():
    fd = doubled()
    x = jnp.ones((1024, 1024), jnp.float32)
    fd.execute([x])
    gc.collect()
    free = cupy.cuda.runtime.memGetInfo()[0]
    for _ in range(1000):
        fd.execute([x])
    gc.collect()
    assert free - cupy.cuda.runtime.memGetInfo()[0] <= 16 << 20


def test_jax_is_never_written():
    x = jnp.ones((4, 4), jnp.float32)
    with pytest.raises(RuntimeError, match="arrays of JAX are never written"):
        doubled(alias=True).execute([x])
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1])
        fd.add_output(a)
    (same,) = fd.execute([x])
    assert same.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()


# ---- what only speaks DLPack


class Lent:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **asked):
        return self.array.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_what_only_speaks_dlpack():
    x = cupy.asarray(numbers((33, 65), "float32"))
    (out,) = doubled().execute([Lent(x)])
    assert out.__dlpack_device__() == x.__dlpack_device__()
    cupy.testing.assert_array_equal(cupy.from_dlpack(out), x + x)
