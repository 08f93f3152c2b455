"""Fusions that the tests of the C interface share."""

import torch
from nvf import DType, Fusion


def example():
    """The first example of the Python documentation."""
    fusion = Fusion()
    t0 = fusion.tensor([-1, 1, -1], contiguous=[True, True, True])
    t1 = fusion.tensor(3)
    c0 = fusion.constant(3.0)
    t2 = fusion.op("add", t0, t1)
    t3 = fusion.op("mul", t2, c0)
    fusion.output(fusion.op("sum", t3, [-1], False, DType.Float))
    return fusion


def chain():
    """relu(a * b + 1) and its sum."""
    fusion = Fusion()
    a, b = fusion.tensor(2), fusion.tensor(2)
    y = fusion.op("relu", fusion.op("add", fusion.op("mul", a, b), 1.0))
    fusion.output(y, fusion.op("sum", y, -1))
    return fusion


def check_chain(fusion, a, b, **options):
    y, total = fusion.execute(a, b, **options)
    expected = torch.relu(a * b + 1.0)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(total, expected.sum(-1))
