"""The user's page on TorchScript: its script with each switch and variable, in a process that never imports nvfuser."""

import re

import pytest
from torchscript_support import DEVICE, ON_GPU, in_file, run_script

SCRIPT = """
import torch

def forward(x):
    o = x + 1.0
    o = o.relu()
    return o

shape = (2, 32, 128, 512)
input = torch.rand(*shape)
t = torch.jit.script(forward)

with torch.jit.fuser("fuser2"):
    for k in range(4):
        o = t(input)
assert torch.equal(o, forward(input))
""".replace("rand(*shape)", "rand(*shape).cuda()" if ON_GPU else "rand(*shape)")
PLACE = "cuda:0" if ON_GPU else "cpu"
TYPE = f"Float(2, 32, 128, 512, strides=[2097152, 65536, 512, 1], requires_grad=0, device={PLACE})"


def run(text=SCRIPT, **variables):
    """The script needs its source to be in a file. DEVICE in it is where tensors are."""
    text = text.replace("DEVICE", repr(DEVICE))
    return run_script(in_file(text), **variables)


def lines(text, prefix=""):
    """Without log prefixes, source positions, and with values numbered as they come."""
    names = {}

    def renamed(match):
        return names.setdefault(match.group(0), f"%{len(names)}")

    result = []
    for line in text.splitlines():
        line = re.sub(r"^\[\w+ +\S+\] ?", "", line)
        line = re.sub(r" # .*", "", line).rstrip()
        result.append(re.sub(r"%[\w.]+", renamed, line))
    return result


def test_graph():
    out = run(SCRIPT + "print(t.graph_for(input))\n").stdout
    expected = f"""graph(%0 : Tensor):
  %1 : bool = prim::CudaFusionGuard[types=[{TYPE}]](%0)
  %2 : Tensor = prim::If(%1)
    block0():
      %3 : Tensor = prim::CudaFusionGroup_0[cache_id=0](%0)
      -> (%3)
    block1():
      %4 : Function = prim::Constant[name="fallback_function", fallback=1]()
      %5 : ({TYPE}) = prim::CallFunction(%4, %0)
      %6 : {TYPE} = prim::TupleUnpack(%5)
      -> (%6)
  return (%2)
with prim::CudaFusionGroup_0 = graph(%0 : {TYPE}):
  %1 : float = prim::Constant[value=1.]()
  %2 : int = prim::Constant[value=1]()
  %7 : {TYPE} = aten::add(%0, %1, %2)
  %3 : {TYPE} = aten::relu(%7)
  return (%3)
"""
    assert lines(out) == [*expected.splitlines(), ""]


def test_optimized_graph():
    log = run(PYTORCH_JIT_LOG_LEVEL="profiling_graph_executor_impl").stderr
    optimized = log[log.rindex("Optimized Graph:") :]
    assert "prim::CudaFusionGroup_0[cache_id=0]" in optimized
    assert "prim::CudaFusionGuard[types=[" + TYPE in optimized


def test_before_fusion_and_before_compilation():
    log = run(PYTORCH_JIT_LOG_LEVEL="graph_fuser").stderr
    before, after = log[: log.index("Before Compilation")], log[log.index("Before Compilation") :]
    profile = f"prim::profile[profiled_type={TYPE}"
    assert before.count(profile) == 3 and "Before Fusion" in before and "CudaFusionGroup" not in before
    assert re.search(r"prim::CudaFusionGroup_0\(%[\w.]+\)", after)
    assert re.search(r"prim::FallbackGraph_1\(%[\w.]+\)", after)
    assert "with prim::CudaFusionGroup_0 = graph" in after and "with prim::FallbackGraph_1 = graph" in after


def test_rejected_nodes_and_kernels():
    script = SCRIPT.replace("    return o", "    return torch.sort(o)[0] * 2.0 + 1.0")
    log = run(script, PYTORCH_JIT_LOG_LEVEL=">partition:graph_fuser:>>kernel_cache").stderr
    assert re.search(r"\[UPDATE partition.cpp:\d+\] rejected: .*aten::sort", log)
    assert "there is no rule for it" in log
    assert re.search(r"\[DEBUG kernel_cache.cpp:\d+\] running GraphCache: 0x", log)
    assert re.search(r"parsed IR of GraphCache 0x.*\n(.*\n)*?.*= relu\( T1 \)", log)
    assert "kernels of GraphCache 0x" in log and "relu( T1 )" in log


