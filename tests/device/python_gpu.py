"""The Python module on a GPU: PyTorch's streams and memory, CUDA graphs, the documents' programs. Needs
PyTorch with CUDA:

    PYTHONPATH=build/python python -m pytest -q tests/device/python_gpu.py
"""

import gc
import time

import nvfuser
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition

assert torch.cuda.is_available(), "these tests need a GPU and a PyTorch that can use it"


def product():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.mul(fd.define_tensor([-1], [True]), fd.define_tensor([-1], [True])))
    return fd


def softmax():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        e = fd.ops.exp(fd.ops.sub(x, fd.ops.broadcast_in_dim(fd.ops.max(x, [1]), x.shape(), [0])))
        fd.add_output(fd.ops.div(e, fd.ops.broadcast_in_dim(fd.ops.sum(e, [1]), x.shape(), [0])))
    return fd


def busy(cycles=200_000_000):
    """About 0.1 s of work on the current stream."""
    torch.cuda._sleep(cycles)


def test_work_goes_to_the_current_stream():
    """It waits for what is before it there, and for nothing else; what follows there waits for it."""
    fd = product()
    x = torch.ones(1 << 20, device="cuda")
    fd.execute([x, x])
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        busy()
        x.fill_(3)
        begin = time.perf_counter()
        (out,) = fd.execute([x, x])
        queued = time.perf_counter() - begin
        assert not stream.query()  # the call did not wait
        total = out.sum()
    assert queued < 0.02
    stream.synchronize()
    assert total.item() == 9 * x.numel()


def test_other_streams_are_not_waited_for():
    fd = product()
    x = torch.ones(1 << 20, device="cuda")
    fd.execute([x, x])
    other, mine = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        busy(2_000_000_000)
    with torch.cuda.stream(mine):
        (out,) = fd.execute([x, x])
        mine.synchronize()
    assert not other.query() and out[0].item() == 1
    torch.cuda.synchronize()


def test_outputs_are_memory_of_pytorch():
    fd = product()
    x = torch.ones(1 << 20, device="cuda")
    fd.execute([x, x])
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    (out,) = fd.execute([x, x])
    assert torch.cuda.memory_allocated() - before == 4 << 20
    place = out.data_ptr()
    del out
    assert torch.cuda.memory_allocated() == before
    (out,) = fd.execute([x, x])
    assert out.data_ptr() == place  # from the cache


def test_record_stream_keeps_the_memory():
    """Another stream reads an output that is gone: its memory is not given to somebody else before."""
    fd = product()
    x = torch.ones(1 << 20, device="cuda")
    fd.execute([x, x])
    reader = torch.cuda.Stream()
    (out,) = fd.execute([x, x])
    reader.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(reader):
        busy()
        total = out.sum()
    out.record_stream(reader)
    del out
    for _ in range(4):
        torch.empty(1 << 20, device="cuda").fill_(float("nan"))
    torch.cuda.synchronize()
    assert total.item() == x.numel()


@pytest.mark.parametrize("make", [product, softmax], ids=["pointwise", "softmax"])
def test_calls_are_captured(make):
    fd = make()
    shape = (4096,) if make is product else (64, 1024)
    inputs = [torch.randn(shape, device="cuda") for _ in range(2 if make is product else 1)]
    expected = lambda: inputs[0] * inputs[1] if make is product else torch.softmax(inputs[0], 1)  # noqa: E731
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            fd.execute(inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (out,) = fd.execute(inputs)
    for _ in range(3):
        for tensor in inputs:
            tensor.normal_()
        graph.replay()
        torch.testing.assert_close(out, expected(), rtol=1e-5, atol=1e-6)


def test_out_of_memory_is_pytorchs_error():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.add(fd.define_tensor([-1, 1], [True, None]), fd.define_tensor([1, -1], [None, True])))
    with pytest.raises(torch.cuda.OutOfMemoryError):
        fd.execute([torch.ones(1 << 20, 1, device="cuda"), torch.ones(1, 1 << 20, device="cuda")])
    gc.collect()
    (out,) = product().execute([torch.ones(3, device="cuda")] * 2)
    assert out.tolist() == [1, 1, 1]


def test_devices_are_not_mixed():
    with pytest.raises(RuntimeError, match="several devices"):
        product().execute([torch.ones(3, device="cuda"), torch.ones(3)])


def test_cpu_scalars():
    """is_cpu: the value of each call, also between calls that were seen; elsewhere it is an error."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Float)
        s = fd.define_tensor([], [], dtype=DataType.Double, is_cpu=True)
        fd.add_output(fd.ops.cast(fd.ops.mul(x, s), DataType.Float))
    x = torch.randn(1000, device="cuda")
    for value in (2.0, -0.5, 3.0):
        scalar = torch.tensor(value, dtype=torch.float64)
        (out,) = fd.execute([x, scalar])
        assert out.is_cuda and torch.equal(out, x * value)
        with pytest.raises(RuntimeError, match=r"input 1, .*, is a CPU scalar, but its tensor is on NVIDIA"):
            fd.execute([x, scalar.cuda()])


def test_the_documented_frontend():
    fusion = nvfuser.Fusion()
    with nvfuser.FusionDefinition(fusion) as fd:
        x = fd.define_tensor(2)
        bias = fd.define_tensor(symbolic_sizes=[-1], contiguous=[True], dtype=DataType.Float)
        fd.add_output(fd.ops.gelu(fd.ops.add(x, bias)))
    x = torch.randn(64, 256, device="cuda").t()
    (out,) = fusion.execute([x, torch.zeros(64, device="cuda")])
    assert out.is_cuda
    torch.testing.assert_close(out, torch.nn.functional.gelu(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_half_types(dtype):
    names = {torch.float32: DataType.Float, torch.float16: DataType.Half, torch.bfloat16: DataType.BFloat16}
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True], dtype=names[dtype])
        fd.add_output(fd.ops.cast(fd.ops.silu(fd.ops.cast(x, DataType.Float)), names[dtype]))
    x = torch.randn(33, 77, device="cuda", dtype=dtype)
    (out,) = fd.execute([x])
    torch.testing.assert_close(out, torch.nn.functional.silu(x.float()).to(dtype))
