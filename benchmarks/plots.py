"""Plots of figures that are kept: `benchmarks/history/*.csv` to an image, whose kind is that of its name (.svg, .png).

    python benchmarks/plots.py ranks benchmarks/history/2026-11-27-ranks-h100-x4.csv docs/plots/ranks.svg
    python benchmarks/plots.py sweep benchmarks/history/2026-11-27-sweep-h100-shared-rows.csv docs/plots/sweep.png

`ranks`: time of each program over the number of GPUs, beside the best of torch.distributed's ways and the prediction.
`sweep`: fraction of the copy's speed over the length of a row, for each family of kernels.

Drawn by matplotlib (`pip install -r tools/requirements/plots.txt`).
"""

import argparse
import csv
import re
from collections import defaultdict
from pathlib import Path

COLUMNS = 3
COLOURS = {"ours": "tab:blue", "definition": "tab:cyan", "best peer": "tab:orange", "predicted": "tab:gray"}


NEEDED = {
    "ranks": ("program", "ranks", "ours", "best peer", "predicted"),
    "sweep": ("case", "eager", "inductor", "defined", "compiled", "copy"),
}


def rows_of(path, what):
    """Rows of a file by the names of its columns; lines with # are notes. Raises ValueError where a column is missing
    that `what` needs."""
    with open(path, newline="") as file:
        reader = csv.DictReader(line for line in file if not line.startswith("#"))
        missing = [name for name in NEEDED[what] if name not in (reader.fieldnames or ())]
        if missing:
            found = ", ".join(reader.fieldnames or ()) or "none"
            raise ValueError(f"{path}: a plot of {what} needs the column {missing[0]!r}, and the file has: {found}")
        return list(reader)


def ranks_series(rows):
    """For each program, for each line of its plot: (GPUs, milliseconds) in order."""
    series = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for name in ("ours", "best peer", "predicted"):
            series[row["program"]][name].append((int(row["ranks"]), float(row[name])))
    return {program: {name: sorted(points) for name, points in lines.items()} for program, lines in series.items()}


def sweep_series(rows):
    """For each family, for each line of its plot: (elements of a row, fraction of the copy's speed) in order. Of sizes
    that several cases share the slowest counts; cases whose name has no two sizes are left out."""
    series = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        size = re.search(r"^(.*?) (\d+)x(\d+)$", row["case"])
        if size is None:
            continue
        family, length = size[1], int(size[3])
        times = {"ours": row["compiled"], "definition": row["defined"]}
        peers = [float(row[name]) for name in ("eager", "inductor") if row[name]]
        times["best peer"] = min(peers) if peers else None
        for name, time in times.items():
            if time:
                fraction = float(row["copy"]) / float(time)
                points = series[family][name]
                points[length] = min(points.get(length, fraction), fraction)
    return {
        family: {name: sorted(points.items()) for name, points in lines.items()} for family, lines in series.items()
    }


def draw(series, path, x_label, y_label):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "plots", "font.size": 8})
    from matplotlib import pyplot

    count = -(-len(series) // COLUMNS)
    figure, places = pyplot.subplots(count, COLUMNS, figsize=(4 * COLUMNS, 2.4 * count), squeeze=False)
    for place, (title, lines) in zip(places.flat, sorted(series.items()), strict=False):
        for name, points in lines.items():
            style = "--" if name == "predicted" else "-"
            place.plot(*zip(*points, strict=True), style, marker="o", markersize=3, label=name, color=COLOURS[name])
        ticks = sorted({x for points in lines.values() for x, _ in points})
        place.set_xscale("log", base=2)
        place.set_xticks(ticks if len(ticks) <= 4 else ticks[:: -(-len(ticks) // 5)])
        place.xaxis.set_major_formatter(lambda x, _: f"{x:.0f}")
        place.set_title(title)
        place.set(xlabel=x_label, ylabel=y_label)
        place.set_ylim(bottom=0)
        place.grid(alpha=0.3)
    for place in places.flat[len(series) :]:
        place.axis("off")
    places.flat[0].legend()
    figure.tight_layout()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if Path(path).suffix == ".svg" else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("ranks", "sweep"))
    parser.add_argument("figures", type=Path, help="a file of benchmarks/history")
    parser.add_argument("image", type=Path)
    arguments = parser.parse_args()
    try:
        rows = rows_of(arguments.figures, arguments.what)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if arguments.what == "ranks":
        draw(ranks_series(rows), arguments.image, "GPUs", "ms")
    else:
        draw(sweep_series(rows), arguments.image, "elements of a row", "of copy")


if __name__ == "__main__":
    main()
