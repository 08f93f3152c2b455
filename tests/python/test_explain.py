"""explain(): the text, the data under it, and the page of both modules; the line on a terminal while compiling."""

import html.parser
import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import nvfuser
import pytest
from direct_fusions import pointwise
from nvfuser_direct import DataType, FusionDefinition

GENERATOR = np.random.default_rng(5)
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order, and gathers links, ids, text and the picture's shapes."""

    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.links, self.texts, self.shapes = [], set(), [], [], []
        source = Path(path).read_text()
        self.source = source
        self.feed(source)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        assert tag not in ("script", "iframe", "link", "img"), tag
        for name, value in attributes.items():
            assert name in ("xmlns", "href") or "://" not in (value or ""), (name, value)
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag in ("rect", "path"):
            self.shapes.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> inside {self.open}"
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def random(*shape):
    return GENERATOR.standard_normal(shape, np.float32)


def product_between():
    """A softmax, a product of matrices and a sum: three steps, and an output that is a view."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        w = fd.define_tensor([-1, -1], [True, True])
        product = fd.ops.matmul(fd.ops.softmax(x, 1), w)
        fd.add_output(fd.ops.sum(fd.ops.relu(product), [0]))
        fd.add_output(fd.ops.permute(x, [1, 0]))
    return fd


def test_description():
    fd = product_between()
    fd.execute([random(64, 96), random(96, 32)])
    described = fd.fec.describe()
    assert described["device"] and described["call_ms"] > 0
    assert [step["kind"] for step in described["steps"]] == ["kernel", "library", "kernel"]
    softmax, product, total = described["steps"]
    assert softmax["scheduler"] == "inner persistent" and total["scheduler"] == "reduction"
    assert {o["name"] for o in softmax["operations"]} >= {"exp", "reduction_max", "reduction_add"}
    assert softmax["bytes"] == 2 * 64 * 96 * 4 and softmax["ms"] > 0 and softmax["copy_ms"] > 0
    assert softmax["of_copy"] == pytest.approx(softmax["copy_ms"] / softmax["ms"])
    assert 'extern "C"' in softmax["code"] and softmax["launch"].startswith("grid (")
    assert product["outputs"] == total["inputs"] and product["ran_by"]
    first, second = described["borders"]
    assert (first["first"], first["second"], first["is_flow"]) == (0, 1, True)
    assert first["tensors"] == softmax["outputs"] and "is run by a library" in first["why"][0]
    assert (second["first"], second["second"]) == (1, 2)
    (view,) = described["views"]
    sizes = {tensor["name"]: tensor["sizes"] for tensor in described["tensors"]}
    assert view[1] == "T0" and sizes["T0"] == "[64, 96]" and sizes[view[0]] == "[96, 64]"


def test_loops_tell_where_they_came_from():
    fd = product_between()
    fd.execute([random(64, 96), random(96, 32)])
    for step in fd.fec.describe()["steps"]:
        for loop in step["loops"]:
            assert " of T" in loop["origin"], loop
            assert loop["comment"] in step["code"] or "Idx" in loop["comment"]
        marked = [line for line in step["code"].splitlines() if "for (" in line and "  // T" in line]
        assert len(marked) <= len(step["code"]) and (marked or step["kind"] != "kernel")
        known = {loop["comment"] for loop in step["loops"]}
        assert all(line.rsplit("  // ", 1)[1] in known for line in marked)


def test_why_two_kernels_are_not_one():
    """Reductions over different axes: the schedulers are asked about both together, and say why not."""
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1, -1], [True, True, True])
        rows = fd.ops.sum(x, [2])
        columns = fd.ops.sum(fd.ops.exp(x), [0])
        fd.add_output(rows)
        fd.add_output(columns)
    fd.execute([random(16, 32, 64)])
    described = fd.fec.describe()
    assert len(described["steps"]) == 2
    (border,) = described["borders"]
    assert not border["is_flow"] and border["tensors"] == ["T0"]
    assert any(reason.startswith("not reduction: ") for reason in border["why"]), border["why"]


def test_a_step_between_two_keeps_them_apart():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True])
        first = fd.ops.exp(x)
        product = fd.ops.matmul(first, first)
        fd.add_output(fd.ops.add(first, product))
    fd.execute([random(32, 32)])
    described = fd.fec.describe()
    why = {(border["first"], border["second"]): border["why"] for border in described["borders"]}
    assert "has to run behind the one and before the other" in why[0, 2][0]


def test_measured_with_arguments_like_the_last_ones():
    """Sizes, strides, alignment and options are those of the call, and updated inputs stay as they are."""
    with FusionDefinition() as fd:
        a = fd.define_tensor([-1], [True])
        n = fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.add(a, n), alias_input=a)
    storage = np.zeros(257, np.float32)
    fd.execute([storage[1:], 2.0], _disable_options=["fma"])  # 4 bytes behind an aligned address
    made = len(fd.fec.describe()["steps"])
    assert made == 1 and (storage[1:] == 2).all()
    described = fd.fec.describe([storage[1:], 2.0])
    assert described["steps"][0]["bytes"] == 2 * 256 * 4 and (storage[1:] == 2).all()


def check_page(path, told):
    page = Page(path)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links if link)
    assert "How a fusion was run" in page.text and "of a copy's speed" in page.text
    assert "is run by a library" in page.text and 'extern "C"' in page.text
    boxes = [attributes for tag, attributes in page.shapes if attributes.get("class") == "step"]
    assert len(boxes) == 3
    corners = [[float(box[key]) for key in ("x", "y", "width", "height")] for box in boxes]
    for i, (x, y, width, height) in enumerate(corners):  # none lies on another
        for x2, y2, width2, height2 in corners[:i]:
            assert x >= x2 + width2 or x2 >= x + width or y >= y2 + height2 or y2 >= y + height
    assert sum(attributes.get("class") == "memory" for _, attributes in page.shapes) >= 4
    for line in told.splitlines():
        if "= matmul(" in line or "= relu(" in line:
            assert " ".join(line.split()) in page.text
    return page


def test_page_of_the_direct_module(tmp_path):
    fd = product_between()
    inputs = [random(64, 96), random(96, 32)]
    fd.execute(inputs)
    told = fd.explain(html=tmp_path / "page.html")
    check_page(tmp_path / "page.html", told)
    fd.explain(html=str(tmp_path / "again.html"), inputs=inputs)
    assert "def nvfuser_fusion" in check_page(tmp_path / "again.html", told).text


def test_page_of_the_module(tmp_path):
    fusion = nvfuser.Fusion()
    with nvfuser.FusionDefinition(fusion) as fd:
        x, w = fd.define_tensor(2), fd.define_tensor(2)
        product = fd.ops.matmul(fd.ops.softmax(x, 1), w)
        fd.add_output(fd.ops.sum(fd.ops.relu(product), [0]))
        fd.add_output(fd.ops.permute(x, [1, 0]))
    with pytest.raises(nvfuser.UserError, match="was not executed yet"):
        fusion.explain(html=tmp_path / "page.html")
    fusion.execute([random(64, 96), random(96, 32)])
    check_page(tmp_path / "page.html", fusion.explain(html=tmp_path / "page.html"))
    assert f"def nvfuser_fusion_id{fusion.id()}" in Path(tmp_path / "page.html").read_text()


def test_names_cannot_break_the_page(tmp_path):
    fd = pointwise()
    fd.execute([random(2, 2), random(2, 2)])
    fd.explain(html=tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert "All operations are one step" in page.text and "<b>" not in page.text


PROGRAM = """
import numpy as np
from nvfuser_direct import FusionDefinition
with FusionDefinition() as fd:
    fd.add_output(fd.ops.neg(fd.define_tensor([-1], [True])))
print(fd.execute([np.ones(2, np.float32)])[0].tolist())
"""


def slow_compiler(folder):
    """The machine's, three seconds late."""
    path = folder / "c++"
    path.write_text(
        textwrap.dedent(
            """\
            #!/bin/sh
            case "$*" in *--version*|*-E*) exec c++ "$@";; esac
            sleep 3
            exec c++ "$@"
            """
        )
    )
    path.chmod(0o755)
    return {**os.environ, "CXX": str(path), "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def test_progress_on_a_terminal(tmp_path):
    master, terminal = pty.openpty()
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=slow_compiler(tmp_path),
        stdout=subprocess.PIPE,
        stderr=terminal,
        timeout=120,
    )
    os.close(terminal)
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert run.stdout == b"[-1.0, -1.0]\n"
    assert "nvfuser: compiling kernels, 0 of 1 done, 2 s" in shown
    assert shown.endswith("\r\033[K")  # wiped out


def test_no_progress_elsewhere(tmp_path):
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=slow_compiler(tmp_path), capture_output=True, timeout=120)
    assert run.stdout == b"[-1.0, -1.0]\n" and b"compiling" not in run.stderr
