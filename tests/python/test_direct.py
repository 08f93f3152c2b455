"""The module nvfuser_direct: definition, execution, printing."""

import os
import re
import subprocess
import sys

import nvfuser_direct as nvf
import pytest
import torch
from direct_fusions import again, pointwise, softmax
from nvfuser_direct import DataType, FusionDefinition, pytorch_utils


def test_execute():
    a, b = torch.randn(3, 5), torch.randn(3, 5)
    (out,) = pointwise().execute([a, b])
    torch.testing.assert_close(out, (a + b) * 3)
    (out,) = softmax().execute((a,))
    torch.testing.assert_close(out, a.softmax(1))


def test_dtypes_of_pytorch():
    assert pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.bfloat16) == DataType.BFloat16
    assert pytorch_utils.python_scalar_to_nvfuser_dtype(True) == DataType.Bool
    with pytest.raises(KeyError):
        pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.uint8)


def test_foreign_attributes_before_the_definition():
    fd = FusionDefinition()
    fd._selected_device = None
    with fd:
        fd.add_output(fd.ops.neg(fd.define_tensor([-1], [True])))
    x = torch.randn(4)
    (out,) = fd.execute(
        (x,), device=fd._selected_device, save_repro_inputs=None, _enable_options=[], _disable_options=[]
    )
    assert torch.equal(out, -x)


def test_text_defines_it_again():
    x = torch.randn(4, 6)
    for fd, inputs in ((pointwise(), [x, x]), (softmax(), [x])):
        text = repr(fd)
        assert text.startswith(
            "def nvfuser_fusion(fd : FusionDefinition) -> None :\n    tv0 = fd.define_tensor(shape=[-1, -1]"
        )
        copy = again(fd)
        assert repr(copy) == text and copy.fusion == fd.fusion
        for one, two in zip(fd.execute(inputs), copy.execute(inputs), strict=True):
            assert torch.equal(one, two) and one.stride() == two.stride()


def test_definition_of_tensors():
    with FusionDefinition() as fd:
        fd.define_tensor([-1, 4, 1], [True, None, None], DataType.Half)
        fd.define_tensor(shape=torch.Size([2, 3]), contiguity=False, stride_order=(0, 1))
        fd.define_tensor(sizes=[2, 3, 1], strides=[1, 2, 6], dtype=DataType.Int)
        fd.define_tensor(sizes=[2, 3], strides=[0, 1], static_sizes=True)
        fd.define_scalar(DataType.Int)
        fd.define_scalar(None, DataType.Bool)
        fd.define_scalar(2, dtype=DataType.Float)
        fd.define_scalar(1 + 2j)
        assert [type(s) for s in fd.define_vector(2)] == [nvf.Val, nvf.Val]
    text = """
    tv0 = (shape=[-1, 4, 1], contiguity=[True, None, None], dtype=DataType.Half, is_cpu=False)
    tv1 = (shape=[2, 3], contiguity=[False, False], dtype=DataType.Float, is_cpu=False, stride_order=[0, 1])
    tv2 = (shape=[-1, -1, 1], contiguity=[None, True, True], dtype=DataType.Int, is_cpu=False, stride_order=[0, 1, 2])
    tv3 = (shape=[2, 3], contiguity=[None, True], dtype=DataType.Float, is_cpu=False)
    c = (dtype=DataType.Int)
    c = (dtype=DataType.Bool)
    c = (dtype=DataType.Int)
    c = (dtype=DataType.Int)
"""
    printed = re.sub(r"\bc\d+\b", "c", re.sub(r"fd\.define_(tensor|scalar)", "", repr(fd)))
    assert printed.split("\n", 1)[1] == text[1:]  # constants that nothing reads are not there
    assert len(fd.fusion.inputs()) == 8  # constants are none
    assert again(fd).fusion == fd.fusion


@pytest.mark.parametrize(
    ("sizes", "strides", "contiguity", "stride_order"),
    [
        ([2, 3], [3, 1], [True, True], [1, 0]),
        ([2, 3], [1, 2], [True, True], [0, 1]),
        ([2, 3], [6, 2], [True, False], [1, 0]),
        ([2, 1, 3], [3, 3, 1], [True, None, True], [2, 1, 0]),
        ([4, 3], [0, 1], [None, True], [1, 0]),
        ([3, 4], [1, 0], [True, None], [1, 0]),
        ([], [], [], []),
    ],
)
def test_tensor_descriptor(sizes, strides, contiguity, stride_order):
    assert nvf.compute_tensor_descriptor(torch.Size(sizes), tuple(strides)) == (contiguity, stride_order)


