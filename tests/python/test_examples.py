"""The example programs and the demo, as `./dev build` leaves them."""

import re

import pytest
from installed import ROOT, run

BIN = ROOT / "build" / "bin"
OTHERS = ("demo", "planned_kernels")  # which do not compare results
EXAMPLES = sorted(source.stem for source in (ROOT / "examples" / "cpp").glob("*.cpp") if source.stem not in OTHERS)


def test_the_examples_are_all_there():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_right_on_every_device(name):
    lines = run([BIN / f"example_{name}"]).splitlines()
    # "block sum    emulated CUDA (sm_90)    ok (3 sizes)": one line for each program and device.
    assert lines
    assert all(re.search(r" ok \([1-9]\d* sizes\)$", line) for line in lines), "\n".join(lines)
    emulated = [line for line in lines if "emulated CUDA" in line]
    programs = {line[:28].strip() for line in lines}
    assert len(emulated) == len(programs)
    assert len(lines) >= 2 * len(programs)  # the CPU as well, and a GPU where there is one


@pytest.mark.parametrize(
    ("device", "kernel", "shape"),
    [
        ("cpu", 'extern "C" void nvfuser', "300x517"),
        ("emulated", 'extern "C" __global__ void', "30x41"),
        ("emulated", 'extern "C" __global__ void', "1x1"),
    ],
)
def test_demo_tells_what_fusion_did(device, kernel, shape):
    output = run([BIN / "example_demo", f"--device={device}", f"--shape={shape}"])
    rows, columns = map(int, shape.split("x"))
    assert "T2 = T1 + 2.0\n  T3 = T0 + T2\n" in output
    assert "split(0, 128)" in output
    assert kernel in output
    assert f"all {rows * columns} elements of T3 agree" in output
    times = [float(line.split()[-3]) for line in output.splitlines() if re.match(r"  (copy|fused|unfused)", line)]
    assert len(times) == 4
    assert all(ms > 0 for ms in times)
    assert len(output.splitlines()) < 100


def test_demo_says_why_there_is_no_gpu():
    output = run([BIN / "example_demo", "--shape=64x64"])
    device = output.splitlines()[0]
    assert device.startswith("Device: ")
    assert "no GPU: " in device or "NVIDIA" in device


@pytest.mark.parametrize("argument", ["--device=tpu", "--shape=4", "--shape=0x3", "fast"])
def test_demo_refuses_what_it_does_not_know(argument):
    with pytest.raises(AssertionError, match=r"demo: .*(the devices are|give --device)"):
        run([BIN / "example_demo", argument])


def test_kernels_are_planned_from_a_text(tmp_path):
    text = """---- nvfuser_0: fusion_ir_original ----
Inputs:
  T0_g_float[iS0{i0}, iS1{256}]
Outputs:
  T1_g_float[rS2{i0}, iS3{256}]
%kernel_math {
  T1_g_float[rS2{i0}, iS3{256}] = reduction_add( T0, init = 0.0 )
}
"""
    path = tmp_path / "columns.txt"
    path.write_text(text)
    few, many = (run([BIN / "example_planned_kernels", path, f"i0={size}"]) for size in (8, 1 << 20))
    assert "__global__" in few and "scheduler reduction: outer" in few
    assert "grid_work" not in few and "grid_work" in many  # blocks share the columns
    assert "scheduler reduction: inner" in run([BIN / "example_planned_kernels"])
    assert "scheduler reduction: outer" in run([BIN / "example_planned_kernels", path, "T0=256,1", "i0=8"])
    path.write_text(text.replace("reduction_add", "reduction_of"))
    with pytest.raises(AssertionError, match="reduction_of"):
        run([BIN / "example_planned_kernels", path])
    for wrong, why in (("i0", "no size"), ("i0=many", "no size"), ("T0=1,x", "no size")):
        with pytest.raises(AssertionError, match=why):
            run([BIN / "example_planned_kernels", path, wrong])
    with pytest.raises(AssertionError, match="no file"):
        run([BIN / "example_planned_kernels", tmp_path / "missing.txt"])
