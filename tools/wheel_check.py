"""A wheel for each Python as its users get it: built and installed by pip, tested away from the build folder.

    python3 tools/wheel_check.py [--wheels FOLDER] [--torch REQUIREMENTS] PYTHON...

For each PYTHON (a path, or a name on PATH): the wheel in FOLDER that serves it, which is built where there is none,
goes into a fresh virtual environment with NumPy and pytest; then tests run without PyTorch, and with --torch all tests
of tests/python that an installed package can run (OF_THE_BUILD has the others). REQUIREMENTS are words for
`pip install`, such as 'torch==2.13.0'. Prints a row for each PYTHON; exits with 1 if anything failed. What was printed
on the way is in FOLDER.
"""

import argparse
import fnmatch
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
REQUIREMENTS = ROOT / "tools" / "requirements"
# Their arrays are NumPy's; no other test can be read where there is no PyTorch.
WITHOUT_TORCH = (
    "test_numpy.py",
    "test_arrays_frameworks.py",
    "test_command.py",
    "test_direct_errors.py",
    "test_direct_package.py",
    "test_explain.py",
    "test_stubs.py",
)
# What no wheel has, so that these tests are for ./dev test alone.
OF_THE_BUILD = {
    "test_examples.py": "runs the C++ programs of examples/cpp/ that the build made",
    "test_transformer_block.py": "runs one of them",
    "test_user_example.py": "compiles C++ programs against the headers that ./dev install brings",
}
# The oldest PyTorch that files and tests can do with, and why.
NEEDS_TORCH = {
    "test_torchscript_*.py": ((2, 7), "the extension refuses older ones"),
    "test_pretrained_model.py": ((2, 6), "transformers loads the model's weights with no older one"),
    "test_thunder.py": ((2, 7, 1), "Lightning Thunder refuses older ones"),
    "test_tensors_are_borrowed_through_the_exchange_table": ((2, 10), "older ones have no such table"),
}
# Packages that would bring another PyTorch than the one asked for, or what is not used (./dev).
WITHOUT_NEEDS = ("lightning-thunder==", "rxnfp==")


class Failed(Exception):
    pass


def call(log, *command, **options):
    """Exit code and output of a command, which also goes to the log."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    with log.open("a") as file:
        file.write(f"$ {shlex.join(words)}\n{done.stdout}\n")
    return done.returncode, done.stdout


def run(log, *command, **options):
    """The output of a command. A failure ends the work on this Python."""
    code, output = call(log, *command, **options)
    if code != 0:
        raise Failed(f"{shlex.join(str(word) for word in command[:6])} … failed with {code}; see {log}")
    return output


def wheel_for(python, wheels, log):
    """The wheel of ours in the folder that this Python's pip takes; pip makes one where there is none."""
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    taken = (*pip, "download", "--no-index", "--no-deps", "--no-build-isolation", "--only-binary=:all:")
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(log, *taken, "--find-links", wheels, "--dest", folder, "nvfuser-jit")
        except Failed:
            # The library is compiled for the first Python alone; all others only add their module.
            kept = (f"--config-settings=build-dir={wheels / 'objects'}", "--config-settings=cmake.args=--fresh")
            run(log, *pip, "wheel", "--no-deps", *kept, "--wheel-dir", wheels, ROOT)
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


def pinned(name):
    """The packages of a set of tools/requirements, but PyTorch, which is given, and NumPy as this Python has it."""
    lines = (REQUIREMENTS / f"{name}.txt").read_text().split()
    return ["numpy" if line.startswith("numpy==") else line for line in lines if not line.startswith("torch==")]


def tests_with(torch):
    """For pytest: all tests that an installed package can run beside this PyTorch."""
    version = tuple(int(part) for part in re.findall(r"\d+", torch)[:3])
    too_new = [pattern for pattern, (oldest, _) in NEEDS_TORCH.items() if version < oldest]
    files = [path.name for path in sorted(TESTS.glob("test_*.py")) if path.name not in OF_THE_BUILD]
    files = [file for file in files if not any(fnmatch.fnmatch(file, pattern) for pattern in too_new)]
    names = [pattern for pattern in too_new if not pattern.endswith(".py")]
    return [*files, "-k", "not (" + " or ".join(names) + ")"] if names else files


def test(python, words, log):
    """Whether all tests passed, and how many, as pytest says it. The build folder and the checkout's packages are out
    of sight; what tests compile goes into a folder of their own."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [TESTS / word if word.endswith(".py") else word for word in words]
    command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
    with tempfile.TemporaryDirectory() as elsewhere:
        env["NVFUSER_TEST_INSTALLED"] = elsewhere
        code, output = call(log, *command, env=env, cwd=elsewhere)
    return code == 0, output.strip().splitlines()[-1]


def check(python, wheels, torch):
    """Whether all passed, and a row: Python, wheel, PyTorch, what the tests said without and with it."""
    version = subprocess.check_output([python, "-c", "import platform; print(platform.python_version())"], text=True)
    log = wheels / f"python-{version.strip()}.log"
    log.write_text("")
    wheel = wheel_for(python, wheels, log)
    with tempfile.TemporaryDirectory() as folder:
        run(log, python, "-m", "venv", folder)
        own = Path(folder, "bin", "python")
        pip = (own, "-m", "pip", "--disable-pip-version-check", "install")
        nanobind = [line for line in pinned("build") if line.startswith("nanobind==")]  # writes the stubs anew
        run(log, *pip, "numpy", "pytest", *nanobind, wheel)
        results = [test(own, WITHOUT_TORCH, log)]
        if torch:
            run(log, *pip, *shlex.split(torch))
            torch = run(log, own, "-c", "import torch; print(torch.__version__)", cwd=folder).strip().splitlines()[-1]
            packages = [*pinned("test"), *pinned("weights")]
            run(log, *pip, *(package for package in packages if not package.startswith(WITHOUT_NEEDS)))
            run(log, *pip, "--no-deps", *(package for package in packages if package.startswith(WITHOUT_NEEDS)))
            results.append(test(own, tests_with(torch), log))
    said = [text for _, text in results]
    row = (version.strip(), wheel.name, versions_asked(wheel), torch or "none", *said)
    return all(passed for passed, _ in results), row


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
            passed, row = check(found, wheels, arguments.torch)
            print("|", " | ".join(row), "|", flush=True)
            failed |= not passed
        except Failed as failure:
            failed = True
            print(f"{python}: {failure}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
