"""Both modules where there is no PyTorch: NumPy's arrays in, NumPy's arrays out."""

import os
import subprocess
import sys

import numpy as np
import nvfuser_direct
import pytest
from nvfuser import DataType, Fusion, FusionDefinition
from test_spec_examples import code_of


def run(program, *arguments):
    """In a process in which PyTorch is not there, also where it is installed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    program = f"import sys\nsys.modules['torch'] = None\nimport numpy as np\n{program}"
    done = subprocess.run([sys.executable, "-c", program, *arguments], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_numpy(section):
    """An example of the document, with arrays of NumPy in the place of PyTorch's tensors."""
    code = code_of(section).replace("import torch\n", "").replace(", device='cpu')", ", dtype=np.float32)")
    for shape in ("2, 1, 8", "2, 4, 8"):
        code = code.replace(f"torch.ones({shape},", f"np.ones(({shape}),")
    assert "torch" not in code and code.count("np.ones(") == 2
    return code


CHECK = """
assert type(nvf_out) is np.ndarray and nvf_out.dtype == np.float32
np.testing.assert_array_equal(nvf_out, np.full((2, 4), 48.0, np.float32))
"""


def test_the_documents_examples():
    first = with_numpy("Example 1")
    run(first + CHECK)
    run(first + "\ndel fs, nvf_out\n" + with_numpy("Example 2") + CHECK)


@pytest.mark.parametrize("module", ["nvfuser", "nvfuser_direct", "nvfuser_direct.pytorch_utils", "nvfuser.dynamo"])
def test_importing(module):
    """What is made for PyTorch says that it is missing; all else is there without it."""
    if module in ("nvfuser", "nvfuser_direct"):
        run(f"import {module}")
    else:
        with pytest.raises(AssertionError, match=r"(ImportError|ModuleNotFoundError).*torch"):
            run(f"import {module}")


def test_the_command():
    command = "import runpy; runpy.run_module('nvfuser', run_name='__main__')"
    assert "torch          " in run(command, "info")
    assert "==== kernel 1 of 1 ====" in run(command, "demo")


def random(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def softmax(x):
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def normalised(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


CASES = {
    "exp of a sum": (lambda ops, a, b: ops.exp(ops.add(a, b)), lambda a, b: np.exp(a + b)),
    "softmax": (lambda ops, a, b: ops.softmax(ops.mul(a, b), 1), lambda a, b: softmax(a * b)),
    "layer norm": (lambda ops, a, b: ops.add(ops.layer_norm(a, 1)[0], b), lambda a, b: normalised(a) + b),
    "product of matrices": (lambda ops, a, b: ops.matmul(a, ops.permute(b, [1, 0])), lambda a, b: a @ b.T),
    "sum of all": (lambda ops, a, b: ops.sum(ops.mul(a, b), [0, 1]), lambda a, b: np.sum(a * b)),
    "comparison": (lambda ops, a, b: ops.where(ops.gt(a, b), a, b), np.maximum),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name):
    define, expected = CASES[name]
    fusion = Fusion()
    with FusionDefinition(fusion) as fd:
        fd.add_output(define(fd.ops, fd.define_tensor(2), fd.define_tensor(2)))
    for shape in ((1, 1), (5, 33), (64, 257)):
        a, b = random(*shape), random(*shape)[::-1]
        (out,) = fusion.execute([a, b])
        assert type(out) is np.ndarray
        np.testing.assert_allclose(out, expected(a, b), rtol=1e-4, atol=1e-4)


DTYPES = {
    DataType.Double: np.float64,
    DataType.Half: np.float16,
    DataType.Int: np.int64,
    DataType.Int32: np.int32,
    DataType.Bool: np.bool_,
    DataType.ComplexFloat: np.complex64,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_dtypes_and_strides(dtype):
    with nvfuser_direct.FusionDefinition() as fd:
        fd.add_output(fd.ops.permute(fd.ops.set(fd.define_tensor([-1, -1], [False, False], dtype)), [1, 0]))
    x = (3 * random(6, 10)).astype(DTYPES[dtype])
    for given in (x, x.T, x[1::2, ::3], x[:0]):
        (out,) = fd.execute([given])
        assert type(out) is np.ndarray and out.dtype == x.dtype
        np.testing.assert_array_equal(out, given.T)


def test_a_schedule_by_hand():
    with nvfuser_direct.FusionDefinition() as fd:
        total = fd.ops.sum(fd.ops.exp(fd.define_tensor([-1, -1], [True, True])), 1)
        fd.add_output(total)
        total.split(1, 8)
        fd.sched.transform_like(total.rfactor([1]))
        total.axis(0).parallelize(nvfuser_direct.ParallelType.grid_x)
        fd.sched.parallelize_like(total)
    x = random(10, 100)
    np.testing.assert_allclose(fd.manual_execute([x])[0], np.exp(x).sum(1), rtol=1e-5)


# Classes derived from NumPy's ------------------------------------------------------------------------


def doubled():
    with nvfuser_direct.FusionDefinition() as fd:
        x = fd.define_tensor(shape=[-1], contiguity=[True], dtype=nvfuser_direct.DataType.Float)
        fd.add_output(fd.ops.mul(x, 2.0))
    return fd


class Named(np.ndarray):
    """An array of a user's class."""


class Derived(Named):
    pass


@pytest.mark.parametrize("kind", [Named, Derived, np.memmap, np.recarray])
def test_arrays_of_derived_classes(kind, tmp_path):
    values = np.array([1, 2, 3], np.float32)
    if kind is np.memmap:
        values.tofile(tmp_path / "x")
        given = np.memmap(tmp_path / "x", np.float32, "r+")
    else:
        given = values.view(kind)
    assert type(given) is kind
    for _ in range(3):
        (result,) = doubled().execute([given])
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, values * 2)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array(np.ones(3, np.float32), [0, 1, 0])
    with pytest.raises(RuntimeError, match=r"execute: input 0 is a masked array of NumPy.*pass x\.filled\(value\)"):
        doubled().execute([masked])
    np.testing.assert_array_equal(doubled().execute([masked.filled(4)])[0], [2, 8, 2])
