"""Tensors in and out: PyTorch's kinds of tensors, NumPy's arrays, and what speaks DLPack."""

import gc
import os
import re
import subprocess
import sys

import numpy as np
import nvfuser
import nvfuser_direct as nvf
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition


def unary(name="neg", dtype=DataType.Float, rank=1, **named):
    with FusionDefinition() as fd:
        fd.add_output(getattr(fd.ops, name)(fd.define_tensor([-1] * rank, dtype=dtype), **named))
    return fd


def run(program):
    """In a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


DTYPES = {
    torch.float64: DataType.Double,
    torch.float32: DataType.Float,
    torch.float16: DataType.Half,
    torch.bfloat16: DataType.BFloat16,
    torch.float8_e4m3fn: DataType.Float8_e4m3fn,
    torch.float8_e5m2: DataType.Float8_e5m2,
    torch.int64: DataType.Int,
    torch.int32: DataType.Int32,
    torch.int16: DataType.Short,
    torch.int8: DataType.Char,
    torch.uint8: DataType.Byte,
    torch.bool: DataType.Bool,
    torch.complex64: DataType.ComplexFloat,
    torch.complex128: DataType.ComplexDouble,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_torch(dtype):
    x = torch.tensor([0.0, 1.0, 2.0, 3.0]).to(dtype)
    (out,) = unary("set", DTYPES[dtype]).execute([x])
    assert type(out) is torch.Tensor and out.dtype == dtype
    assert torch.equal(out.view(torch.uint8), x.view(torch.uint8))


@pytest.mark.parametrize("table", [True, False], ids=["exchange table", "to_dlpack"])
def test_ways_of_torch(table):
    """PyTorch before 2.10 has no exchange table; what is done then is tried without it."""
    program = """
import gc, sys, torch
TABLE = %s
if not TABLE:
    torch.Tensor.__dlpack_c_exchange_api__ = None
from nvfuser_direct import DataType, FusionDefinition
with FusionDefinition() as fd:
    a = fd.define_tensor([-1, -1])
    fd.add_output(fd.ops.add(a, 1.0))
    fd.add_output(a)
x = torch.randn(3, 4)
for given in (x, x.t(), x[:, 1:3], x[1:1], torch.nn.Parameter(x), torch.randn(600, 500)):  # the last one is large
    out, same = fd.execute([given])
    assert type(out) is torch.Tensor and torch.equal(out, given.detach() + 1)
    assert given.numel() == 0 or same.data_ptr() == given.data_ptr()
del out
kept = fd.execute([torch.ones(2, 2)])[1]
gc.collect()
assert torch.equal(kept, torch.ones(2, 2))  # the input lives on in its view
"""
    run(program % table)


def test_float8_where_capsules_have_none():
    """As in PyTorch before 2.10, whose DLPack does not have it: in, out, large, and as a view of an input."""
    program = """
import torch
import torch.utils.dlpack as dlpack
EIGHTS = {torch.float8_e4m3fn: "Float8_e4m3fn", torch.float8_e5m2: "Float8_e5m2"}
to_dlpack, from_dlpack = dlpack.to_dlpack, dlpack.from_dlpack
def refused(tensor):
    if tensor.dtype in EIGHTS:
        raise RuntimeError("float8 types are not supported by dlpack")
    return tensor
torch.Tensor.__dlpack_c_exchange_api__ = None
dlpack.to_dlpack = lambda tensor: to_dlpack(refused(tensor))
dlpack.from_dlpack = lambda capsule: refused(from_dlpack(capsule))
from nvfuser_direct import DataType, FusionDefinition, UserError
for dtype, name in EIGHTS.items():
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1], dtype=getattr(DataType, name))
        fd.add_output(fd.ops.cast(fd.ops.neg(a), getattr(DataType, name)))
        fd.add_output(a)
    for sizes in ((3, 5), (0, 2), (2000, 600)):
        x = torch.randn(sizes).to(dtype)
        for given in (x, x.t(), x[:, 1:]):
            out, same = fd.execute([given])
            assert type(out) is torch.Tensor and out.dtype == same.dtype == dtype
            assert torch.equal(out.float(), -given.float())
            assert given.numel() == 0 or same.data_ptr() == given.data_ptr() and same.stride() == given.stride()
            assert torch.equal(same.view(torch.uint8), given.view(torch.uint8))
    for bad in (torch.empty(3, 3, dtype=dtype, device="meta"), torch.empty(3, 3, device="meta")):
        try:
            fd.execute([bad])
        except UserError as error:
            assert "input 0 cannot be read: " in str(error), error
        else:
            raise AssertionError("it was read")
