"""What tests of TorchScript share: the extension, built once in a folder of its own, and comparisons with eager.

They run on the device of tested_device.py.
"""

import contextlib
import os
import subprocess
import sys
import types
from pathlib import Path

import nvfuser
import torch
from nvfuser import torchscript
from tested_device import DEVICE, ON_GPU

BUILD = Path(__file__).resolve().parents[2] / "build"
FOLDER = Path(os.environ.get("NVFUSER_TEST_INSTALLED") or BUILD, "torchscript")
os.environ["NVFUSER_CACHE_DIR"] = str(FOLDER)  # kernels are not kept (conftest.py), the extension is
FOLDER.mkdir(parents=True, exist_ok=True, mode=0o700)

if ON_GPU:
    # Eager and fused programs multiply by the same library, but round the same only in full precision.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False

assert torchscript.load(), "the extension was not built; the warning above says why"


def environment(**variables):
    """For a process of its own, in which nobody imports nvfuser."""
    env = {**os.environ, "PYTHONPATH": str(Path(nvfuser.__path__[0]).parent), **variables}
    return {name: value for name, value in env.items() if value is not None}


def run_script(text, *, check=True, **variables):
    """Output and errors of a Python program."""
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment(**variables), timeout=600
    )
    assert not check or done.returncode == 0, done.stderr[-4000:]
    return done


def in_file(text):
    """A program that runs another one from a file: scripting reads the source."""
    wrapped = f"import tempfile, runpy\nfile = tempfile.NamedTemporaryFile('w', suffix='.py')\nfile.write({text!r})\n"
    return wrapped + "file.flush()\nrunpy.run_path(file.name)\n"


@contextlib.contextmanager
def knob(name, value):
    """torch._C._jit_set_nvfuser_<name>_mode for a while."""
    setter = getattr(torch._C, f"_jit_set_nvfuser_{name}_mode")
    before = setter(value)
    try:
        yield
    finally:
        setter(before)


def rand(*sizes, dtype=torch.float32, grad=False):
    return torch.randn(*sizes, dtype=torch.float64).to(DEVICE, dtype).requires_grad_(grad)


def copies(arguments):
    """Of tensors, in the same memory order; gradients are asked for alike."""

    def copied(argument):
        if not isinstance(argument, torch.Tensor):
            return argument
        made = torch.empty_strided(argument.size(), argument.stride(), dtype=argument.dtype, device=argument.device)
        made.copy_(argument.detach())
        return made.requires_grad_(argument.requires_grad)

    return [copied(argument) for argument in arguments]


def flat(value):
    """The tensors and numbers in a result."""
    if isinstance(value, (tuple, list)):
        return [part for one in value for part in flat(one)]
    return [value]


TOLERANCES = {
    torch.float64: (1e-10, 1e-11),
    torch.float32: (2e-5, 2e-5),
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (1.6e-2, 1.6e-2),
    torch.complex64: (2e-5, 2e-5),
}


def assert_equal(got, want):
    """Values, dtypes, shapes and memory order."""
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        if not isinstance(other, torch.Tensor):
            assert one == other or abs(one - other) <= 2e-5 * abs(other)
            continue
        rtol, atol = TOLERANCES.get(other.dtype, (0, 0))
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True, check_stride=other.numel() > 1)


def gradients(function, arguments):
    """The result, and of each argument that asks for one the gradient of the sum of all results."""
    result = function(*arguments)
    total = sum(part.float().sum() for part in flat(result) if isinstance(part, torch.Tensor) and part.requires_grad)
    total.backward()
    asked = [argument for argument in arguments if isinstance(argument, torch.Tensor) and argument.requires_grad]
    return [result, [argument.grad for argument in asked]]


def graphs_of(scripted):
    """Optimised graphs as text: the function's, and those of its differentiable parts, forward and backward."""
    texts = []
    for plan in scripted.get_debug_state().execution_plans.values():
        texts.append(str(plan.graph))
        for states in (plan.code.differentiable_op_executor_states(), plan.code.grad_executor_states()):
            for state in states:
                texts += [str(inner.graph) for inner in state.execution_plans.values()]
    return texts


def groups_in(scripted):
    """How many fusion groups there are in its optimised graphs."""
    return sum(text.count("= prim::CudaFusionGroup") for text in graphs_of(scripted))


def name_of(program):
    return getattr(program, "__name__", type(program).__name__)


def compiled_anew(program):
    """Scripted without what earlier tests of it have left: PyTorch keeps one result for each function."""
    if isinstance(program, types.FunctionType):
        again = types.FunctionType(program.__code__, program.__globals__, program.__name__, program.__defaults__)
        again.__annotations__, again.__kwdefaults__ = program.__annotations__, program.__kwdefaults__
        program = again
    return torch.jit.script(program)


def equals_eager(program, calls):
    """Calls in turn, each list of arguments several times: results and what is updated in place; something is fused."""
    scripted = compiled_anew(program)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for arguments in [calls[0], calls[0], *calls, *calls]:
            given, expected = copies(arguments), copies(arguments)
            got = scripted(*given)
            want = program(*expected)
            assert_equal(got, want)
            assert_equal(given, expected)
    assert any("prim::CudaFusionGroup" in text for text in graphs_of(scripted)), graphs_of(scripted)
