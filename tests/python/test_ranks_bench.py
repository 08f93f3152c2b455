"""`./dev bench --ranks`: its programs agree with one device and end, and what it predicts is what its page says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.ranks.program import Work  # noqa: E402
from benchmarks.ranks.simulate import EXPOSED, FLOPS, cut_share, predict_ms  # noqa: E402

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

PROGRAMS = [
    "a product, then reduce-scatter",
    "allgather, then a product",
    "attention, by heads",
    "data-parallel step",
    "experts, by alltoall",
    "MLP, sequence-parallel",
    "MLP, tensor-parallel",
    "transformer block, sequence-parallel",
    "transformer block, tensor-parallel",
]


def test_all_programs_on_two_processes(tmp_path):
    found = tmp_path / "found.json"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.ranks", "--ranks", "2", "--sizes", "small", "--json", str(found)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads(found.read_text())
    assert not results["problems"]
    for ranks in (1, 2):
        lines = {line["program"]: line for line in results["lines"] if line["ranks"] == ranks}
        assert sorted(lines, key=str.lower) == PROGRAMS
        for line in lines.values():
            assert line["ms"]["ours"] > 0 and line["predicted_ms"] > 0
            assert line["received"] > 0 if ranks == 2 else line["received"] == 0
            assert any(peer["ms"] for peer in line["peers"].values())


def test_what_cannot_run_is_said(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.ranks", "--ranks", "1", "--only", "experts", "--limit", "1"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert "1 ranks: ended with no time was left" in run.stdout


def test_a_program_that_does_not_end_in_time():
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.ranks", "--ranks", "1", "--only", "MLP", "--program-limit", "0.01"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 1
    for program in ("MLP, tensor-parallel", "MLP, sequence-parallel"):
        assert f"{program}: not done within 0.01 s" in run.stdout, run.stdout


def test_predictions():
    links = {"allgather": {"us": 10.0, "bytes_per_s": 1e9}}
    all_cut = Work(FLOPS)
    assert predict_ms(8.0, all_cut, 4, [], {}, False) == 2.0
    assert predict_ms(8.0, all_cut, 4, [("allgather", 1e6)], links, False) == pytest.approx(2.0 + 0.01 + 3.0)
    # Three milliseconds beside two that are computed: one is left.
    assert predict_ms(8.0, all_cut, 4, [("allgather", 1e6)], links, True) == pytest.approx(2.0 + 1.01)
    assert predict_ms(80.0, all_cut, 4, [("allgather", 1e6)], links, True) == pytest.approx(20.0 + EXPOSED * 3.01)
    assert cut_share(Work(FLOPS, bytes_whole=3.0e12)) == 0.5
