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
