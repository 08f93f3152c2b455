"""The module nvfuser_direct: definition, execution, printing, errors."""

import os
import subprocess
import sys

import nvfuser_direct as nvf
import pytest
import torch
from direct_fusions import again, pointwise, softmax
from nvfuser_direct import DataType, FusionDefinition

# Definition ---------------------------------------------------------------------------------------


def test_execute():
    a, b = torch.randn(3, 5), torch.randn(3, 5)
    (out,) = pointwise().execute([a, b])
    torch.testing.assert_close(out, (a + b) * 3)
    (out,) = softmax().execute((a,))
    torch.testing.assert_close(out, a.softmax(1))


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
    tv0 = fd.define_tensor(shape=[-1, 4, 1], contiguity=[True, None, None], dtype=DataType.Half)
    tv1 = fd.define_tensor(shape=[2, 3], contiguity=[False, False], dtype=DataType.Float, stride_order=[0, 1])
    tv2 = fd.define_tensor(shape=[-1, -1, 1], contiguity=[None, True, True], dtype=DataType.Int, stride_order=[0, 1, 2])
    tv3 = fd.define_tensor(shape=[2, 3], contiguity=[None, True], dtype=DataType.Float, stride_order=[1, 0])
    s4 = fd.define_scalar(dtype=DataType.Int)
    s5 = fd.define_scalar(dtype=DataType.Bool)
    s6 = fd.define_scalar(2, dtype=DataType.Float)
    s7 = fd.define_scalar(complex(1.00000, 2.00000), dtype=DataType.ComplexDouble)
    s8 = fd.define_scalar(dtype=DataType.Int)
    s9 = fd.define_scalar(dtype=DataType.Int)
