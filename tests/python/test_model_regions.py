"""The example of a model whose regions are fusions: as a newcomer runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "python" / "model_regions.py"


def test_fused_equals_eager(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, PROGRAM, "--steps", "4", "--html", tmp_path / "page.html"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    worst = float(re.search(r"largest difference of a log-probability, four shapes: (\S+)", done.stdout)[1])
    assert worst < 1e-4
    regions = re.findall(r"^(\w+): (\d+) kernels?$", done.stdout, re.MULTILINE)
    names = {"add_and_norm", "norm", "causal_softmax", "gelu_of_sum", "log_probabilities"}
    assert {name for name, _ in regions} == names and {kernels for _, kernels in regions} == {"1"}, done.stdout
    assert "causal" in done.stdout and (tmp_path / "page.html").stat().st_size > 10_000
