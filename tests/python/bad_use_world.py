"""What the bad uses of bad_uses_*.py are made of: open definitions of both modules, compiled fusions, odd tensors.

`scope()` gives the names that their expressions use. Everything is made once: a bad use leaves it as it was.
"""

import numpy
import nvfuser
import nvfuser_direct as nvf
import torch
from nvfuser_direct import DataType, FusionDefinition, ParallelType, SchedulerType, pytorch_utils


def defined(define, **inputs):
    """A FusionDefinition with these inputs, (shape, dtype) each; `define` gives its outputs."""
    with FusionDefinition() as fd:
        values = [
            fd.define_tensor(*one) if isinstance(one, tuple) else fd.define_scalar(one) for one in inputs.values()
        ]
        for output in define(fd, *values):
            fd.add_output(output)
    return fd


VECTOR = ([-1], [True])
MATRIX = ([-1, -1], [True, True])


def warm(fd, *inputs):
    fd.execute(list(inputs))
    return fd


def fusions():
    """Fusions that have run, and take arguments that do not fit."""
    row = torch.ones(3)
    return {
        "neg": warm(defined(lambda fd, a: [fd.ops.neg(a)], a=VECTOR), row),
        "scaled": warm(defined(lambda fd, a, s: [fd.ops.mul(a, s)], a=VECTOR, s=DataType.Double), row, 2.0),
        "counted": warm(defined(lambda fd, n: [fd.ops.full([n], 1.0, DataType.Float)], n=DataType.Int), 3),
        "pair": warm(defined(lambda fd, a, b: [fd.ops.add(a, b)], a=VECTOR, b=VECTOR), row, row),
        "fixed": warm(defined(lambda fd, a: [fd.ops.neg(a)], a=([2, 3], [True, True])), torch.ones(2, 3)),
        "strided": warm(defined(lambda fd, a: [fd.ops.neg(a)], a=MATRIX), torch.ones(2, 3)),
        "expanded": warm(defined(lambda fd, a: [fd.ops.neg(a)], a=([4], [None])), torch.ones(1).expand(4)),
        "reshaped": warm(defined(lambda fd, a: [fd.ops.reshape(a, [2, -1])], a=VECTOR), torch.ones(4)),
        "divided": defined(
            lambda fd, m, n: [fd.ops.full([fd.ops.div(m, n)], 1.0, DataType.Float)], m=DataType.Int, n=DataType.Int
        ),
        "indexed": defined(lambda fd, a, i: [fd.ops.index_select(a, i, 0)], a=VECTOR, i=([-1], [True], DataType.Int)),
        "gathered": defined(
            lambda fd, a, i: [fd.ops.neg(fd.ops.gather(a, i, 0))], a=VECTOR, i=([-1], [True], DataType.Int)
        ),
        "taken": defined(
            lambda fd, a, i: [fd.ops.neg(fd.ops.take_along_axis(a, i, 0))], a=VECTOR, i=([-1], [True], DataType.Int)
        ),
        "selected": defined(lambda fd, a, i: [fd.ops.neg(fd.ops.select(a, i, 0))], a=MATRIX, i=DataType.Int),
        "embedded": defined(
            lambda fd, a, i: [fd.ops.neg(fd.ops.embedding_fwd(i, a))], a=MATRIX, i=([-1], [True], DataType.Int)
        ),
        "scattered": defined(lambda fd, a, i: [fd.ops.scatter(a, i, a, 0)], a=VECTOR, i=([-1], [True], DataType.Int)),
        "products": warm(
            defined(lambda fd, a, b: [fd.ops.matmul(a, b)], a=MATRIX, b=MATRIX), torch.ones(2, 3), torch.ones(3, 2)
        ),
        "topped": defined(lambda fd, a, k: [fd.ops.topk(a, k)[0]], a=VECTOR, k=DataType.Int),
        "half_out": defined(lambda fd, a: [fd.ops.cast(a, DataType.BFloat16)], a=VECTOR),
        "updated": updated(),
        "ran": defined_old(),
    }


def updated():
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        fd.add_output(fd.ops.add(a, 1.0), alias_input=a)
    return fd


def defined_old():
    fusion = nvfuser.Fusion()
    with nvfuser.FusionDefinition(fusion) as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor(1)))
    fusion.execute([torch.ones(3)])
    return fusion


def old_without_outputs():
    fusion = nvfuser.Fusion()
    with nvfuser.FusionDefinition(fusion) as fd:
        fd.define_tensor(1)
    return fusion


def undefined():
    return FusionDefinition()


def empty():
    with FusionDefinition() as fd:
        fd.define_tensor([-1], [True])
    return fd


def finished():
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        fd.add_output(fd.ops.neg(a))
    return fd, a


def define_after_the_end():
    fd, _ = finished()
    fd.define_tensor([-1])


def operate_after_the_end():
    fd, a = finished()
    fd.ops.neg(a)


def add_output_after_the_end():
    fd, a = finished()
    fd.add_output(a, "x")


def enter_twice():
    with FusionDefinition() as fd, fd:
        pass


def add_no_input():
    fd, a = finished()
    fd.fusion.add_input(a)


# Odd tensors ----------------------------------------------------------------------------------------


class BrokenDlpack:
    def __dlpack__(self, **_):
        return 3

    def __dlpack_device__(self):
        return (1, 0)


class RaisingDlpack:
    def __dlpack__(self, **_):
        raise BufferError("this tensor is not for export")

    def __dlpack_device__(self):
        return (1, 0)


class WrongDlpack:
    def __dlpack__(self, **_):
        return torch.ones(2).to_sparse()

    def __dlpack_device__(self):
        return "cpu"


