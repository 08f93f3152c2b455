"""What `benchmarks/plots.py` reads from figures that are kept; drawing itself wants matplotlib."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def plots():
    spec = importlib.util.spec_from_file_location("plots", ROOT / "benchmarks" / "plots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_has_a_line_for_each_way_over_the_gpus(plots, tmp_path):
    file = tmp_path / "ranks.csv"
    file.write_text('# a note\nprogram,ranks,ours,best peer,predicted\n"MLP, cut",2,3,4,3.5\n"MLP, cut",1,5,6,5\n')
    assert plots.ranks_series(plots.rows_of(file, "ranks")) == {
        "MLP, cut": {"ours": [(1, 5), (2, 3)], "best peer": [(1, 6), (2, 4)], "predicted": [(1, 5), (2, 3.5)]}
    }


def test_a_family_has_the_slowest_fraction_of_copy_at_each_length(plots, tmp_path):
    file = tmp_path / "sweep.csv"
    rows = (
        "softmax bf16 8x512,9,8,6,5,5",
        "softmax bf16 64x512,90,,60,80,40",
        "softmax bf16 4x256,9,8,5,4,4",
        "odd,1,1,1,1,1",
    )
    file.write_text("case,eager,inductor,defined,compiled,copy\n" + "\n".join(rows) + "\n")
    assert plots.sweep_series(plots.rows_of(file, "sweep")) == {
        "softmax bf16": {
            "ours": [(256, 1.0), (512, 0.5)],
            "definition": [(256, 0.8), (512, 40 / 60)],
            "best peer": [(256, 0.5), (512, 40 / 90)],
        }
    }


@pytest.mark.parametrize(
    "name, series", (("ranks-h100-x4", "ranks_series"), ("sweep-h100-shared-rows", "sweep_series"))
)
def test_kept_figures_have_lines(plots, name, series):
    rows = plots.rows_of(ROOT / "benchmarks" / "history" / f"2026-11-27-{name}.csv", series.partition("_")[0])
    lines = getattr(plots, series)(rows)
    assert len(lines) >= 9 and all(points for each in lines.values() for points in each.values())


def test_a_file_of_other_figures_is_refused_by_its_columns(plots, tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_text("case,copy\nx,1\n")
    with pytest.raises(ValueError, match="a plot of ranks needs the column 'program', and the file has: case, copy"):
        plots.rows_of(file, "ranks")
