"""A wheel for each Python as its users get it: built and installed by pip, tested away from the build folder.

    python3 tools/wheel_check.py [--wheels FOLDER] [--torch REQUIREMENTS] PYTHON...

For each PYTHON (a path, or a name on PATH): the wheel in FOLDER that serves it, which is built where there is none,
goes into a fresh virtual environment with NumPy and pytest; then tests run without PyTorch, and with --torch again with
it. REQUIREMENTS are words for `pip install`, such as 'torch==2.13.0'. Prints a row for each PYTHON; exits with 1 if
anything failed. What was printed on the way is in FOLDER.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "python"
WITHOUT_TORCH = ("test_numpy.py", "test_arrays_frameworks.py")
# They ask the installed package alone, not programs, libraries or headers of the build folder.
WITH_TORCH = ("test_spec_examples.py", "test_python.py", "test_arrays.py", "test_direct.py", "test_direct_package.py")


class Failed(Exception):
    pass


def run(log, *command, **options):
    """The output of a command, which also goes to the log. A failure ends the work on this Python."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    with log.open("a") as file:
        file.write(f"$ {shlex.join(words)}\n{done.stdout}\n")
    if done.returncode != 0:
        raise Failed(f"{shlex.join(words[:6])} … failed with {done.returncode}; see {log}")
    return done.stdout


def wheel_for(python, wheels, log):
    """The wheel of ours in the folder that this Python's pip takes; pip makes one where there is none."""
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    taken = (*pip, "download", "--no-index", "--no-deps", "--no-build-isolation", "--only-binary=:all:")
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(log, *taken, "--find-links", wheels, "--dest", folder, "nvfuser-jit")
        except Failed:
            run(log, *pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT)
            run(log, *taken, "--find-links", wheels, "--dest", folder, "nvfuser-jit")
        (found,) = Path(folder).glob("*.whl")
        return wheels / found.name


def versions_asked(wheel):
    """The newest version of each set of symbols that the wheel's libraries want of the machine: GLIBC 2.34, …"""
    newest = {}
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".so" in Path(name).name:
                text = subprocess.check_output(["objdump", "-T", archive.extract(name, folder)], text=True)
                for line in text.splitlines():
                    wanted = re.search(r"\*UND\*.*\((GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\)", line)
                    if wanted:
                        version = tuple(int(part) for part in wanted[2].split("."))
                        newest[wanted[1]] = max(newest.get(wanted[1], ()), version)
    return ", ".join(f"{name} {'.'.join(map(str, version))}" for name, version in sorted(newest.items()))


def test(python, files, log):
    """How many tests passed, as pytest says it. The build folder and the checkout's packages are out of sight."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["NVFUSER_TEST_INSTALLED"] = "1"
    command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(TESTS / file for file in files))
    with tempfile.TemporaryDirectory() as elsewhere:
        return run(log, *command, env=env, cwd=elsewhere).strip().splitlines()[-1]


def check(python, wheels, torch):
    """A row: Python, wheel, PyTorch, what the tests said without and with it."""
    version = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True)
    log = wheels / f"python-{version.strip()}.log"
    log.write_text("")
    wheel = wheel_for(python, wheels, log)
    with tempfile.TemporaryDirectory() as folder:
        run(log, python, "-m", "venv", folder)
        own = Path(folder, "bin", "python")
        pip = (own, "-m", "pip", "--disable-pip-version-check", "install")
        run(log, *pip, "numpy", "pytest", wheel)
        results = [test(own, WITHOUT_TORCH, log)]
        if torch:
            run(log, *pip, *shlex.split(torch))
            torch = run(log, own, "-c", "import torch; print(torch.__version__)", cwd=folder).strip().splitlines()[-1]
            results.append(test(own, WITH_TORCH, log))
    return (version.strip(), wheel.name, versions_asked(wheel), torch or "none", *results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "wheels", help="default: %(default)s")
    parser.add_argument("--torch", default="", help="words for pip install")
    parser.add_argument("pythons", metavar="PYTHON", nargs="+")
    arguments = parser.parse_args()
    arguments.wheels.mkdir(parents=True, exist_ok=True)
    wheels = arguments.wheels.resolve()
    failed = False
    for python in arguments.pythons:
        try:
            found = shutil.which(python)
            if not found:
                raise Failed("no such program")
            print("|", " | ".join(check(found, wheels, arguments.torch)), "|", flush=True)
        except Failed as failure:
            failed = True
            print(f"{python}: {failure}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
