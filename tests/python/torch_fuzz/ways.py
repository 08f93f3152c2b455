"""How programs are run: each way gives, for each program, what is wrong as text; empty if nothing is."""

import contextlib
import functools

import torch

from . import graphs, pointwise
from .compare import differences, near


def _compiled(function, options=None, dynamic=False):
    from nvfuser.dynamo.backend import backend

    torch._dynamo.reset()
    return torch.compile(function, backend=backend, options=options, dynamic=dynamic)


def _all_of(programs):
    functions = [program.function(f"program_{place}") for place, program in enumerate(programs)]
    return lambda lists: [function(*tensors) for function, tensors in zip(functions, lists, strict=True)]


# Pointwise programs, bit by bit ---------------------------------------------------------------------


def run_exact(programs, device="cpu"):
    """All in one graph: compiling costs more than running."""
    everything = _all_of(programs)
    theirs = everything([program.tensors(device) for program in programs])
    compiled = _compiled(everything, {"exact_numerics": True})
    ours = compiled([program.tensors(device) for program in programs])
    return ["; ".join(filter(None, map(differences, mine, other))) for mine, other in zip(ours, theirs, strict=True)]


# Graphs, forward and backward -----------------------------------------------------------------------


def with_gradients(function, tensors):
    """Results, then gradients of a weighted sum of them."""
    outputs = list(function(*tensors))
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    total = [
        (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)).sum().double()
        for y in outputs
        if y.requires_grad
    ]
    if not wanted or not total:
        return [y.detach() for y in outputs]
    found = torch.autograd.grad(sum(total), wanted, allow_unused=True)
    return [y.detach() for y in outputs] + [gradient for gradient in found if gradient is not None]


def _moved(program, amount):
    """Its tensors, each element moved by a relative `amount` at most."""
    tensors = []
    for place, each in enumerate(program.tensors()):
        generator = torch.Generator().manual_seed(place)
        drawn = torch.rand(each.shape, generator=generator, dtype=torch.float64, device="cpu")
        factor = 1 + amount * (drawn * 2 - 1).to(each.device)
        moved = each.detach() * factor.to(each.dtype)
        tensors.append(moved.requires_grad_(each.requires_grad))
    return tensors


_STEP = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


class _Expected:
    """Eager's results, and how far rounding may move each: what moved operands come to."""

    def __init__(self, program):
        self.function = program.function()
        self.results = with_gradients(self.function, program.tensors())
        dtypes = {each.dtype for each in program.inputs.values()}
        dtypes |= {torch.float32} if ".float()" in program.text() else set()
        step = max(_STEP[dtype] for dtype in dtypes)
        others = [with_gradients(self.function, _moved(program, amount)) for amount in (step, -step)]
        self.slack = [
            max((other[place].double() - result.double()).abs().max().item() for other in others)
            if result.is_floating_point() and result.numel()
            else 0.0
            for place, result in enumerate(self.results)
        ]

    def wrong(self, found):
        if len(found) != len(self.results):
            return f"{len(found)} results for {len(self.results)}"
        texts = []
        for place, (mine, other) in enumerate(zip(found, self.results, strict=True)):
            text = differences(mine, other, functools.partial(self._near, place))
            texts += [f"result {place}: {text}"] if text else []
        return "; ".join(texts)

    def _near(self, place, mine, other):
        return near(mine, other) | ((mine.double() - other.double()).abs() <= 20 * self.slack[place])


def run_graphs(programs, dynamic=False):
    found = []
    for program in programs:
        expected = _Expected(program)
        found.append(expected.wrong(with_gradients(_compiled(expected.function, dynamic=dynamic), program.tensors())))
    return found


@contextlib.contextmanager
def _fuser2():
    from nvfuser import torchscript

    assert torchscript.load(), "the TorchScript extension was not built"
    with torch.jit.fuser("fuser2"):
        yield


def run_scripts(programs):
    """Traced, then called until the profile is used, forward and backward."""
    found = []
    with _fuser2():
        for program in programs:
            expected = _Expected(program)
            traced = torch.jit.trace(expected.function, program.tensors(), check_trace=False)
            for _ in range(4):
                text = expected.wrong(with_gradients(traced, program.tensors()))
                if text:
                    break
            found.append(text)
    return found


@contextlib.contextmanager
def _failing_aloud():
    """What this backend cannot do is no error to users; here its warnings are."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="nvfuser")
        yield


# Name: how programs are drawn, how they are run, how many at once.
WAYS = {
    "exact": (pointwise.draw, run_exact, 24),
    "graphs": (graphs.draw, run_graphs, 8),
    "dynamic": (graphs.draw, functools.partial(run_graphs, dynamic=True), 8),
    "scripts": (graphs.draw, run_scripts, 8),
}


def run(way, programs):
    """What is wrong with each program."""
    function = WAYS[way][1]
    with _failing_aloud():
        try:
            return function(programs)
        except Exception as error:
            if len(programs) == 1:
                return [f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300] if str(error) else ''}"]
            return [text for program in programs for text in run(way, [program])]
