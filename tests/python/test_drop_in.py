"""What programs written for nvFuser rely on beside the operations: spellings of arguments, names, options, words."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nvfuser_direct as nvf
import pytest
import torch
from nvfuser_direct import DataType, FusionDefinition, SchedulerType
from tested_device import DEVICE, ON_GPU

HERE = Path(__file__).resolve().parent


def random(*sizes, **options):
    return torch.randn(*sizes, device=DEVICE, **options)


def run(define, *inputs):
    """Outputs of a fusion; `define` gives one or several."""
    with FusionDefinition() as fd:
        results = define(fd, *(fd.from_pytorch(x) for x in inputs))
        for result in results if isinstance(results, list | tuple) else [results]:
            fd.add_output(result)
    return fd.execute(list(inputs))


# Outputs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("returned_first", [False, True])
def test_an_update_that_is_returned_is_one_output(returned_first):
    with FusionDefinition() as fd:
        x = fd.from_pytorch(random(4, 6))
        y = fd.ops.relu(x)
        if returned_first:
            fd.add_output(y)
        fd.add_output(y, x)
        if not returned_first:
            fd.add_output(y)
    x = random(4, 6)
    expected = x.relu()
    outputs = fd.execute([x])
    assert len(outputs) == 1 and outputs[0].data_ptr() == x.data_ptr()
    assert torch.equal(x, expected)


# CPU scalars --------------------------------------------------------------------------------------


def test_cpu_scalars():
    scalar, vector = torch.tensor(2.0), random(3)
    assert torch.equal(run(lambda fd, a, b: fd.ops.add(a, b), scalar, vector)[0], scalar + vector)
    (total,) = run(lambda fd, a, b: fd.ops.add(a, b), scalar, torch.tensor(3.0))
    assert total.device.type == "cpu" and total.item() == 5.0 and total.shape == ()


# Sizes --------------------------------------------------------------------------------------------


def stretched(rows):
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1, -1], contiguity=True)
        fd.add_output(fd.ops.add(fd.ops.expand(x, [rows, -1]), 1.0))
        fd.add_output(fd.ops.broadcast_in_dim(x, [2, rows, 5], [1, 2]))
    return fd


def test_an_expansion_to_another_size_is_another_definition():
    three, four = stretched(3), stretched(4)
    assert three.fusion != four.fusion and three.fusion == stretched(3).fusion
    cache = nvf.LRUCache(4)
    x = random(3, 5)
    for fd, rows in ((three, 3), (four, 4)):
        fd.fec = cache.cache_compile(fd.fusion)
        shapes = [tuple(each.shape) for each in fd.execute([x[:1] if rows == 4 else x])]
        assert shapes == [(rows, 5), (2, rows, 5)]
    assert cache.num_fusions() == 2
    with pytest.raises(RuntimeError, match="size"):
        four.execute([x])


@pytest.mark.parametrize("size", ["constant", "input"])
def test_real_scalars_as_sizes(size):
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1], contiguity=True)
        n = fd.define_scalar(3.0) if size == "constant" else fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.reshape(x, [n, -1]))
        fd.add_output(fd.ops.full([n, 2], 1.0, DataType.Float))
        fd.add_output(fd.ops.iota(n, fd.define_scalar(0), fd.define_scalar(1), DataType.Int))
        fd.add_output(fd.ops.broadcast_in_dim(x, [n, 12], [1]))
    outputs = fd.execute([random(12)] if size == "constant" else [random(12), 3.0])
    assert [tuple(each.shape) for each in outputs] == [(3, 4), (3, 2), (3,), (3, 12)]


# Spellings of arguments ---------------------------------------------------------------------------


def test_numbers_as_flags():
    x = random(4, 6)
    assert run(lambda fd, a: fd.ops.slice(a, [0, 0], [2, 2], manual_normalization=0), x)[0].shape == (2, 2)
    assert run(lambda fd, a: fd.ops.sum(a, [0], keepdim=1), x)[0].shape == (1, 6)
    assert run(lambda fd, a: fd.ops.broadcast(a, [0, 1, 0]), x)[0].shape == (4, 1, 6)
    values, places = run(lambda fd, a: fd.ops.topk(a, 2, 1, 1, 0), x)
    assert torch.equal(values, x.topk(2, 1).values) and torch.equal(places, x.topk(2, 1).indices)
    with pytest.raises(TypeError, match="keepdim must be a bool, not the integer 2"):
        run(lambda fd, a: fd.ops.sum(a, [0], keepdim=2), x)


def test_a_dtype_in_place_of_the_axes():
    x = torch.arange(1, 5, device=DEVICE, dtype=torch.float32).reshape(2, 2)
    (product,) = run(lambda fd, a: fd.ops.prod(a, DataType.Double), x)
    (total,) = run(lambda fd, a: fd.ops.sum(a, DataType.Double), x)
    assert (product.item(), product.dtype, total.item()) == (24.0, torch.float64, 10.0)
    assert run(lambda fd, a: fd.ops.max(a, DataType.Null), x)[0].item() == 4.0


def test_attention_without_its_options():
    q = random(2, 3, 4, 8)

    def both_ways(fd, q):
        output, logsumexp, seed, offset = fd.ops.sdpfa_fwd(q, q, q, None, None, None, None, None)
        return [output, *fd.ops.sdpfa_bwd(q, q, q, q, output, logsumexp, None, None, seed, offset, None)]

    outputs = run(both_ways, q)
    leaves = [q.clone().requires_grad_() for _ in range(3)]
    expected = torch.nn.functional.scaled_dot_product_attention(*leaves)
    expected.backward(q)
    for ours, theirs in zip(outputs, [expected, *(leaf.grad for leaf in leaves)], strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-4, atol=1e-5)


# Operations at their edges, as PyTorch has them ---------------------------------------------------


def test_axes_of_one_element():
    x = random(3, 1, 5)
    assert torch.equal(run(lambda fd, a: fd.ops.squeeze(a, [1]), x)[0], x.squeeze(1))
    for bounds in (([1, 0, 0], [2, 1, 5]), ([0, 0, 4], [3, 1, 5])):
        (ours,) = run(lambda fd, a, b=bounds: fd.ops.slice(a, *b), x)
        theirs = x[tuple(slice(*ends) for ends in zip(*bounds, strict=True))]
        assert torch.equal(ours, theirs) and ours.data_ptr() == theirs.data_ptr()  # of one memory


def test_bounds_that_only_a_call_knows():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1], contiguity=True)
        first, last = fd.define_scalar(DataType.Int), fd.define_scalar(DataType.Int)
        fd.add_output(fd.ops.slice(x, [first], [last]))
    x = random(8)
    for first, last in ((1, 5), (-3, 8), (2, -1), (5, 2), (0, 100)):
        assert torch.equal(fd.execute([x, first, last])[0], x[first:last])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("dim", [2, -3])
def test_scans_along_no_axis(name, dim):
    with pytest.raises(RuntimeError, match=rf"{name}: Tried to access out of boundary index {dim}\. total index: 2"):
        run(lambda fd, a: getattr(fd.ops, name)(a, dim), random(3, 6))


def test_equal_keys_keep_their_order():
    x = torch.tensor([[2, 1, 2, 1, 2], [0, 0, 0, 0, 0]], device=DEVICE, dtype=torch.float32)
    for descending in (False, True):
        (places,) = run(lambda fd, a, d=descending: fd.ops.argsort(a, 1, d, True), x)
        assert torch.equal(places, x.argsort(dim=1, descending=descending, stable=True))


@pytest.mark.parametrize("diagonal", [-2, 0, 1, 9])
def test_upper_triangle(diagonal):
    x = random(2, 3, 4)
    assert torch.equal(run(lambda fd, a: fd.ops.triu(a, diagonal), x)[0], x.triu(diagonal))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_in_half_precision(dtype):
    x, w, b = (random(*sizes).to(dtype) for sizes in ((4, 8), (6, 8), (6,)))
    product, line = run(
        lambda fd, x, w, b: [fd.ops.matmul(x, fd.ops.permute(w, [1, 0])), fd.ops.linear(x, w, b)], x, w, b
    )
    for ours, theirs in ((product, x @ w.t()), (line, torch.nn.functional.linear(x, w, b))):
        assert ours.dtype == dtype and ours.stride() == (6, 1)
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-2)


# Names --------------------------------------------------------------------------------------------


def test_entries_of_enums():
    entries = SchedulerType.__dict__["__entries"]
    assert entries["pointwise"][0] is SchedulerType.pointwise and set(entries) == set(SchedulerType.__members__)
    assert getattr(nvf.DataType, "__entries")["Float"][0] is DataType.Float


def test_parameters_of_reductions():
    params = nvf.ReductionParams()
    params.schedule_3d = True
    assert params.schedule_3D


def test_axes_that_are_said_to_be_the_same():
    with FusionDefinition() as fd:
        x = fd.define_tensor(shape=[2, 4], contiguity=True)
        y = fd.define_tensor(shape=[2, 4], contiguity=True)
        fd.add_output(fd.ops.relu(x))
        fd.add_output(fd.ops.relu(y))
        for tensor in (x, y):
            tensor.split(1, 2)
        graph = nvf.idm.IdModel(fd.fusion).maybe_build_graph(nvf.IdMappingMode.exact)
        a, b = x.get_logical_domain(), y.get_logical_domain()
        assert not graph.disjoint_val_sets().strict_are_mapped(a[1], b[1])
        graph.map_vals(a[1], b[1])
        sets = graph.disjoint_val_sets()
        assert sets.strict_are_mapped(a[1], b[1]) and not sets.strict_are_mapped(a[0], b[0])
        assert sets.strict_are_mapped(x.axis(2), y.axis(2))  # made by equal splits
        with pytest.raises(RuntimeError, match="cannot be one class"):
            graph.map_vals(a[0], a[1])
        other = nvf.idm.IdModel(fd.fusion).maybe_build_graph(nvf.IdMappingMode.exact)
        assert not other.disjoint_val_sets().strict_are_mapped(a[1], b[1])


def test_one_scheduler_for_a_plain_fusion():
    x = random(4, 6)
    for define, expected in (
        (lambda fd, a: fd.ops.relu(a), SchedulerType.pointwise),
        (lambda fd, a: fd.ops.sum(a, 1), SchedulerType.reduction),
    ):
        with FusionDefinition() as fd:
            fd.add_output(define(fd, fd.from_pytorch(x)))
        assert nvf.schedule.find_compatible_schedulers(fd.fusion, [x]) == [expected]
    can, why = nvf.schedule.can_schedule(fd.fusion, SchedulerType.pointwise, [x])
    assert not can and why.startswith("Scheduler _pointwise_ ***rejected*** because : ")


def test_rejections_are_shown():
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
import torch, nvfuser_direct as nvf
with nvf.FusionDefinition() as fd:
    fd.add_output(fd.ops.relu(fd.define_tensor([-1], [True])))
nvf.schedule.find_compatible_schedulers(fd.fusion, [torch.ones(3)])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(HERE)],
        env={**os.environ, "NVFUSER_DUMP": "segmenter_logging"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Scheduler _reduction_ ***rejected*** because : " in done.stdout
    assert "_pointwise_" not in done.stdout


# Options ------------------------------------------------------------------------------------------

ENABLE = [
    "cutlass_scheduler",
    "fuse_matmul",
    "fuse_multiple_matmuls",
    "id_model_extra_validation",
    "io_to_lower_precision",
    "kernel_db",
    "kernel_debug",
    "kernel_lineinfo",
    "memory_promotion",
    "reuse_zeroed_memory",
    "static_fusion_count",
    "wait_debugger",
    "warn_register_spill",
    "tma_pointwise",
    "tma_inner_persistent",
    "tma_reduction",
    "ws_normalization",
    "host_ir_lowering",
    "host_ir_jit",
    "insert_resharding_after",
    "fast_math",
    "p2p_protocol",
    "p2p_transport",
    "multicast_protocol",
]
DISABLE = [
    "compile_to_sass",
    "contig_indexing",
    "expr_simplify",
    "fallback",
    "fma",
    "greedy_scheduler",
    "grouped_grid_welford_outer_opt",
    "index_hoist",
    "magic_zero",
    "matmul_expr_eval",
    "nvrtc_caching",
    "nvtx",
    "parallel_compile",
    "predicate_elimination",
    "python_inline_definitions",
    "kernel_reuse",
    "var_name_remapping",
    "welford_vectorization",
    "resize_scheduler",
    "reuse_mismatched_type_registers",
    "multidevice",
    "infer_contiguity",
]


def halves():
    with FusionDefinition() as fd:
        fd.add_output(fd.ops.div(fd.define_tensor([-1], [True]), fd.define_scalar(2.0)))
    return fd


@pytest.mark.parametrize("option", [*ENABLE, None])
def test_options_that_are_enabled(option):
    (out,) = halves().execute([torch.ones(3, device=DEVICE)], _enable_options=[option] if option else None)
    assert (out == 0.5).all()


@pytest.mark.parametrize("option", DISABLE)
def test_options_that_are_disabled(option):
    (out,) = halves().execute([torch.ones(3, device=DEVICE)], _disable_options=[option])
    assert (out == 0.5).all()


def test_the_environment_has_the_same_names():
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import conftest, nvfuser_direct"
    options = {"NVFUSER_ENABLE": ",".join(ENABLE), "NVFUSER_DISABLE": ",".join(DISABLE)}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **options}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stderr == ""


def test_options_that_are_refused():
    x = torch.ones(3, device=DEVICE)
    with pytest.raises(RuntimeError, match=r"enable_option kernel_profile is not supported: .*PythonProfiler"):
        halves().execute([x], _enable_options=["kernel_profile"])
    with pytest.raises(RuntimeError, match="Unrecognized enable_option: nothing"):
        halves().execute([x], _enable_options=["nothing"])
    with pytest.raises(TypeError):
        halves().execute([x], profile=True)


def test_fast_math_reaches_the_compiler():
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
import torch, nvfuser_direct as nvf
with nvf.FusionDefinition() as fd:
    fd.add_output(fd.ops.div(fd.define_tensor([-1], [True]), fd.define_scalar(3.0)))
fd.execute([torch.ones(3, device=sys.argv[2])])
"""
    for enabled in ("", "fast_math"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(HERE), DEVICE],
            env={**os.environ, "NVFUSER_DUMP": "compile_params", "NVFUSER_ENABLE": enabled},
            capture_output=True,
            text=True,
            timeout=120,
        )
        flag = "--use_fast_math" if ON_GPU else "-freciprocal-math"
        assert done.returncode == 0 and (flag in done.stdout) == bool(enabled), done.stdout + done.stderr


