"""The two examples of the Python documentation (tests/data/python_frontend.html), run as they are but on the CPU."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[1] / "data" / "python_frontend.html"


def code_of(section):
    """The Python code below the heading: the document is Markdown whose fences came through as text."""
    page = DOCUMENT.read_text()
    begin = page.index("```python", page.index(section)) + len("```python")
    block = page[begin : page.index("```", begin)]
    # Its paragraphs stand in <p>; lines indented below an empty one lost that and are in a <pre> of their own.
    block = re.sub(r"<pre><code>(.*?)</code></pre>", lambda found: indented(found.group(1)), block, flags=re.DOTALL)
    return html.unescape(re.sub(r"</?p>", "", block)).replace("device='cuda'", "device='cpu'")


def indented(code):
    return "\n".join("    " + line if line else line for line in code.splitlines())


def run(program, **environment):
    """In a process of its own: ids begin at 0 there."""
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


CHECK = """
assert type(nvf_out) is torch.Tensor and nvf_out.dtype == torch.float32
assert torch.equal(nvf_out, torch.full((2, 4), 48.0)), nvf_out
"""


def test_the_document_has_both_examples():
    assert code_of("Example 1").count("device='cpu'") == 2
    assert "with FusionDefinition(fs) as fd :\n    t0 = fd.define_tensor" in code_of("Example 1")
    assert "\n    t2 = fd.ops.add(t0, t1)" in code_of("Example 1")
    assert "fs = Fusion(fid)" in code_of("Example 2")


def test_define_and_execute():
    run(code_of("Example 1") + CHECK)


def test_lookup_and_execute_by_id():
    run(code_of("Example 1") + "\ndel fs, nvf_out\n" + code_of("Example 2") + CHECK)


def test_the_documented_ways_to_define_tensors():
    page = html.unescape(DOCUMENT.read_text())
    lines = re.findall(r"^(?:<code>|<p>)?(?:python\n)?([ts]\d = fd\.define_\w+\(.*\))", page, flags=re.MULTILINE)
    for line in lines:
        run(
            "from nvfuser._C import Fusion, FusionDefinition, DataType\n"
            f"with FusionDefinition(Fusion()) as fd:\n    {line}\n"
        )
    assert len(lines) >= 5


@pytest.mark.parametrize("variable", ["PYTORCH_NVFUSER_DUMP", "NVFUSER_DUMP"])
def test_dump_of_the_definition(variable):
    page = html.unescape(DOCUMENT.read_text())
    expected = page[page.index("def nvfuser_fusion_id0") : page.index("fd.add_output(T5)")] + "fd.add_output(T5)"
    printed = run(code_of("Example 1") + code_of("Example 2"), **{variable: "python_definition"})
    assert printed.strip() == expected  # once, though it is executed twice
    assert run(code_of("Example 1")) == ""


def test_help_lists_the_operations():
    program = "from nvfuser._C import FusionDefinition; help(FusionDefinition.Operators)"
    assert program in html.unescape(DOCUMENT.read_text())
    text = run(program)
    assert "sum(self, arg: Tensor, axes" in text and "Sum over the axes" in text
    assert "softmax(self, arg: Tensor, dim: int = -1) -> Tensor" in text
