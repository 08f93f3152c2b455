"""How the extension comes into a process: not by `import torch`, which stays as it is, but when it is needed."""

import os
import re
import statistics
import subprocess
import sys

from torchscript_support import DEVICE, FOLDER, environment, in_file, run_script

SCRIPTED = f"""
import torch
def f(x): return (x + 1.0).relu()
t = torch.jit.script(f)
x = torch.rand(3, 4, device={DEVICE!r})
with torch.jit.fuser("fuser2"):
    for _ in range(4): assert torch.equal(t(x), f(x))
print("CudaFusionGroup" in str(t.graph_for(x)))
"""


def test_import_binds_names_alone():
    done = run_script(
        "import sys, torch\nprint('nvfuser' in sys.modules, 'nvfuser_autoload' in sys.modules)\n"
        "print(torch._C._jit_set_nvfuser_enabled.__module__)"
    )
    assert done.stdout.split() == ["False", "True", "nvfuser_autoload"]
    assert done.stderr == ""


def test_import_costs_nothing_noticeable():
    def seconds(**variables):
        done = run_script("import time, torch", **variables)
        text = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import torch"],
            capture_output=True,
            text=True,
            env=environment(**variables),
        ).stderr
        assert done.stderr == ""
        own = [line for line in text.splitlines() if line.rstrip().endswith("nvfuser_autoload")]
        return sum(int(line.split("|")[1]) for line in own) / 1e6

    assert statistics.median(seconds() for _ in range(3)) < 0.02
    assert seconds(TORCH_DEVICE_BACKEND_AUTOLOAD="0") == 0


def test_import_survives_a_broken_library():
    """Whatever is wrong with nvfuser, `import torch` works; fusion is then one warning."""
    text = "import sys\nclass Broken:\n    def find_spec(self, name, *rest):\n"
    text += "        if name == 'nvfuser': raise ImportError('broken on purpose')\n"
    text += "sys.meta_path.insert(0, Broken())\nimport torch\nprint(torch.ones(2).sum().item())"
    done = run_script(text)
    assert done.stdout.split() == ["2.0"] and done.stderr == ""


def test_a_script_that_never_imports_nvfuser_fuses():
    assert run_script(SCRIPTED_FILE).stdout.split() == ["True"]


SCRIPTED_FILE = in_file(SCRIPTED)


def test_no_compiler(tmp_path):
    """One message that says what to do; results stay right, and the library itself works."""
    done = run_script(
        SCRIPTED_FILE + "import nvfuser\nprint(nvfuser.__version__)",
        NVFUSER_CACHE_DIR=str(tmp_path),
        PATH="/nowhere",
        CXX=None,
    )
    assert done.stdout.split()[0] == "False"
    assert done.stderr.count("no C++ compiler was found") == 1, done.stderr
    assert "install one" in done.stderr


def test_compiler_that_fails(tmp_path):
    done = run_script(SCRIPTED_FILE, NVFUSER_CACHE_DIR=str(tmp_path), CXX="/bin/false")
    assert done.stdout.split() == ["False"]
    assert done.stderr.count("the compiler refused the extension") == 1, done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_command():
    """Ahead of time, and a second time at once."""
    command = [sys.executable, "-m", "nvfuser", "build-torchscript"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert re.fullmatch(
        re.escape(str(FOLDER)) + r"/torchscript/nvfuser_torchscript-[\d.]+\w*-\w{16}\.so\n", done.stdout
    )
    assert done.stderr == ""  # it was there


def test_folder_of_others_is_refused(tmp_path):
    folder = tmp_path / "torchscript"
    folder.mkdir()
    os.chmod(folder, 0o777)
    done = run_script(SCRIPTED_FILE, NVFUSER_CACHE_DIR=str(tmp_path))
    assert "others may write to" in done.stderr and done.stdout.split() == ["False"]


def test_sources_travel():
    from nvfuser import torchscript

    names = {path.name for path in (torchscript._build.SOURCES).rglob("*")}
    assert {"extension.cpp", "graph_fuser.cpp", "partition.cpp", "kernel_cache.cpp", "nvfuser_c.h"} <= names
    assert not [path for path in torchscript._build.SOURCES.rglob("*.*") if b"#include <cuda" in path.read_bytes()]