class Foreign:
    """A tensor of a framework that nobody knows."""

    def __dlpack__(self, **_):
        return torch.ones(2).__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def odd_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.ones(2))
    read_only = numpy.ones(3, dtype=numpy.float32)
    read_only.flags.writeable = False
    return {
        "fake": fake,
        "sparse": torch.ones(2).to_sparse(),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8),
        "read_only": read_only,
    }


# Schedules ------------------------------------------------------------------------------------------


def scheduled(schedule):
    """A row sum of exp, scheduled: `schedule(exp, sum)`."""
    with FusionDefinition() as fd:
        a = fd.define_tensor(*MATRIX)
        tv = fd.ops.exp(a)
        total = fd.ops.sum(tv, [1])
        fd.add_output(total)
        schedule(tv, total)
    return fd


def lowered(schedule):
    """Its kernel for a GPU, where the schedule is looked at in full."""
    scheduled(schedule).fusion.print_kernel()


def launched(threads):
    fd = scheduled(lambda tv, total: None)
    launch = nvf.LaunchParams()
    launch.bdimx = threads
    executor = nvf.KernelExecutor()
    executor.compile(fd.fusion, [torch.ones(4, 6)], launch)
    executor.run([torch.ones(4, 6)], launch)


_by_hand = []


def by_hand():
    """One that manual_execute has run."""
    if not _by_hand:
        _by_hand.append(scheduled(lambda tv, total: None))
        _by_hand[0].manual_execute([torch.ones(4, 6)])
    return _by_hand[0]


def bound():
    """A tensor whose first axis is bound."""
    with FusionDefinition() as fd:
        tv = fd.ops.exp(fd.define_tensor(*MATRIX))
        tv.axis(0).parallelize(ParallelType.block_x)
    return tv


def pointwise_params():
    with FusionDefinition() as fd:
        a = fd.define_tensor(*VECTOR)
        fd.add_output(fd.ops.neg(a))
    return nvf.schedule.compute_heuristics(fd.fusion, SchedulerType.pointwise, [torch.ones(2)])


def graph():
    fd, _ = finished()
    return nvf.idm.IdModel(fd.fusion).maybe_build_graph(nvf.IdMappingMode.exact)


def product_fusion():
    return defined(lambda fd, a, b: [fd.ops.matmul(a, b)], a=MATRIX, b=MATRIX).fusion


_compiled = []


def compiled():
    """A KernelExecutor with a kernel."""
    if not _compiled:
        fd = defined(lambda fd, a: [fd.ops.neg(a)], a=VECTOR)
        _compiled.append(nvf.KernelExecutor())
        _compiled[0].compile(fd.fusion, [torch.ones(2)])
    return _compiled[0]


def profile_nothing():
    with nvf.PythonProfiler() as profiler:
        pass
    return profiler.profile


def forget_profiles():
    nvf.reset_profiler()
    return True


# The scope ------------------------------------------------------------------------------------------


def values_of(fd):
    """Values of the definition that is open while bad uses run."""
    x = fd.define_tensor(*MATRIX)
    tv = fd.ops.exp(x)
    return {
        "x": x,
        "tv": tv,
        "total": fd.ops.sum(tv, [1]),
        "neg_x": fd.ops.neg(x),
        "half_x": fd.ops.cast(x, DataType.Half),
        "v": fd.define_tensor(*VECTOR),
        "cube": fd.define_tensor([-1, 3, 4], True),
        "i": fd.define_tensor([-1, -1], True, DataType.Int),
        "n": fd.define_tensor([-1], True, DataType.Int),
        "b": fd.define_tensor([-1, -1], True, DataType.Bool),
        "c": fd.define_tensor([-1, -1], True, DataType.ComplexFloat),
        "h": fd.define_tensor([-1, -1], True, DataType.Half),
        "z": fd.define_tensor([], True),
        "q": fd.define_tensor([2, 3], True),
        "one": fd.define_tensor([2, 1], True),
        "s": fd.define_scalar(DataType.Double),
        "heads": fd.define_tensor([-1] * 4, True),
    }


def open_definitions(scope, guards):
    """Definitions that stay open: `fd` of nvfuser_direct, `old` of nvfuser."""
    with FusionDefinition() as others:
        scope["other"] = others.define_tensor(*MATRIX)
    old_fusion, foreign = nvfuser.Fusion(), nvfuser.Fusion()
    with nvfuser.FusionDefinition(foreign) as one:
        scope["old_other"] = one.define_tensor(2)
        one.add_output(scope["old_other"])
    scope["old_fusion"] = old_fusion
    scope["old"] = guards.enter_context(nvfuser.FusionDefinition(old_fusion))
    scope["old_x"] = scope["old"].define_tensor(2)
    fd = scope["fd"] = guards.enter_context(FusionDefinition())
    scope.update(values_of(fd))
    scope.update(ops=fd.ops, sched=fd.sched)


def scope(guards):
    """The names of bad uses. `guards`: an ExitStack, which closes the open definitions at its end."""
    names = {**globals(), **fusions(), **odd_tensors()}
    parallel, memory = nvf.ParallelType, nvf.MemoryType
    names.update(block_x=parallel.block_x, grid_x=parallel.grid_x, vectorize=parallel.vectorize, tma=parallel.tma)
    names.update(mma=parallel.mma, local=memory.local, shared=memory.shared)
    names.update(torch=torch, numpy=numpy, nvf=nvf, nvfuser=nvfuser, pytorch_utils=pytorch_utils)
    open_definitions(names, guards)
    return names
