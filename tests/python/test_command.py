"""python -m nvfuser, and what explains a call."""

import importlib.metadata
import os
import subprocess
import sys

import numpy as np
import nvfuser
import pytest
from nvfuser import Fusion, FusionDefinition


def command(*arguments, code=0, **environment):
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-m", "nvfuser", *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_info(tmp_path):
    text = command("info", NVFUSER_CACHE_DIR=str(tmp_path), NVFUSER_CACHE_MB="10")
    assert text.startswith(f"nvfuser        {nvfuser.__version__}, Python ")
    versions = {package.name: package.version for package in importlib.metadata.distributions()}
    for name in ("torch", "numpy"):
        assert f"{name:<14} {versions.get(name, 'not installed')}" in text
    assert f"{tmp_path}, 0.0 of 10 MiB" in text
    for line in ("CPU            ", "NVRTC          ", "C++ compiler   ", "CUDA device"):
        assert line in text
    assert "cache          off" in command("info", NVFUSER_CACHE_MB="0")
    assert "none: fusions on the CPU are interpreted" in command("info", PATH="", CXX="/nowhere")


def test_demo_and_cache(tmp_path):
    environment = {"NVFUSER_CACHE_DIR": str(tmp_path / "cache"), "NVFUSER_CACHE_MB": "10"}
    text = command("demo", **environment)
    assert "fd.ops.softmax(T0, dim=1)" in text and "==== kernel 1 of 1 ====" in text and "not pointwise: " in text
    assert command("cache", **environment).startswith("2 entries (kernels, and how fusions were cut), ")
    assert len(command("cache", "list", **environment).splitlines()) == 3
    assert command("cache", "clear", **environment) == "2 entries removed\n"
    assert command("cache", "size", **environment).startswith(
        "0 entries (kernels, and how fusions were cut), 0 bytes in "
    )


def test_wrong_commands():
    assert "invalid choice: 'moon'" in command("demo", "--device", "moon", code=2)
    assert "the following arguments are required" in command(code=2)


def test_explain():
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        t0 = fd.define_tensor(2)
        fd.add_output(fd.ops.sum(fd.ops.exp(fd.ops.sum(t0, [1])), [0]))
    with pytest.raises(nvfuser.UserError, match="explain: the fusion was not executed yet"):
        fusion.explain()
    fusion.execute([np.ones((300, 200), np.float32)])
    text = fusion.explain()
    assert fusion.definition() in text and "kernel 1: (T0) -> " in text and "\n  not " in text
    assert "==== kernel 1 of " in text and "exp" in text


def test_another_nvfuser_is_reported(tmp_path):
    for name in ("nvfuser_cu121_torch25-0.2.26.dist-info", "nvfuser_jit-0.1.0.dist-info", "nvfuser-0.0.9.dist-info"):
        (tmp_path / name).mkdir()
    assert nvfuser._others(tmp_path) == ["nvfuser-0.0.9", "nvfuser_cu121_torch25-0.2.26"]
    assert "beside nvfuser-jit" not in command("cache")  # none here
