"""The module nvfuser as programs of 2023 to 2025 use it: the cache of fusions, execution, texts, names."""

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import nvfuser  # noqa: E402
from frontend_support import defined, environment, negation, random  # noqa: E402
from nvfuser import DataType, FusionDefinition  # noqa: E402
from nvfuser_direct import FusionDefinition as DirectDefinition  # noqa: E402
from tested_device import DEVICE  # noqa: E402

# Cache and ids ------------------------------------------------------------------------------------


def test_cache_counts_definitions():
    program = """
import torch
from nvfuser import Fusion, FusionCache, FusionDefinition, UserError

def define(fd, factor):
    fd.add_output(fd.ops.mul(fd.define_tensor(1), factor))

cache = FusionCache.get()
assert cache.num_fusions() == 0 and cache.stats() == "The fusion cache is empty.\\n"
held = []
for factor in (1.0, 2.0, 1.0):
    with FusionDefinition() as fd:
        define(fd, factor)
    held.append(fd)
assert [fd.id() for fd in held] == [0, 1, 0] and cache.num_fusions() == 2
assert FusionDefinition(0).execute([torch.ones(2)])[0].tolist() == [1, 1]
assert Fusion(1).execute([torch.ones(2)])[0].tolist() == [2, 2]
cache.print_stats()
for wrong in (lambda: FusionCache.get(0), lambda: FusionCache.get(1)):
    try:
        wrong()
    except UserError as error:
        print(error)
FusionCache.get(max_fusions=2)
try:
    with FusionDefinition() as fd:
        define(fd, 3.0)
except UserError as error:
    print(error)
FusionCache.reset()
assert cache.num_fusions() == 0 and held[1].execute([torch.ones(2)])[0].tolist() == [2, 2]
with FusionDefinition() as fd:
    define(fd, 3.0)
assert fd.id() == 0 and fd.execute([torch.ones(1)])[0].item() == 3
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Total Fusions: 2",
        "Cache Hits by Fusion Id:",
        "\t0 -> 1 hits",
        "\t1 -> 0 hits",
        "Cache Lookups: 3",
        "Cache Hits: 1",
        "Hit Rate: 33.3333%",
        "",
        "FusionCache: max_fusions must be greater than 0, got 0",
        "FusionCache: max_fusions is 1, but there are 2 fusions already; allow more, or empty the cache by "
        "FusionCache.reset()",
        "FusionDefinition: The number of fusions in nvfuser has exceeded 2; define fewer, allow more by "
        "FusionCache.get(max_fusions), or empty the cache by FusionCache.reset()",
    ]


def test_clone():
    source = defined(lambda fd: negation(fd, 5.0))
    copies = [FusionDefinition(), FusionDefinition()]
    nvfuser.clone(source, copies[0])
    with copies[1] as fd:
        nvfuser.clone(source, fd)
    x = random(2, 3)
    for copy in copies:
        assert copy.id() == source.id() and torch.equal(copy.execute([x])[0], source.execute([x])[0])
    with pytest.raises(nvfuser.UserError, match="the destination is defined already, as fusion"):
        nvfuser.clone(source, copies[0])
    with pytest.raises(NotImplementedError, match="Fusion does not exist"):
        nvfuser.clone(FusionDefinition(), FusionDefinition())
    with pytest.raises(TypeError, match="clone: the destination is a FusionDefinition, not a int"):
        nvfuser.clone(source, 3)


# Execution and texts ------------------------------------------------------------------------------


def test_execute_takes_what_it_took(capsys):
    fd = defined(lambda fd: negation(fd, 7.0))
    x = random(2, 3)
    outputs = fd.execute(
        (x,),
        device=None,
        override_user_schedule=True,
        capture_debug_output=True,
        print_repro=True,
        profile=True,
        save_repro_inputs=True,
        _enable_options=["fuse_matmul"],
        _disable_options=["fma"],
    )
    assert torch.equal(outputs[0], x * -7)
    printed = capsys.readouterr().out
    assert f"nvfuser_fusion_id{fd.id()}(fd)" in printed and "from nvfuser import FusionDefinition, DataType" in printed
    assert fd.last_repro_script() == printed.removesuffix("\n") or fd.last_repro_script() in printed
    assert fd.debug_output() is not None and fd.profile().segments == 1
    fd.execute([x], save_repro_inputs=None)
    fd.execute([x], profile=False)
    with pytest.raises(nvfuser.UserError, match=r"profile: there is none; call fd.execute\(inputs, profile=True\)"):
        fd.profile()
    with pytest.raises(RuntimeError, match="Unrecognized disable_option: no_such"):
        fd.execute([x], _disable_options=["no_such"])
    with pytest.raises(TypeError, match=r"FusionDefinition.execute\(\) got an unexpected keyword argument 'som'"):
        fd.execute([x], som=1)
    with pytest.raises(nvfuser.UserError, match="contains less argument"):
        fd.execute([])
    assert torch.equal(fd.validate([x])[0], x * -7) and torch.equal(fd.validate([x], [x * -7])[0], x * -7)
    array = np.ones((2, 2), np.float32)
    assert np.array_equal(fd.execute([array])[0], array * -7)


def test_a_program_without_inputs_runs_where_it_is_told():
    fd = defined(lambda fd: fd.add_output(fd.ops.full([2, 3], 1.5, DataType.Float)))
    (out,) = fd.execute([], device=DEVICE)
    assert out.device.type == DEVICE and out.tolist() == [[1.5] * 3] * 2


def test_debug_output_has_what_is_dumped():
    program = (
        "import torch\nfrom nvfuser import FusionDefinition\n"
        "with FusionDefinition() as fd:\n    fd.add_output(fd.ops.relu(fd.define_tensor(1)))\n"
        "fd.execute([torch.ones(2)], capture_debug_output=True)\n"
        "text = fd.debug_output()\n"
        "assert 'def nvfuser_fusion_id0' in text and 'relu' in text.split('cuda_kernel')[1], text\n"
        "fd.execute([torch.ones(2)])\nassert fd.debug_output() is not None\n"
        "fd.execute([torch.ones(2)], capture_debug_output=False)\nassert fd.debug_output() is None\n"
    )
    env = environment(NVFUSER_DUMP="python_definition,cuda_kernel")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_texts():
    fd = defined(lambda fd: negation(fd, 9.0))
    assert repr(fd).startswith(
        f"def nvfuser_fusion_id{fd.id()}(fd : FusionDefinition) -> None :\n    T0 = fd.define_tensor("
    )
    assert "T1_g_float" in fd.fusion_ir()
    for asked in (fd.last_cuda_code, fd.last_scheduled_fusion_ir):
        with pytest.raises(nvfuser.UserError, match="execute"):
            asked()
    x = random(2, 3)
    assert "T0" in fd.cuda_code_for([x]) and "T0" in fd.scheduled_fusion_ir_for([x], tensor_transforms=True)
    fd.execute([x])
    assert "T0" in fd.last_cuda_code(intrinsic_code=True, override_user_schedule=True)
    assert "T0" in fd.last_scheduled_fusion_ir(override_user_schedule=True)
    assert "scheduler" in fd.explain()
    assert "nvfuser version" in fd.repro_script_for([x]) and fd.getReproString([x]) == fd.repro_script_for([x])
    told = fd.getReproErrorString("executing", [x])
    assert told.startswith(f"An error occurred while executing nvFuser FusionDefinition {fd.id()}.\n")
    assert fd.repro_script_for([x]) in told
    with FusionDefinition() as open_one:
        open_one.define_tensor(1)
        assert repr(open_one).startswith("def nvfuser_incomplete_fusion(fd : FusionDefinition) -> None :\n    T0 = ")
    assert "FusionDefinition.\n" in FusionDefinition().getReproErrorString("defining")


def test_a_repro_script_runs():
    fd = defined(lambda fd: negation(fd, 11.0))
    names = {}
    exec(fd.repro_script_for([random(2, 3)]), names)
    assert names["fd"].id() == fd.id()


def test_the_module_has_the_names():
    names = "CacheOp clone compute_contiguity compute_tensor_descriptor DataType FusionCache LoadStoreOpType MemoryType"
    for name in f"{names} ParallelType Scalar SchedulerType Tensor Vector version".split():
        assert hasattr(nvfuser, name), name
    assert nvfuser.version().startswith("0.2.36")
    from nvfuser.pytorch_utils import patch_codegen_so, python_scalar_to_nvfuser_dtype, torch_dtype_to_nvfuser_dtype

    patch_codegen_so()
    assert torch_dtype_to_nvfuser_dtype(torch.bfloat16) == DataType.BFloat16
    assert python_scalar_to_nvfuser_dtype(1.0) == DataType.Double


def test_compute_contiguity():
    assert nvfuser.compute_contiguity([2, 3, 4], [12, 4, 1]) == [True, True, True]
    assert nvfuser.compute_contiguity((2, 1, 4), (8, 4, 2)) == [True, None, False]
    assert nvfuser.compute_contiguity([2, 3], [0, 1]) == [None, True]
    assert nvfuser.compute_contiguity([], []) == []
    with pytest.raises(nvfuser.UserError, match="compute_contiguity: sizes has 1 entries, but strides has 2"):
        nvfuser.compute_contiguity([1], [1, 2])
    with pytest.raises(nvfuser.UserError, match="neither size 2 nor stride -1"):
        nvfuser.compute_contiguity([2], [-1])


def test_both_modules_in_one_process():
    """Values of one are refused by the other."""
    with DirectDefinition() as direct, FusionDefinition() as fd:
        t0 = fd.define_tensor(shape=[-1], contiguity=[True])
        other = direct.define_tensor([-1], [True])
        with pytest.raises(RuntimeError, match="belongs to another fusion"):
            fd.ops.add(t0, other)
        fd.add_output(-t0)
        direct.add_output(direct.ops.exp(other))
    x = random(4)
    assert torch.equal(fd.execute([x])[0], -x)
    torch.testing.assert_close(direct.execute([x])[0], x.exp())