"""
    run(program)


def test_conjugated_and_negated_views():
    x = torch.randn(5, dtype=torch.complex64)
    conjugated = unary("set", DataType.ComplexFloat)
    assert torch.equal(conjugated.execute([x.conj()])[0], x.conj().resolve_conj())
    negated = x.conj().imag
    assert negated.is_neg()
    assert torch.equal(unary("set").execute([negated])[0], negated.resolve_neg())
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], dtype=DataType.ComplexFloat)
        fd.add_output(fd.ops.neg(a), alias_input=a)
    with pytest.raises(
        RuntimeError, match=r"writes to input 0, but it is a lazily conjugated or negated view; call res"
    ):
        fd.execute([x.conj()])


def test_gradients_are_not_recorded():
    x = torch.randn(3, requires_grad=True)
    (out,) = unary().execute([x])
    assert not out.requires_grad and torch.equal(out, -x.detach())
    (out,) = unary().execute([torch.nn.Parameter(x.detach())])
    assert type(out) is torch.Tensor


def test_subclasses():
    class Named(torch.Tensor):
        """Without operations of its own: its memory is all there is."""

    x = torch.randn(3)
    (out,) = unary().execute([x.as_subclass(Named)])
    assert type(out) is torch.Tensor and torch.equal(out, -x)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
    with pytest.raises(RuntimeError, match=r"input 0 is a FakeTensor, a torch.Tensor whose operations are its own"):
        unary().execute([fake])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: torch.empty(3, device="meta"), ""),
        (lambda: torch.eye(3).to_sparse(), "its layout is torch.sparse_coo, which has no strides; use to_dense()"),
    ],
    ids=["meta", "sparse"],
)
def test_tensors_without_plain_memory(make, why):
    with pytest.raises(RuntimeError, match=re.escape(f"execute: input 0 cannot be read: {why}")):
        unary(rank=make().dim()).execute([make()])


def test_cpu_scalars():
    """Tensors on the CPU all: a CPU scalar is one of them."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], contiguity=True, dtype=DataType.Float)
        s = fd.define_tensor([], [], dtype=DataType.Double, is_cpu=True)
        fd.add_output(fd.ops.cast(fd.ops.mul(x, s), DataType.Float))
    x = torch.randn(100)
    for value in (2.0, -0.5, 3.0):
        (out,) = fd.execute([x, torch.tensor(value, dtype=torch.float64)])
        assert torch.equal(out, x * value)


def test_numpy_arrays():
    x = np.arange(6, dtype=np.float32)
    x.flags.writeable = False
    (out,) = unary().execute([x])
    assert type(out) is np.ndarray and out.flags.writeable
    np.testing.assert_array_equal(out, -x)
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        fd.add_output(a)
    (same,) = fd.execute([x])
    same[0] = 5  # a copy: the array itself is read-only
    assert x[0] == 0
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        fd.add_output(fd.ops.neg(a), alias_input=a)
    with pytest.raises(RuntimeError, match="the fusion writes to input 0, but it is read-only"):
        fd.execute([x])
    y = x.copy()
    assert fd.execute([y]) == [] and y[3] == -3
    with pytest.raises(RuntimeError, match="an output has dtype __bfloat, which NumPy does not have; cast it"):
        to_bfloat().execute([x])


