"""The typed stubs of the module are those of its bindings, and Python."""

import ast
import importlib.util
import os
from pathlib import Path

import nvfuser
import pytest

ROOT = Path(__file__).resolve().parents[2]
# The folder of the build has links to the package's Python files alone.
PACKAGE = Path(nvfuser.__path__[0]) if os.environ.get("NVFUSER_TEST_INSTALLED") else ROOT / "python" / "nvfuser"


def test_stubs_are_fresh_and_parse():
    pytest.importorskip("nanobind")
    location = importlib.util.spec_from_file_location("python_stubs", ROOT / "tools" / "python_stubs.py")
    generator = importlib.util.module_from_spec(location)
    location.loader.exec_module(generator)
    stubs = generator.stubs()
    assert {"_C/__init__.pyi", "_C/direct/__init__.pyi", "_C/direct/ops.pyi"} < set(stubs)
    for name, text in stubs.items():
        ast.parse(text)
        assert (PACKAGE / name).read_text() == text, f"{name} is stale: run python3 tools/python_stubs.py"


def test_stubs_tell_shapes_of_operations():
    operations = (PACKAGE / "_C" / "direct" / "ops.pyi").read_text()
    assert "def sum(arg: TensorView, axes: list[int] | int | None = None, keepdim: bool = False" in operations
    assert "-> tuple[TensorView, TensorView]:" in operations and "Gives (var, mean)." in operations
