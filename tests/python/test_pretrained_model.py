"""The example of a published model with its weights: as a newcomer runs it, with the first two of its layers."""

import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "python" / "pretrained_model.py"


def test_fused_equals_eager():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, PROGRAM, "--layers", "2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    worst = float(re.search(r"largest difference of a fingerprint from eager PyTorch: (\S+)", done.stdout)[1])
    assert worst < 2e-5
    layer = done.stdout.partition("One of the layers:")[2]
    assert "amax" in layer and layer.count("var_mean") == 2 and "gelu" in layer, done.stdout
    # Keys that are turned, scores, two norms, an activation.
    assert layer.count("  region ") == layer.count("runs in 1 kernel") == 5, done.stdout
    near = dict(re.findall(r"^nearest to (.+): (.+) \(", done.stdout, re.MULTILINE))
    assert near["ester from acid and ethanol"] == "ester from acid and propanol"
    assert near["Suzuki coupling of phenyl"] == "Suzuki coupling of tolyl"