def to_bfloat():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.cast(fd.define_tensor([-1]), DataType.BFloat16))
    return fd


def test_numbers():
    with FusionDefinition() as fd:
        scalars = [
            fd.define_scalar(dtype) for dtype in (DataType.Bool, DataType.Int, DataType.Double, DataType.ComplexDouble)
        ]
        for scalar in scalars:
            fd.add_output(fd.ops.full([fd.define_scalar(1)], scalar, scalar_dtype(scalar, scalars)))
    for values in ([True, 3, 2.5, 1 + 2j], [np.bool_(True), np.int32(3), np.float32(2.5), np.complex64(1 + 2j)]):
        assert [out.item() for out in fd.execute(values)] == [True, 3, 2.5, 1 + 2j]
    with FusionDefinition() as fd:
        shape = fd.define_vector(2)
        fd.add_output(fd.ops.full(shape, fd.define_scalar(1.0), DataType.Float))
    assert fd.execute([[2, 3]])[0].shape == (2, 3)  # a list in the list is a vector
    with pytest.raises(RuntimeError, match="input 0 is an integer beyond 64 bits"):
        fd.execute([2**70, 1])


def scalar_dtype(scalar, scalars):
    return (DataType.Bool, DataType.Int, DataType.Double, DataType.ComplexDouble)[scalars.index(scalar)]


def test_kinds_are_not_mixed():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.add(fd.define_tensor([-1]), fd.define_tensor([-1])))
    x = torch.ones(2)
    with pytest.raises(
        RuntimeError, match="input 1 is a tensor of numpy, but those before it are of torch; pass the ten"
    ):
        fd.execute([x, x.numpy()])
    with pytest.raises(RuntimeError, match="input 1 is a tensor of torch, but those before it are of numpy"):
        fd.execute([x.numpy(), x])


@pytest.mark.parametrize("inputs", [3, "xy", torch.ones(2), None, {"a": 1}], ids=lambda value: type(value).__name__)
def test_inputs_are_a_list(inputs):
    with pytest.raises(TypeError, match=r"inputs must be a list of tensors and numbers|incompatible function"):
        unary().execute(inputs)
    with pytest.raises(TypeError, match="is neither a tensor with __dlpack__ nor a number, but a object"):
        unary().execute([object()])


def test_errors_leak_nothing():
    """Memory stays flat over many bad and good calls."""
    import resource

    fd = unary()
    good, bad = torch.ones(64, 1024), [torch.ones(1024), torch.ones(1024).half(), "x"]
    row = torch.ones(1024)

    def calls(count):
        for _ in range(count):
            fd.execute([row])
            for inputs in ([good], [bad[1]], [bad[2]], [row, 1.0], []):
                with pytest.raises((RuntimeError, TypeError)):
                    fd.execute(inputs)

    calls(300)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    references = sys.getrefcount(row)
    calls(1500)
    gc.collect()
    assert sys.getrefcount(row) == references
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB; each call's tensor has 4


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import numpy as np
import nvfuser
import nvfuser_direct as nvf
with nvf.FusionDefinition() as fd:
    x = fd.define_tensor([-1, -1], [True, True])
    fd.add_output(fd.ops.div(x, fd.ops.broadcast_in_dim(fd.ops.sum(x, 1), x.shape(), [0])))
x = np.random.default_rng(0).random((4, 5), dtype=np.float32)
(out,) = fd.execute([x])
assert type(out) is np.ndarray
np.testing.assert_allclose(out, x / x.sum(1, keepdims=True), rtol=1e-5)
fs = nvfuser.Fusion()
with nvfuser.FusionDefinition(fs) as fd:
    fd.add_output(fd.ops.uniform(0.0, 1.0, [3, 4]))
first, second = fs.execute([])[0], fs.execute([])[0]
assert type(first) is np.ndarray and first.shape == (3, 4) and not (first == second).any()
"""


def test_without_torch():
    run(WITHOUT_TORCH)
    assert nvfuser.__version__ and nvf.version()