def test_knobs():
    """Setters return what was; each acts on what is optimised after it."""
    script = """
import torch
def relu(x): return x.relu()
def siblings(x): return x + 1.0, x * 2.0
def skipped(x): return ((x + 1.0).relu() * 2.0).relu()
def guarded(x): return (x + 1.0).relu()
C = torch._C
def groups(function, *inputs):
    t = torch.jit.script(function)
    with torch.jit.fuser("fuser2"):
        for x in inputs + inputs[-1:] * 3:
            assert all(map(torch.equal, [t(x)] if isinstance(t(x), torch.Tensor) else t(x),
                           [function(x)] if isinstance(t(x), torch.Tensor) else function(x)))
    return str(t.graph_for(inputs[-1])).count("= prim::CudaFusionGroup")
x = torch.rand(4, 5, device=DEVICE)
print(C._jit_nvfuser_single_node_mode(), groups(relu, x))
print(C._jit_set_nvfuser_single_node_mode(True), C._jit_nvfuser_single_node_mode())
def relu2(x): return x.relu()
print(groups(relu2, x), C._jit_set_nvfuser_single_node_mode(False))
print(C._jit_nvfuser_horizontal_mode(), groups(siblings, x))
print(C._jit_set_nvfuser_horizontal_mode(True))
def siblings2(x): return x + 1.0, x * 2.0
print(groups(siblings2, x), C._jit_set_nvfuser_horizontal_mode(False))
print(C._jit_set_nvfuser_skip_node_kind("aten::relu", True), C._jit_set_nvfuser_skip_node_kind("aten::relu", False))
t = torch.jit.script(skipped)
with torch.jit.fuser("fuser2"):
    for _ in range(4): t(x)
text = str(t.graph_for(x))
print("aten::relu" in text.split("with prim::")[0], C._jit_set_nvfuser_skip_node_kind("aten::relu", True))
print(C._jit_set_nvfuser_guard_mode(False), C._jit_nvfuser_guard_mode())
print(groups(guarded, x, torch.rand(7, 9, device=DEVICE)), C._jit_set_nvfuser_guard_mode(True))
enabled = C._jit_nvfuser_enabled()
print(enabled, C._jit_set_nvfuser_enabled(False), C._jit_nvfuser_enabled(), C._jit_nvfuser_can_be_enabled())
"""
    done = run(script)
    assert done.stdout.split("\n")[:-1] == [
        "False 0",
        "False True",
        "1 True",
        "False 0",
        "False",
        "1 True",
        "False True",
        "True True",
        "True False",
        "1 False",
        "True True False True",
    ], done.stdout
    assert "nvfuser is no longer supported" not in done.stderr  # PyTorch's own stubs are not called


@pytest.mark.parametrize(
    "variables, enabled",
    [
        ({}, "True"),
        ({"PYTORCH_JIT_ENABLE_NVFUSER": "0"}, "False"),
        ({"PYTORCH_JIT_ENABLE_NVFUSER": "1", "PYTORCH_JIT_USE_NNC_NOT_NVFUSER": "1"}, "False"),
    ],
)
def test_priorities(variables, enabled):
    """USE_NNC counts before the function, and that before ENABLE_NVFUSER."""
    script = """
import torch
print(torch._C._jit_nvfuser_enabled())
torch._C._jit_set_nvfuser_enabled(True)
print(torch._C._jit_nvfuser_enabled())
"""
    first, second = run(script, **variables).stdout.split()
    assert first == enabled
    assert second == ("False" if "PYTORCH_JIT_USE_NNC_NOT_NVFUSER" in variables else "True")


def test_nnc_instead():
    out = run(SCRIPT + "print(t.graph_for(input))\n", PYTORCH_JIT_USE_NNC_NOT_NVFUSER="1").stdout
    assert "CudaFusionGroup" not in out and "aten::relu" in out


def test_disabled_inside_fuser2():
    script = SCRIPT.replace("    for k", "    torch._C._jit_set_nvfuser_enabled(False)\n    for k")
    assert "CudaFusionGroup" not in run(script + "print(t.graph_for(input))\n").stdout


@pytest.mark.parametrize("place, fused", [("cpu", False)] + [("cuda", True)] * ON_GPU)
def test_without_fuser2_on_gpus_alone(place, fused):
    script = SCRIPT.replace('with torch.jit.fuser("fuser2"):', "if True:")
    script = script.replace("t = torch.jit", f"input = input.to({place!r})\nt = torch.jit")
    done = run(script + "print(t.graph_for(input))\n")
    assert ("CudaFusionGroup" in done.stdout) == fused
    assert "building" not in done.stderr