"""
    assert repr(fd).split("\n", 1)[1] == text[1:]
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


# Errors -------------------------------------------------------------------------------------------


def test_errors_of_execution():
    with pytest.raises(NotImplementedError, match="Fusion does not exist! Use `with FusionDefinition"):
        FusionDefinition().execute([])
    with FusionDefinition() as empty:
        empty.define_tensor([-1], [True])
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        empty.execute([torch.ones(2)])
    assert empty.validate_definition() == (False, "Fusion is empty!")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], [True])
        s = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.add(x, s))
    assert fd.validate_definition() == (True, None)
    x = torch.ones(3)
    fd.execute([x, 1.0])
    with pytest.raises(
        AssertionError, match=r"FusionExecutorCache already exists! Use execute\(\) to execute the fusion."
    ):
        fd.manual_execute([x, 1.0])
    for inputs, message in (
        ([2, 1.0], "Expected input 0, .*, to be an at::Tensor but got scalar 2"),
        ([x, x], "Expected input 1, .*, to be a scalar but got float tensor of rank 1"),
        (
            [x.half(), 1.0],
            "Expected input 0, .*, to be bound to a tensor of dtype float, but got a tensor of dtype __half",
        ),
        ([x, 2 + 1j], r"Scalar value \(2,1\) is not compatible with the expected data type: double."),
        ([torch.ones(2, 3), 1.0], "to be bound to a tensor of rank 1, but got a tensor of rank 2"),
        ([torch.ones(6)[::2], 1.0], "'s stride mismatch with contiguity info."),
        ([x], "KernelArgumentHolder contains less argument than kernel's input."),
        ([x, 1.0, 2.0], "contains more arguments than kernel's input. The fusion has 2 inputs, got 3"),
    ):
        with pytest.raises(RuntimeError, match=message):
            fd.execute(inputs)
    with pytest.raises(RuntimeError, match="Unrecognized enable_option: nonsense"):
        fd.execute([x, 1.0], _enable_options=["nonsense"])
    assert (
        fd.execute([x, 1.0], _enable_options=["fuse_matmul"], _disable_options=["matmul_expr_eval", "fma"])[0][0] == 2
    )
    with pytest.raises(RuntimeError, match='there is no device "moon"'):
        fd.execute([x, 1.0], device="moon")
    with pytest.raises(RuntimeError, match="CUDA device 250 cannot be used"):
        fd.execute([x, 1.0], device=250)


def test_errors_of_definition():
    with pytest.raises(RuntimeError, match="no fusion is being defined; use `with FusionDefinition"):
        nvf.ops.add(1.0, 2.0)
    other = pointwise()
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], True)
        for define, error, message in (
            (
                lambda: fd.define_tensor([-2]),
                RuntimeError,
                r"value -2 at index 0 was neither symbolic\(-1\), zero_element\(0\), broadcast\(1\), or static\(>1\).",
            ),
            (
                lambda: fd.define_tensor([2, 2], [True] * 3),
                RuntimeError,
                r"Length of contiguity argument \(3\) must match that of shape argument \(2\)",
            ),
            (
                lambda: fd.define_tensor([2, 2], True, stride_order=[0, 0]),
                RuntimeError,
                "duplicated stride_order entries",
            ),
            (
                lambda: fd.define_tensor([2, 2], True, stride_order=[0, 2]),
                RuntimeError,
                "stride_order argument is out of range",
            ),
            (lambda: fd.define_tensor(sizes=[2], strides=[-1]), RuntimeError, "neither may be negative"),
            (lambda: fd.define_tensor([2], is_cpu=True), RuntimeError, "is_cpu is for a CPU scalar"),
            (lambda: fd.define_tensor("x"), TypeError, "incompatible function arguments"),
            (
                lambda: fd.define_tensor([2], [True], DataType.Float4_e2m1fn),
                NotImplementedError,
                "need a Blackwell GPU",
            ),
            (
                lambda: fd.define_scalar(1j, DataType.Double),
                RuntimeError,
                r"Scalar value \(0,1\) is not compatible with the expected data type: double.",
            ),
            (lambda: fd.define_scalar("x"), TypeError, "incompatible function arguments|a constant is a bool"),
            (
                lambda: fd.add_output(fd.define_scalar(1.0)),
                RuntimeError,
                "Non-TensorView outputs are not supported at this point",
            ),
            (lambda: fd.add_output(other.fusion.outputs()[0]), RuntimeError, "belongs to another fusion"),
            (lambda: fd.ops.neg(other.fusion.outputs()[0]), RuntimeError, "belongs to another fusion"),
            (lambda: fd.add_output(3), TypeError, "a TensorView or a Val is needed"),
            (lambda: fd.ops.permute(x, [0]), RuntimeError, "same length as input"),
            (lambda: fd.ops.sum(x, []), RuntimeError, "No reduction axis specified"),
            (lambda: fd.ops.nv_block_quantize(x), NotImplementedError, "Blackwell GPU"),
            (lambda: fd.fusion.add_input(x), RuntimeError, "addInput|already"),
            (lambda: nvf.multidevice.DeviceMesh([0]), NotImplementedError, "several GPUs are not supported"),
            (lambda: nvf.nvf_cutlass.grouped_mm(), NotImplementedError, "sm_100"),
            (lambda: nvf.execute_with_dtensors(fd, []), NotImplementedError, "several GPUs"),
        ):
            with pytest.raises(error, match=message):
                define()
    with pytest.raises(ZeroDivisionError), FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]))
        raise ZeroDivisionError
    assert fd.fusion is None and fd.validate_definition()[0] is False
    with fd:  # defined anew
        fd.add_output(fd.ops.neg(fd.define_tensor([-1])))
    assert fd.execute([torch.ones(2)])[0][0] == -1
    with fd:
        fd.add_output(fd.ops.abs(fd.define_tensor([-1])))
    assert fd.execute([-torch.ones(2)])[0][0] == 1
    with pytest.raises(RuntimeError, match="no fusion is being defined"):
        nvf.define_tensor([2])


def test_wrong_arguments_are_refused():
    """Every operation with one and two arguments of every kind: a result, or an error of the user's kind."""
    refused = 0
    for name in sorted(vars(nvf.ops)):
        if name.startswith("_"):
            continue
        operation = getattr(nvf.ops, name)
        with FusionDefinition() as fd:
            matrix, row = fd.define_tensor([-1, -1], True), fd.define_tensor([-1], True, DataType.Int)
            values = [matrix, row, fd.define_scalar(DataType.Double), fd.define_tensor([], True), None, 0, -1, 7, 2**62]
            values += [-(2**63), True, 1.5, float("nan"), 1j, [], [0], [0, 0], [-5], [True, False], [matrix], [None]]
            values += [
                "x",
                b"y",
                object(),
                DataType.Half,
                DataType.Null,
                [[1]],
                (0, 1),
                {},
                {1},
                range(3),
                torch.ones(2),
            ]
            for arguments in [(), *((v,) for v in values), *((matrix, v) for v in values), *((row, v) for v in values)]:
                try:
                    operation(*arguments)
                except nvf.InternalError:
                    raise AssertionError(f"{name}{arguments}") from None
                except (nvf.UserError, TypeError, NotImplementedError):
                    refused += 1
            with pytest.raises((TypeError, NotImplementedError)):
                operation(matrix, nonsense=1)
    assert refused > 10000


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


