"""The module nvfuser_direct: executors, caches, repro scripts, validation, profiles."""

import nvfuser_direct as nvf
import pytest
import torch
from direct_fusions import pointwise, scheduled_by_hand, softmax
from nvfuser_direct import DataType, FusionDefinition

# Executors ----------------------------------------------------------------------------------------


def test_executor_cache():
    x = torch.randn(4, 8)
    cache = nvf.FusionExecutorCache(pointwise().fusion)
    assert not cache.is_compiled([x, x])
    torch.testing.assert_close(cache.execute([x, x])[0], x * 6)
    assert cache.is_compiled([x, x])
    assert "pointwise" in cache.report() and "T0" in cache.get_most_recent_scheduled_ir()
    assert cache.get_cuda_kernel([x, x]) and "T0" in cache.get_scheduled_ir([x, x], tensor_transforms=True)


def test_lru_cache():
    cache = nvf.LRUCache(max_fusions=2)
    assert cache.stats() == "Max Fusions Allowed: 2\nThe fusion cache is empty.\n" and cache.num_fusions() == 0
    first = cache.cache_compile(pointwise().fusion)
    assert cache.cache_compile(pointwise().fusion) is first
    cache.cache_compile(softmax().fusion)
    assert cache.stats() == (
        "Max Fusions Allowed: 2\nTotal Fusions in Cache: 2\nTotal Unique Fusions Compiled: 2\n"
        "Cache Hits by LRU ordering:\n\t0 -> 0 hits\n\t1 -> 1 hits\n"
        "Cache Lookups: 3\nCache Hits: 1\nHit Rate: 33.3333%\n"
    )
    cache.cache_compile(pointwise(rank=3).fusion)
    assert cache.num_fusions() == 2 and cache.cache_compile(pointwise().fusion) is not first
    with pytest.raises(RuntimeError, match="max_fusions must be greater than 0, got 0"):
        nvf.LRUCache(0)


def test_lru_fusion_cache():
    @nvf.LruFusionCache(max_fusions=10)
    def make(rank):
        return pointwise(rank)

    x = torch.randn(3, 4)
    for _ in range(2):
        torch.testing.assert_close(make(2).execute([x, x])[0], x * 6)
    assert make.num_fusions() == 1 and "Cache Hits: 1" in make.stats()
    assert "tv0" in repr(make(2))


def test_repro_scripts():
    fd = pointwise()
    x = torch.randn(4, 6)
    with pytest.raises(AssertionError, match=r"fd.last_repro_script\(\) cannot provide a repro because"):
        fd.last_repro_script()
    fd.execute([x, x], save_repro_inputs=True)
    for script in (fd.last_repro_script(), fd.repro_script_for([x, x]), fd.repro_script_for()):
        assert "torch version" in script and "def nvfuser_fusion" in script
        exec(script, {})
    with FusionDefinition() as fd:
        s = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.add(fd.define_tensor([-1, -1], stride_order=[0, 1], contiguity=True), s))
    script = fd.repro_script_for([float("inf"), x.t().contiguous().t()])
    assert "as_strided((4, 6), (1, 4))" in script
    exec(script, {})


def test_validate():
    fd = softmax()
    x = torch.randn(5, 300)
    fd.validate([x])
    fd.validate([x], [x.softmax(1)])
    with pytest.raises(AssertionError, match="output 0: "):
        fd.validate([x], [x.softmax(1) + 0.1])
    with pytest.raises(AssertionError, match="1 outputs, but 0 reference outputs"):
        fd.validate([x], [])
    with pytest.raises(RuntimeError, match="validate"):
        nvf.validate_with_auto_inferred_outputs(fd.fusion, [x], [x])
    ((atol, rtol),) = nvf.get_val_tolerances(fd.fusion, [x])
    assert 1e-6 < atol == rtol < 1e-4


def test_profiler():
    x = torch.randn(64, 64)
    fd = pointwise()
    with nvf.PythonProfiler() as prof:
        fd.execute([x, x])
    profile = prof.profile
    (kernel,) = profile.kernel_profiles
    assert profile.segments == 1 and profile.input_bytes == 2 * 64 * 64 * 4 and profile.output_bytes == 64 * 64 * 4
    assert profile.host_time_ms > 0 and profile.kernel_time_ms > 0 and "pointwise" in kernel.scheduler
    assert kernel.time_ms > 0 and kernel.grid_str.startswith("[") and kernel.name in repr(kernel)
    assert nvf.get_fusion_profile().input_bytes == profile.input_bytes
    manual = scheduled_by_hand()
    with nvf.PythonProfiler(auto_scheduled=False) as prof:
        manual.manual_execute([x])
    assert prof.profile.kernel_profiles[0].scheduler == "user"
    nvf.reset_profiler()
    with pytest.raises(RuntimeError, match="there is none"):
        nvf.get_fusion_profile()
