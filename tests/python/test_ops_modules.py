"""Every operation through the modules nvfuser and nvfuser_direct: values, dtypes and shapes beside PyTorch, and the
printed definition, which run again gives the same bits and strides. Strides of results beside PyTorch's.
"""

import pytest
import torch
from nvf import DType, op_names
from nvfuser import DataType
from nvfuser_direct import FusionDefinition
from operation_dtypes import sample
from operation_modules import MODULES, ModuleBatch
from operation_pointwise import POINTWISE, accepted
from test_ops_pytorch import RANDOM, cases_of

SEVERAL = (DType.Float, DType.Half, DType.Int, DType.Bool, DType.ComplexFloat)
NOT_RUN = {"cutlass_nvfp4_grouped_mm"}  # refused, which its case checks through the C interface


def cases_by_name(dtype):
    return [(name, case) for name, case in cases_of(dtype) if name not in NOT_RUN]


@pytest.mark.parametrize("dtype", SEVERAL, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("module", MODULES)
def test_operations_and_their_printed_definitions(module, dtype):
    troubles = []
    cases = cases_by_name(dtype)
    for begin in range(0, len(cases), 64):
        batch = ModuleBatch(module)
        for name, case in cases[begin : begin + 64]:
            batch.operation = name
            case(batch)
        troubles += batch.run() + batch.rerun()
    assert not troubles, "\n" + "\n".join(troubles)


def test_all_operations_are_among_them():
    covered = {name for dtype in SEVERAL for name, _ in cases_by_name(dtype)} | set(RANDOM) | NOT_RUN
    assert sorted(covered - {"scaled_mm"}) == [name for name in op_names() if name not in ("scaled_mm",)]


# Strides --------------------------------------------------------------------------------------------


def in_memory_order(tensor, order):
    """The same elements with axis order[0] outermost in memory, then order[1], …"""
    back = [order.index(axis) for axis in range(tensor.dim())]
    return tensor.permute(order).contiguous().permute(back)


ORDERS = ((0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2))


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_strides_of_pointwise_results(order):
    """Dense operands of one memory order give a result of that order, as PyTorch's do."""
    troubles = []
    for dtype in (DType.Float, DType.Int):
        x = in_memory_order(sample(dtype, "small", 0).reshape(2, 3, 4), list(order))
        names = [name for name, spec in POINTWISE.items() if dtype in accepted(spec)]
        with FusionDefinition() as fd:
            operands = [fd.from_pytorch(x) for _ in range(3)]
            for name in names:
                fd.add_output(getattr(fd.ops, name)(*operands[: POINTWISE[name].arity]))
        for name, result in zip(names, fd.execute([x, x, x]), strict=True):
            if result.stride() != x.stride():
                troubles.append(f"{name} of {dtype.name}: strides {result.stride()}, not {x.stride()}")
    assert not troubles, "\n" + "\n".join(troubles)


def strides_of(define, *tensors):
    with FusionDefinition() as fd:
        fd.add_output(define(fd, *(fd.from_pytorch(x) for x in tensors)))
    (out,) = fd.execute(list(tensors))
    return out


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_strides_of_other_results(order):
    x = in_memory_order(torch.randn(2, 3, 4), list(order))
    row = torch.randn(4)
    for define, expected, tensors in (
        (lambda fd, a, b: fd.ops.add(a, b), x + row, (x, row)),
        (lambda fd, a: fd.ops.mul(a, 2.0), x * 2.0, (x,)),
        (lambda fd, a: fd.ops.cast(a, DataType.Half), x.half(), (x,)),
        (lambda fd, a: fd.ops.permute(a, [2, 0, 1]), x.permute(2, 0, 1), (x,)),
        (lambda fd, a: fd.ops.set(a), x.clone(), (x,)),
        # PyTorch's is row-major, ours follows the memory order of what it reads.
        (lambda fd, a: fd.ops.softmax(a, -1), in_memory_order(x.softmax(-1), list(order)), (x,)),
    ):
        out = strides_of(define, *tensors)
        torch.testing.assert_close(out, expected)
        assert out.stride() == expected.stride(), (out.stride(), expected.stride())


def test_strides_without_an_order_are_row_major():
    """Operands that lie differently promise nothing; and gaps are not kept."""
    x = torch.randn(3, 4)
    for a, b in ((x, x.t().contiguous().t()), (x[:, ::2], x[:, ::2])):
        out = strides_of(lambda fd, p, q: fd.ops.add(p, q), a, b)
        torch.testing.assert_close(out, a + b)
        assert out.is_contiguous() or out.t().is_contiguous()
