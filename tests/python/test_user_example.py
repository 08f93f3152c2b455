"""The example that users of nvFuser know, built unchanged against an installed library, and run to its end."""

import hashlib
import re

import pytest
from installed import ROOT, build_with_pkg_config, compiler, prefix, run, tool

DATA = ROOT / "tests" / "data"

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.25)
project(program CXX)
find_package(nvfuser REQUIRED)
add_executable(program program.cpp)
target_link_libraries(program PRIVATE nvfuser::nvfuser)
"""


def example():
    """The text without our two lines above it, which say where it is from and what it must be."""
    origin, digest, text = (DATA / "user_example.txt").read_text().split("\n", 2)
    assert origin.startswith("// The C++ example of nvFuser's introduction")
    assert digest == f"// sha256 of those lines: {hashlib.sha256(text.encode()).hexdigest()}"
    return text


def example_to_its_end():
    """The text with the program's own lines in the two places that it leaves open."""
    includes = "// ... other necessary includes ...\n"
    text = example()
    assert text.count(includes) == 1
    assert text.endswith("(KernelExecutor).\n}\n")
    text = text.replace(includes, includes + (DATA / "step_10.h").read_text())
    return text.removesuffix("}\n") + "    step10(fusion);\n}\n\nint main() { simple_pointwise_example(); }\n"


def test_the_text_alone_builds_and_runs(tmp_path):
    program = build_with_pkg_config(tmp_path, example() + "\nint main() { simple_pointwise_example(); }\n")
    assert run([program]) == ""


def check_output(output):
    lowered, cuda = output.split('extern "C" __global__ void __launch_bounds__(128) simple_pointwise(')
    assert "block [128, 1, 1]" in lowered
    assert "for k1 in 0..4 unrolled" in lowered
    assert "#pragma unroll\n" in cuda
    assert 'extern "C" void nvfuser' in cuda  # the CPU's kernel
    # On each device T2 stays inside the loops of T3.
    results = re.findall(r"^step 10 on (.*): ok$", output, re.MULTILINE)
    assert len(results) >= 2
    assert "emulated CUDA (sm_90)" in results
    element = r"T2 = T1\[\w+\] \+ 2\.0f;\n\s*T3\[\w+\] = T0\[\w+\] \+ T2;"
    vector = r"T2 = .*&T1\[.*\+.*2\.0f.*;\n\s*lanesWrite\(&T3\[.*&T0\[.*\+ T2, \w+\);"  # the CPU's loops
    assert len(re.findall(element, output)) == len(results)
    assert len(re.findall(vector, output)) == 1


def test_lowered_printed_compiled_and_run_with_pkg_config(tmp_path):
    check_output(run([build_with_pkg_config(tmp_path, example_to_its_end())]))


def test_lowered_printed_compiled_and_run_with_cmake(tmp_path):
    (tmp_path / "program.cpp").write_text(example_to_its_end())
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS)
    settings = [f"-DCMAKE_PREFIX_PATH={prefix()}", f"-DCMAKE_CXX_COMPILER={compiler()}"]
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
    run([tool("cmake"), "-S", tmp_path, "-B", tmp_path / "build", *ninja, *settings])
    run([tool("cmake"), "--build", tmp_path / "build"])
    check_output(run([tmp_path / "build" / "program"]))


@pytest.mark.parametrize("header", ["fusion.h", "ir/builder.h", "ops/all_ops.h", "scheduler/utils.h"])
def test_each_header_of_the_example_stands_alone(tmp_path, header):
    build_with_pkg_config(tmp_path, f"#include <{header}>\n\nint main() {{ return 0; }}\n")


def test_the_readme_example_builds_and_runs(tmp_path):
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    programs = [block for block in blocks if "int main" in block]
    assert len(programs) == 1
    output = run([build_with_pkg_config(tmp_path, programs[0])])
    assert "float[1024, 1024] on " in output
    assert " from 1 kernel:\n" in output
    assert re.search(r"^// T\d+ = relu\( T3 \)$", output, re.MULTILINE)