@pytest.mark.parametrize(
    "option, shows",
    [
        ("cuda_kernel", r"relu"),
        ("launch_param", r"grid"),
        ("kernel_args", r"(?i)input"),
        ("dump_eff_bandwidth", r"GB/s"),
    ],
)
def test_dumps(option, shows):
    done = run(PYTORCH_NVFUSER_DUMP=option)
    assert re.search(shows, done.stdout + done.stderr), done.stdout + done.stderr


def test_features_off():
    run(PYTORCH_NVFUSER_DISABLE="fma,index_hoist,predicate_elimination,unroll_with_rng")


INDEXED = """
import torch
from nvfuser import DataType, Fusion, FusionDefinition
fusion = Fusion()
with FusionDefinition(fusion) as fd:
    table, at = fd.define_tensor(1), fd.define_tensor(1, DataType.Int)
    fd.add_output(fd.ops.neg(fd.ops.index_select(table, at, 0)))
(out,) = fusion.execute([torch.arange(4.0), torch.tensor([3, 1])])
assert out.tolist() == [-3.0, -1.0]
"""


def test_zero_initialised_buffers_are_marked():
    """Those by which the kernels of the CPU report wrong indices."""
    done = run(INDEXED, PYTORCH_NVFUSER_DUMP="kernel_args")
    shown = done.stdout + done.stderr
    assert re.search(r"^buffer wrong_index: 2 of int64_t, zero-initialized$", shown, re.MULTILINE), shown


@pytest.mark.parametrize(
    "total, result, threads, marked",
    [("sum()", r"\[\]", 2, True), ("sum()", r"\[\]", 1, ON_GPU), ("sum(-1)", r"\[2, 32, 128\]", 2, False)],
)
def test_zero_initialised_buffers_of_sums(total, result, threads, marked):
    """A GPU's blocks add up what they have in memory of the launch; the CPU's tasks do where several threads work."""
    script = SCRIPT.replace("o.relu()", f"o.relu().{total}").replace(
        "torch.equal(o, forward(input))", "torch.allclose(o, forward(input), rtol=1e-4)"
    )
    done = run(script, PYTORCH_NVFUSER_DUMP="kernel_args", NVFUSER_CPU_THREADS=str(threads))
    shown = done.stdout + done.stderr
    assert re.search(rf"^output T\d+: float{result}", shown, re.MULTILINE), shown
    assert ("zero-initialized" in shown) == marked, shown


def test_wrong_names_are_one_warning():
    for variable in ("PYTORCH_NVFUSER_DISABLE", "PYTORCH_NVFUSER_ENABLE", "PYTORCH_NVFUSER_DUMP"):
        done = run(**{variable: "no_such_thing"})
        assert done.stderr.count("no_such_thing") == 1, done.stderr
    done = run(PYTORCH_JIT_ENABLE_NVFUSER="yes")
    assert done.stderr.count("neither 0 nor 1") == 1, done.stderr


@pytest.mark.parametrize("options, fused", [(None, False), ("complex", True)])
def test_complex(options, fused):
    script = """
import torch
def f(x, y):
    return (x * y + x).exp()
x = torch.randn(4, 5, dtype=torch.complex64, device=DEVICE)
y = torch.randn(4, 5, dtype=torch.complex64, device=DEVICE)
t = torch.jit.script(f)
with torch.jit.fuser("fuser2"):
    for _ in range(4):
        torch.testing.assert_close(t(x, y), f(x, y))
        torch.testing.assert_close(t(x, y.conj()), f(x, y.conj()))
print(t.graph_for(x, y))
"""
    assert ("CudaFusionGroup" in run(script, PYTORCH_NVFUSER_ENABLE=options).stdout) == fused


# What cannot be compiled --------------------------------------------------------------------------

BROKEN = SCRIPT.replace(
    "with torch.jit.fuser",
    "import os\nfrom nvfuser import torchscript\nassert torchscript.load()\n"
    "os.environ['CXX'] = '/bin/false'\nos.environ['PATH'] = '/nowhere'\nwith torch.jit.fuser",
)
NO_NVRTC = {"NVFUSER_NVRTC_PATH": "/nowhere"}  # for a GPU


def test_fallback():
    """PyTorch's own operators give the result, and one warning says why."""
    done = run(BROKEN, **NO_NVRTC)
    assert done.stderr.count("FALLBACK path was taken") == 1, done.stderr
    assert "PYTORCH_NVFUSER_DISABLE=fallback" in done.stderr


def test_fallback_disabled():
    with pytest.raises(AssertionError, match="cannot be run as a fusion"):
        run(BROKEN, PYTORCH_NVFUSER_DISABLE="fallback", **NO_NVRTC)