def test_from_pytorch():
    x = torch.randn(4, 6).t()
    for static in (False, True):
        with FusionDefinition() as fd:
            fd.add_output(fd.ops.neg(fd.from_pytorch(x, static_sizes=static)))
        (out,) = fd.execute([x])
        assert torch.equal(out, -x) and out.stride() == x.stride()
    with pytest.raises(RuntimeError, match="Tried to bind to a constant value: 6 as 5"):
        fd.execute([torch.randn(4, 5).t()])
    with FusionDefinition() as fd, pytest.raises(ValueError, match="Found unsupported device meta, only scalar CPU"):
        fd.from_pytorch(torch.empty(2, device="meta"))


def test_outputs_in_place_and_twice():
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        b = fd.define_tensor([-1], [True])
        updated = fd.ops.add(a, 1.0)
        fd.add_output(updated, alias_input=a)
        fd.add_output(fd.ops.mul(updated, 2.0))
        fd.add_output(b)
        fd.add_output(b)
    assert "fd.add_output(tv2, tv0)" in repr(fd)
    a, b = torch.arange(4.0), torch.randn(4)
    outputs = fd.execute([a, b])
    assert torch.equal(a, torch.arange(4.0) + 1) and torch.equal(outputs[0], a * 2)
    assert len(outputs) == 3 and outputs[1].data_ptr() == outputs[2].data_ptr() == b.data_ptr()
    fd.validate([a, b])


def test_stride_order():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1, -1], True)
        fd.add_output(fd.ops.stride_order(x, [0, 2, 1]))
    x = torch.randn(2, 3, 4)
    (out,) = fd.execute([x])
    assert torch.equal(out, x) and out.stride() == (1, 8, 2)
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], True)
        for order, message in (
            ([0], "has 1 entries for a tensor of rank 2"),
            ([0, 2], "argument is out of range"),
            ([1, 1], "duplicated stride_order"),
        ):
            with pytest.raises(RuntimeError, match=message):
                fd.ops.stride_order(x, order)


def test_random_operations_follow_torch():
    def draw(**seeds):
        with FusionDefinition() as fd:
            values = {name: fd.define_scalar(seed) for name, seed in seeds.items()}
            shape = [fd.define_scalar(5), fd.define_scalar(9)]
            fd.add_output(
                fd.ops.uniform(fd.define_scalar(0.0), fd.define_scalar(1.0), shape, dtype=DataType.Float, **values)
            )
        return fd

    stateful = draw()
    torch.manual_seed(7)
    draws = [stateful.execute([])[0] for _ in range(3)]
    for offset, one in enumerate(draws):
        assert one.shape == (5, 9) and torch.equal(one, draw(rng_seed=7, rng_offset=offset).execute([])[0])
    torch.manual_seed(7)
    state = None
    for one in draws:
        state = torch.get_rng_state() if one is draws[1] else state
        assert torch.equal(stateful.execute([])[0], one)
    torch.set_rng_state(state)
    assert torch.equal(stateful.execute([])[0], draws[1])
    torch.rand(1)
    assert not any(torch.equal(stateful.execute([])[0], one) for one in draws)


DRAW = """
import numpy, nvfuser
fs = nvfuser.Fusion()
with nvfuser.FusionDefinition(fs) as fd:
    fd.add_output(fd.ops.uniform(0.0, 1.0, [4]))
print([fs.execute([])[0].tolist() for _ in range(3)])
"""


def test_random_operations_without_a_compiler():
    """The interpreter draws what kernels draw, and goes on with each call."""

    def printed(**environment):
        env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        done = subprocess.run([sys.executable, "-c", DRAW], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return eval(done.stdout)

    compiled, interpreted = printed(), printed(PATH="", CXX="/nowhere")
    assert compiled[0] != compiled[1] != compiled[2]
    torch.testing.assert_close(torch.tensor(interpreted), torch.tensor(compiled))


def test_names_of_parameters():
    with FusionDefinition() as fd:
        a, b = fd.define_tensor([-1, -1], True), fd.define_tensor([-1, -1], True)
        rows = fd.define_tensor([-1], True, DataType.Int)
        for one, two in (
            (fd.ops.sum(a, axes=[1]), fd.ops.sum(arg=a, dims=(1,), keepdim=False)),
            (fd.ops.sum(a, 1, True), fd.ops.sum(a, dim=1, keep_dim=True)),
            (fd.ops.matmul(a, b), fd.ops.matmul(arg1=a, arg2=b)),
            (fd.ops.linear(a, b), fd.ops.linear(arg1=a, arg2=b, bias=None)),
            (fd.ops.embedding_fwd(rows, a), fd.ops.embedding_fwd(input=rows, weight=a)),
        ):
            assert one.ndim == two.ndim and one.dtype() == two.dtype()
        with pytest.raises(
            RuntimeError, match="chunk: 4611686018427387904 pieces were asked for, but there are at most"
        ):
            fd.ops.chunk(a, 2**62)
