"""Lets tests import what the build made: the module `nvfuser` from build/python; with NVFUSER_TEST_INSTALLED=FOLDER the
installed one, and the folder is for what tests compile and keep."""

import os
import sys
from pathlib import Path

BUILT = Path(__file__).resolve().parents[2] / "build" / "python"

# Tests compile what they compile, and leave the user's own cache of compiled kernels alone.
os.environ["NVFUSER_CACHE_MB"] = "0"

if BUILT.exists() and not os.environ.get("NVFUSER_TEST_INSTALLED"):
    sys.path.insert(0, str(BUILT))


def pytest_addoption(parser):
    parser.addoption(
        "--sample", metavar="K,…/N", help="of each test's sets of parameters, parts K (from 0) of N; at least one"
    )


def pytest_collection_modifyitems(config, items):
    sample = config.getoption("--sample")
    if not sample:
        return
    chosen, parts = sample.split("/")
    chosen, parts = {int(part) for part in chosen.split(",")}, int(parts)
    sets = {}
    for item in items:
        sets.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = set()
    for of_test in sets.values():
        some = [item for turn, item in enumerate(of_test) if turn % parts in chosen]
        kept.update(some or [of_test[min(chosen) % len(of_test)]])
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