# Profilers ----------------------------------------------------------------------------------------

PROFILER = r"""
#include <stdio.h>
static int push(const char* message) { printf("push %s\n", message); return fflush(stdout); }
static int pop(void) { printf("pop\n"); return fflush(stdout); }
struct callbacks { unsigned long size; int (*table)(int, void*****, unsigned*); };
int InitializeInjectionNvtx2(const void* (*table)(unsigned)) {
  const struct callbacks* callbacks = table(1);
  void**** places = 0;
  unsigned size = 0;
  if (!callbacks || !callbacks->table(1, (void*****)&places, &size) || size < 12) return 0;
  *(int (**)(const char*))places[9] = push;
  *(int (**)(void))places[11] = pop;
  return 1;
}
"""


@pytest.fixture(scope="module")
def profiler(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("profiler")
    (folder / "profiler.c").write_text(PROFILER)
    library = folder / "profiler.so"
    flags = ["-shared", "-fPIC", "-w", "-o", str(library), str(folder / "profiler.c")]
    subprocess.run([compiler, *flags], check=True, timeout=120)
    ctypes.CDLL(str(library))
    return library


def ranges(library, **environment):
    program = """
import sys
sys.path.insert(0, sys.argv[1])
import conftest
import torch, nvfuser_direct as nvf
with nvf.FusionDefinition() as fd:
    fd.add_output(fd.ops.relu(fd.define_tensor([-1], [True])))
for _ in range(4):
    fd.execute([torch.ones(3, device=sys.argv[2])])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(HERE), DEVICE],
        env={**os.environ, "NVTX_INJECTION64_PATH": str(library), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(("push nvfuser", "pop"))], done.stderr


def test_ranges_for_a_profiler(profiler):
    lines, _ = ranges(profiler)
    assert lines[:4] == ["push nvfuser run nvfuser_0", "push nvfuser plan nvfuser_0", "pop", lines[3]]
    assert lines[3].startswith("push nvfuser compile ") and lines[4:6] == ["pop", "pop"]
    assert lines[6:] == ["push nvfuser run nvfuser_0", "pop"] * 3
    assert ranges(profiler, NVFUSER_DISABLE="nvtx")[0] == []


def test_a_profiler_that_is_not_there(tmp_path):
    lines, said = ranges(tmp_path / "none.so")
    assert lines == [] and said.count("NVTX_INJECTION64_PATH") == 1


# What a profile says ------------------------------------------------------------------------------


def test_profiles_are_of_warm_calls():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        fd.add_output(fd.ops.sum(fd.ops.exp(x), 1))
    x = random(64, 300)
    with nvf.PythonProfiler() as profiler:
        fd.execute([x])  # compiles: not what is shown
    (kernel,) = profiler.profile.kernel_profiles
    assert profiler.profile.compile_time_ms > 100 * kernel.time_ms > 0
    assert kernel.percentage_peak_bandwidth > 5


def test_public_helpers():
    from nvfuser import pytorch_utils

    assert pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.bfloat16) == DataType.BFloat16
    assert pytorch_utils.python_scalar_to_nvfuser_dtype(1.0) == DataType.Double
    assert pytorch_utils.patch_codegen_so() is None and pytorch_utils.clear_cuda_cache() is None
