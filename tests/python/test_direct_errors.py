"""The module nvfuser_direct: what wrong programs and calls say."""

import numpy as np
import nvfuser_direct as nvf
import pytest
from direct_fusions import pointwise
from nvfuser_direct import DataType, FusionDefinition


def ones(*shape):
    return np.ones(shape, np.float32)


def test_errors_of_execution():
    with pytest.raises(NotImplementedError, match="Fusion does not exist! Use `with FusionDefinition"):
        FusionDefinition().execute([])
    with FusionDefinition() as empty:
        empty.define_tensor([-1], [True])
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        empty.execute([ones(2)])
    assert empty.validate_definition() == (False, "Fusion is empty!")
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1], [True])
        s = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.add(x, s))
    assert fd.validate_definition() == (True, None)
    x = ones(3)
    fd.execute([x, 1.0])
    with pytest.raises(
        AssertionError, match=r"FusionExecutorCache already exists! Use execute\(\) to execute the fusion."
    ):
        fd.manual_execute([x, 1.0])
    for inputs, message in (
        ([2, 1.0], "Expected input 0, .*, to be an at::Tensor but got scalar 2"),
        ([x, x], "Expected input 1, .*, to be a scalar but got float tensor of rank 1"),
        (
            [x.astype(np.float16), 1.0],
            "Expected input 0, .*, to be bound to a tensor of dtype float, but got a tensor of dtype __half",
        ),
        ([x, 2 + 1j], r"Scalar value \(2,1\) is not compatible with the expected data type: double."),
        ([ones(2, 3), 1.0], "to be bound to a tensor of rank 1, but got a tensor of rank 2"),
        ([ones(6)[::2], 1.0], "'s stride mismatch with contiguity info."),
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
            (lambda: nvf.nvf_cutlass.grouped_mm(), NotImplementedError, "sm_100"),
            (lambda: nvf.execute_with_dtensors(fd, []), ValueError, "DTensors of one device mesh are needed"),
        ):
            with pytest.raises(error, match=message):
                define()
    with pytest.raises(ZeroDivisionError), FusionDefinition() as fd:
        fd.add_output(fd.define_tensor([-1]))
        raise ZeroDivisionError
    assert fd.fusion is None and fd.validate_definition()[0] is False
    with fd:  # defined anew
        fd.add_output(fd.ops.neg(fd.define_tensor([-1])))
    assert fd.execute([ones(2)])[0][0] == -1
    with fd:
        fd.add_output(fd.ops.abs(fd.define_tensor([-1])))
    assert fd.execute([-ones(2)])[0][0] == 1
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
                ones(2),
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
