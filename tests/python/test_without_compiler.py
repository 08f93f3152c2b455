"""Where nothing can be compiled, a call runs on the host, with one warning a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PROGRAM = """
import resource, sys
sys.path.insert(0, {here!r})
import conftest
import numpy as np
from nvfuser_direct import DataType, FusionDefinition

def defined():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], [True, True], dtype=DataType.Float)
        total = fd.ops.sum(fd.ops.exp(x), [1], keepdim=True)
        fd.add_output(fd.ops.div(fd.ops.exp(x), total))
        fd.add_output(fd.ops.add(fd.ops.permute(x, [1, 0]), fd.define_scalar(1.0)))
        fd.add_output(fd.ops.sum(x, [0]))
    return fd

def check(fd, rows, columns):
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    share, turned, total = map(np.asarray, fd.execute([x]))
    np.testing.assert_allclose(share, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(turned, x.T + 1, rtol=1e-6)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-4, atol=1e-5)

for fd in (defined(), defined()):
    for rows, columns in ((3, 4), (700, 33), (1, 1)):
        {before}
        check(fd, rows, columns)
"""
NO_ROOM = "resource.setrlimit(resource.RLIMIT_FSIZE, (%d, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))"


def run(before, **environment):
    program = PROGRAM.format(here=str(HERE), before=before)
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=300
    )


def warnings_of(done):
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stderr.splitlines() if line.startswith("nvfuser:")]


# Where the text does not fit, and where what is compiled does not.
@pytest.mark.parametrize("bytes_of_a_file", [0, 4096, 12_000])
def test_no_room_for_files(bytes_of_a_file):
    said = warnings_of(run(NO_ROOM % bytes_of_a_file))
    assert len(said) == 1 and "nothing can be compiled" in said[0] and "there is no room" in said[0], said


def test_a_full_folder(tmp_path):
    mounted = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "true"], capture_output=True, check=False
    ).returncode
    if mounted != 0:
        pytest.skip("no file system of its own can be mounted here")
    program = PROGRAM.format(here=str(HERE), before="")
    root = HERE.parents[1]
    keep, back = "true", "true"
    if root.is_relative_to("/tmp"):
        keep = f"mount --rbind {root} /mnt"
        back = f"mkdir -p {root} && mount --rbind /mnt {root}"
    script = f"""mount -t tmpfs -o size=16k none {tmp_path} && {keep} && mount -t tmpfs -o size=16k none /tmp && {back}
mount -t tmpfs -o size=16k none /dev/shm; exec "$@" """
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = warnings_of(done)
    assert len(said) == 1 and "nothing can be compiled" in said[0] and "there is no room" in said[0], said


def test_no_compiler():
    said = warnings_of(run("", CXX="/nowhere/c++", PATH="/nowhere"))
    assert len(said) == 1 and "no C++ compiler was found; install g++" in said[0], said


def test_no_compiler_is_an_error_where_nothing_may_stand_in():
    done = run("", CXX="/nowhere/c++", PATH="/nowhere", NVFUSER_DISABLE="fallback")
    assert done.returncode != 0
    assert "CompileError: host compiler: no C++ compiler was found; install g++" in done.stderr


def test_another_fusion_is_compiled_once_there_is_room():
    first = "resource.getrlimit(resource.RLIMIT_FSIZE)[1] if columns != 4 else 2**30 if 'said' in globals() else 0"
    before = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({first}, resource.RLIM_INFINITY)); said = columns"
    done = run(before, NVFUSER_DUMP="ptxas_verbose")
    assert len(warnings_of(done)) == 1
    assert "compiled in" in done.stdout + done.stderr
