"""The module nvfuser_direct: reading the IR, schedules by hand and automatic ones."""

import gc

import nvfuser_direct as nvf
import pytest
import torch
from direct_fusions import pointwise, scheduled_by_hand, softmax
from nvfuser_direct import DataType, FusionDefinition, ParallelType, SchedulerType

# IR -----------------------------------------------------------------------------------------------


def test_reading_the_ir():
    fd = softmax()
    (x,) = fd.fusion.inputs()
    (out,) = fd.fusion.outputs()
    assert str(x) == "T0_g_float[iS0{i0}, iS1{i2}]" or str(x).startswith("T0_g_float[")
    assert x.is_tensor() and x.is_symbolic() and x.definition() is None and len(x.uses()) == 2
    product = out.definition()
    assert product.output(0) == out and product.input(0).dtype() == DataType.Float and "mul" in str(product)
    with pytest.raises(IndexError, match="input: there is no 2; the expression has 2"):
        product.input(2)
    assert out.ndim == 2 and len(out.shape()) == 2 and isinstance(out.size(0), nvf.Val)
    assert {x, out, fd.fusion.inputs()[0]} == {x, out}
    assert "exp(" in fd.fusion.print_math() and "T0" in str(fd.fusion)
    assert not x.has_root() and isinstance(x.domain(), nvf.TensorDomain)
    axis = x.axis(-1)
    assert isinstance(axis, nvf.IterDomain) and not axis.is_reduction() and isinstance(axis.extent(), nvf.Val)


def test_nodes_keep_their_fusion():
    (out,) = pointwise().fusion.outputs()
    gc.collect()
    assert "mul" in str(out.definition()) and out.axis(0).extent() is not None


# Schedules ----------------------------------------------------------------------------------------


def test_manual_schedule():
    fd = scheduled_by_hand()
    x = torch.randn(37, 29)
    expected = (x + x.exp()).sum(1)
    for _ in range(2):
        (out,) = fd.manual_execute([x])
        torch.testing.assert_close(out, expected)
    fd.manual_validate([x])
    (out,) = fd.manual_execute([torch.ones(3, 4)])
    torch.testing.assert_close(out, torch.full((3,), 4 * (1 + torch.e)))
    with pytest.raises(AssertionError, match=r"KernelExecutor already exists! Use manual_execute\(\) to execute"):
        fd.execute([x])


def test_transforms_can_be_read():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        y = fd.ops.neg(x)
        fd.add_output(y)
        merged = y.merge(0, 1).axis(0).definition()
        assert isinstance(merged, nvf.Merge) and merged.outer() == y.get_logical_domain()[0]
        cut = y.split(0, 16).axis(1).definition()
        assert isinstance(cut, nvf.Split) and cut.inner() == y.axis(1) and cut.outer() == y.axis(0)
        y.reorder({0: 1, 1: 0})
        assert cut.inner() == y.axis(0)
        with pytest.raises(RuntimeError, match="split: factor must be positive, got 0"):
            y.split(0, 0)
        with pytest.raises(RuntimeError, match="out of boundary index 9"):
            y.axis(9)
        for unsupported in (
            lambda: y.set_memory_type(nvf.MemoryType.tensor),
            lambda: y.cache_before(nvf.LoadStoreOpType.load_matrix),
        ):
            with pytest.raises(NotImplementedError, match=r"support|by hand"):
                unsupported()


def test_boxes_and_threads_that_load():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        y = fd.ops.exp(x)
        fd.add_output(y)
        tile = x.cache_after(nvf.LoadStoreOpType.tma)
        tile.set_memory_type(nvf.MemoryType.shared)
        for tv in (tile, y):
            tv.split(1, 64)
            tv.split(0, 8)
            tv.reorder({1: 2, 2: 1})
            tv.axis(0).parallelize(ParallelType.grid_x)
        tile.axis(2).parallelize(ParallelType.tma)
        tile.axis(3).parallelize(ParallelType.tma)
        y.axis(3).parallelize(ParallelType.block_x)
        fd.sched.inline_at(tile, 2, selected_tensors=[tile])
        fd.sched.warp_specialize(tile, 3, 2, ParallelType.block_y)
    for shape in ((20, 200), (5, 101)):
        x = torch.randn(shape)
        (out,) = fd.manual_execute([x])
        torch.testing.assert_close(out, x.exp())
    text = fd.fusion.print_kernel(nvf.CompileParams(device="emulated"))
    assert "boxLoad<Box<0, 64, 8>, Loading>" in text and "mbarrierArrive" in text


def test_automatic_schedulers():
    x = torch.randn(16, 64)
    fd = pointwise()
    found = nvf.schedule.find_compatible_schedulers(fd.fusion, [x, x])
    assert SchedulerType.pointwise in found and SchedulerType.reduction not in found
    can, why = nvf.schedule.can_schedule(fd.fusion, SchedulerType.reduction, [x, x])
    assert not can and why
    params = nvf.schedule.compute_heuristics(fd.fusion, SchedulerType.pointwise, [x, x])
    assert isinstance(params, nvf.PointwiseParams) and params.vectorization_factor >= 1
    assert params == nvf.schedule.compute_heuristics(fd.fusion, SchedulerType.pointwise, [x, x])
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1, -1], True)
        fd.add_output(fd.ops.sum(fd.ops.relu(a), 1))
        used = fd.sched.schedule(fd.fusion, SchedulerType.reduction, [x])
    assert isinstance(used, nvf.ReductionParams) and used.scheduler_type == SchedulerType.reduction
    (out,) = fd.manual_execute([x], used)
    torch.testing.assert_close(out, x.relu().sum(1))
    with pytest.raises(RuntimeError, match="scheduler reduction does not take the fusion"):
        nvf.schedule.schedule(pointwise().fusion, SchedulerType.reduction, [x, x])


def test_kernel_executor():
    fd = scheduled_by_hand()
    executor = nvf.KernelExecutor()
    with pytest.raises(RuntimeError, match="there is no kernel yet"):
        executor.run([torch.ones(2, 2)])
    assert not executor.is_compiled()
    x = torch.randn(5, 6)
    executor.compile(fd.fusion, [x])
    assert executor.is_compiled()
    torch.testing.assert_close(executor.run([x])[0], (x + x.exp()).sum(1))
    text = fd.fusion.print_kernel(nvf.CompileParams(device="cpu"))
    assert "exp" in text and "__global__" in fd.fusion.print_kernel()


def test_id_model():
    fd = pointwise()
    a, b = fd.fusion.inputs()
    (out,) = fd.fusion.outputs()
    sets = nvf.idm.IdModel(fd.fusion).maybe_build_graph(nvf.IdMappingMode.exact).disjoint_val_sets()
    assert sets.strict_are_mapped(a.axis(0), out.axis(0)) and not sets.strict_are_mapped(a.axis(0), b.axis(1))
    with pytest.raises(TypeError, match="two IterDomains are needed"):
        sets.strict_are_mapped(a, b)