# The package --------------------------------------------------------------------------------------

SMALL = """
import sys
import nvfuser_direct
from nvfuser_direct import DataType, FusionDefinition, multidevice, ParallelType
from nvfuser_direct import execute_with_dtensors, compute_tensor_descriptor
assert "torch" not in sys.modules
assert nvfuser_direct.version().startswith("0.2.36") and nvfuser_direct.__version__ >= "0.2.34"
from nvfuser_direct.nvfuser_direct_version import Version
assert Version(nvfuser_direct.version()) >= Version("0.2.23")
for name in ("ComplexDouble ComplexFloat Double Float Half BFloat16 Int Int32 Bool Null UInt64 Index Float4_e2m1fn "
             "Float4_e2m1fn_x2 Float8_e5m2 Float8_e4m3fn Float8_e8m0fnu").split():
    getattr(DataType, name)
"""


def test_importing_needs_no_torch():
    done = subprocess.run(
        [sys.executable, "-c", SMALL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_names():
    from nvfuser_direct import pytorch_utils

    assert all(hasattr(nvf, name) for name in nvf.__all__)
    assert pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.bfloat16) == DataType.BFloat16
    assert pytorch_utils.python_scalar_to_nvfuser_dtype(True) == DataType.Bool
    with pytest.raises(KeyError):
        pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.uint8)
    assert getattr(nvf.MemoryType, "global").name == "global"
    params = nvf.MatmulParams()
    params.tile_sizes.cta_tile = nvf.GemmTile(64, 64, 32)
    assert params != nvf.MatmulParams() and nvf.LaunchParams().bdimx == -1
    compile_params = nvf.CompileParams(maxrregcount=64, index_type=DataType.Int32)
    assert compile_params.maxrregcount == 64 and compile_params.index_type == DataType.Int32


def test_every_operation_is_there():
    names = [
        "ceil",
        "floor",
        "frac",
        "relu",
        "round",
        "silu",
        "trunc",
        "set",
        "segment_set",
        "abs",
        "neg",
        "sign",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cos",
        "cosh",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "erf",
        "erfc",
        "erfinv",
        "erfcinv",
        "lgamma",
        "log",
        "log10",
        "log1p",
        "log2",
        "reciprocal",
        "rsqrt",
        "sqrt",
        "sigmoid",
        "isfinite",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "isreal",
        "signbit",
        "logical_not",
        "bitwise_not",
        "real",
        "imag",
        "rand_like",
        "randn_like",
        "add",
        "sub",
        "mul",
        "minimum",
        "maximum",
        "pow",
        "fmod",
        "remainder",
        "mod",
        "div",
        "truediv",
        "atan2",
        "nextafter",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "logical_and",
        "logical_or",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_left_shift",
        "bitwise_right_shift",
        "gcd",
        "logical_right_shift",
        "complex",
        "where",
        "lerp",
        "addcmul",
        "clamp",
        "threshold",
        "sum",
        "prod",
        "max",
        "min",
        "var",
        "var_mean",
        "welford",
        "cumsum",
        "cumprod",
        "cummin",
        "cummax",
        "cast",
        "broadcast",
        "broadcast_in_dim",
        "expand",
        "reshape",
        "permute",
        "squeeze",
        "slice",
        "pad",
        "cat",
        "stride_order",
        "size",
        "shape",
        "index_select",
        "select",
        "gather",
        "take_along_axis",
        "scatter",
        "embedding_fwd",
        "iota",
        "full",
        "normal",
        "uniform",
        "triu",
        "topk",
        "argsort",
        "matmul",
        "linear",
        "grouped_mm",
        "scaled_mm",
        "sdpfa_fwd",
        "sdpfa_bwd",
        "cutlass_nvfp4_grouped_mm",
        "nv_block_quantize",
        "nv_grouped_block_quantize",
        "preprocess_grouped_matmul_input_sf",
    ]
    missing = [name for name in names if not getattr(nvf.ops, name, None) or not getattr(nvf.ops, name).__doc__]
    assert not missing
