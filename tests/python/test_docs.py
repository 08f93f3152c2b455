"""Documentation of the Python package runs, and is fresh."""

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("page", "least"), [("python.md", 8), ("from_nvfuser.md", 2)])
def test_the_page_runs(page, least):
    page = (ROOT / "docs" / page).read_text()
    blocks = [
        textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    ]
    assert len(blocks) >= least
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def tool(name):
    location = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    generator = importlib.util.module_from_spec(location)
    location.loader.exec_module(generator)
    return generator


def test_operators_page_is_fresh():
    page = (ROOT / "docs" / "operators.md").read_text()
    assert page == tool("operators_page").page(), "docs/operators.md is stale: run python3 tools/operators_page.py"


def test_the_page_on_reliability_is_fresh():
    page = (ROOT / "docs" / "reliability.md").read_text()
    assert page == tool("reliability").page(), "docs/reliability.md is stale: run python3 tools/reliability.py page"


def test_mutants_are_where_their_table_says():
    done = subprocess.run([sys.executable, ROOT / "tools" / "mutants.py", "list"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_on_torch_compile_lists_what_is_fused():
    import torch
    from nvfuser.dynamo.operators import RULES

    page = (ROOT / "docs" / "torch_compile.md").read_text().split("## Operations that are fused\n")[1]
    listed = re.findall(r"`([\w.:]+)`", page)
    overloads = [rule for rule in RULES if isinstance(rule, torch._ops.OpOverload)]  # others are the backend's own
    assert listed == sorted(map(str, overloads)), "list the rules of nvfuser.dynamo.operators.RULES"
