"""Fusions that the tests of nvfuser_direct share."""

import nvfuser_direct as nvf
from nvfuser_direct import DataType, FusionDefinition, ParallelType


def pointwise(rank=2, dtype=DataType.Float):
    with FusionDefinition() as fd:
        a = fd.define_tensor(shape=[-1] * rank, contiguity=[True] * rank, dtype=dtype)
        b = fd.define_tensor(shape=[-1] * rank, contiguity=True, dtype=dtype)
        fd.add_output(fd.ops.mul(fd.ops.add(a, b), 3.0))
    return fd


def softmax():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=(-1, -1), contiguity=(True, True))
        peak = fd.ops.broadcast_in_dim(fd.ops.max(x, 1), shape=x.shape(), broadcast_dims=[0])
        e = fd.ops.exp(fd.ops.sub(x, peak))
        total = fd.ops.broadcast_in_dim(fd.ops.sum(e, [1]), x.shape(), [0])
        fd.add_output(fd.ops.mul(e, fd.ops.reciprocal(total)))
    return fd


def again(fd):
    """The definition that the text of `fd` makes."""
    scope = dict(vars(nvf))
    exec(repr(fd), scope)
    with FusionDefinition() as copy:
        scope["nvfuser_fusion"](copy)
    return copy


def scheduled_by_hand(rows=8):
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        y = fd.ops.add(x, fd.ops.exp(x))
        z = fd.ops.sum(y, [1])
        fd.add_output(z)
        first = x.cache_after()
        z.split(0, rows)
        z.split(-1, 4)
        partial = z.rfactor([-2])
        fd.sched.transform_like(partial)
        z.axis(0).parallelize(ParallelType.grid_x)
        fd.sched.parallelize_like(z)
        fd.sched.inline_most()
        assert first.ndim == 2 and isinstance(z.axis(0), nvf.IterDomain)
    return fd
