"""Builds the extension for the installed PyTorch, with the machine's C++ compiler, and keeps it."""

import fcntl
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).parent / "src"
# The one unit that includes PyTorch's headers comes first: it takes as long as all others together.
_WITH_TORCH = "extension.cpp"
_SECONDS = 1800


class BuildError(RuntimeError):
    """The extension cannot be built; says why and what to do."""


def cache_folder():
    """Where built extensions are kept."""
    given = os.environ.get("NVFUSER_CACHE_DIR") or os.environ.get("PYTORCH_NVFUSER_CACHE_DIR")
    if not given:
        given = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nvfuser"
    return Path(given) / "torchscript"


def _private(folder):
    """The folder, made if need be; nobody else may put libraries there."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise BuildError(f"others may write to {folder}; make it yours alone (chmod 700), or set NVFUSER_CACHE_DIR")
    return folder


def _compiler():
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        words = shlex.split(name or "")
        if words and shutil.which(words[0]):
            return words
    raise BuildError(
        "the extension for PyTorch has to be built once, and no C++ compiler was found (CXX, c++, g++, clang++); "
        "install one (Debian: apt-get install g++), or set PYTORCH_JIT_ENABLE_NVFUSER=0"
    )


def _mapped(name):
    """The file of a shared library as this process has it; None if it has none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if f"/{name}.so" in path:
            return Path(path)
    return None


def _library():
    import nvfuser._C  # noqa: F401  which links it

    library = _mapped("libnvfuser")
    if library is None:
        raise BuildError("libnvfuser was not found in this process")
    return library


def _cxx_runtime():
    """Linker flags for the C++ runtime that PyTorch uses here.

    Some compilers have theirs as an archive alone. A stream that one copy of the runtime made cannot be written to by
    another, and the extension and PyTorch hand them to each other.
    """
    shared = _mapped("libstdc++")
    return [str(shared), "-Wl,--exclude-libs,libstdc++.a"] if shared else []


def _units():
    """The sources that are compiled by themselves; extension.cpp includes the others."""
    included = (SOURCES / _WITH_TORCH).read_text()
    others = (path.name for path in SOURCES.glob("*.cpp") if path.name != _WITH_TORCH)
    return [_WITH_TORCH, *sorted(name for name in others if f'"{name}"' not in included)]


def _key(*parts):
    digest = hashlib.sha256("\0".join(map(str, parts)).encode())
    for path in sorted(SOURCES.rglob("*.*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _run(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise BuildError(f"the compiler did not end in {_SECONDS} seconds: {shlex.join(command)}") from None
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line][:5] or done.stderr.splitlines()[-5:]
        raise BuildError("the compiler refused the extension:\n  " + "\n  ".join([shlex.join(command), *errors]))


def build(folder=None):
    """The extension's path: built for this PyTorch before, or now, which takes about a minute."""
    import torch

    version = torch.__version__.split("+")[0]
    if tuple(map(int, version.split(".")[:2])) < (2, 7):
        raise BuildError(f"PyTorch {version} is too old for the extension; 2.7 or later is needed")
    compiler = _compiler()
    library = _library()
    root = Path(torch.__file__).parent
    include = root / "include"
    flags = ["-std=c++20", "-O2", "-fPIC", "-w", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    flags += [f"-I{SOURCES}", f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}"]
    link = [f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", str(library), f"-Wl,-rpath,{root / 'lib'}"]
    link += [*_cxx_runtime(), f"-Wl,-rpath,{library.parent}", "-Wl,-z,defs"]
    about = subprocess.run([*compiler, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
    key = _key(torch.__version__, torch.version.git_version, about, *compiler, *flags, *link)
    folder = _private(Path(folder) if folder else cache_folder())
    built = folder / f"nvfuser_torchscript-{version}-{key}.so"
    if built.exists():
        return built
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be building it
        if built.exists():
            return built
        print(
            f"nvfuser: building the TorchScript extension for PyTorch {torch.__version__}, once (about a minute) …",
            file=sys.stderr,
            flush=True,
        )
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            units = _units()
            objects = [str(Path(scratch, unit).with_suffix(".o")) for unit in units]
            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
                commands = zip(units, objects, strict=True)
                list(pool.map(_run, ([*compiler, *flags, "-c", str(SOURCES / u), "-o", o] for u, o in commands)))
            made = str(Path(scratch, "extension.so"))
            _run([*compiler, "-shared", "-s", "-o", made, *objects, *link])
            os.replace(made, built)
    print(f"nvfuser: built {built}", file=sys.stderr, flush=True)
    return built
