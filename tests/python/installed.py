"""An installed nvfuser in a temporary folder, and programs built against it as a user would build them."""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(command, **options):
    """Runs a command to its end. Its failure fails the test with all that it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def tool(name):
    """A program of the checkout's .venv, else of the machine."""
    own = ROOT / ".venv" / "bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    assert found, f"{name} is missing"
    return found


def compiler():
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    assert found, "no C++ compiler"
    return found


@functools.cache
def _folder():
    return tempfile.TemporaryDirectory(prefix="nvfuser-installed-")  # goes with the process


@functools.cache
def prefix():
    """Where the library that `./dev build` made is installed. The tree is moved once, since it says that it may be."""
    first = Path(_folder().name) / "first"
    run([tool("cmake"), "--install", ROOT / "build", "--prefix", first])
    return first.rename(first.with_name("moved"))


def pkg_config(*options):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix().glob("lib*/**/pkgconfig")))}
    return run([tool("pkg-config"), *options, "nvfuser"], env=environment).split()


def build_with_pkg_config(folder, source):
    """Writes `source` to the folder and builds it with a compiler and pkg-config's flags alone."""
    (folder / "program.cpp").write_text(source)
    run([compiler(), "program.cpp", "-o", "program", *pkg_config("--cflags", "--libs")], cwd=folder)
    return folder / "program"
