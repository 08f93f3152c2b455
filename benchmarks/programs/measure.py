"""Times and checks one program with eager PyTorch, Inductor and this library, in turns in one process.

In turns, so that what else runs on the machine meets all three alike; medians. Where a program's tensors do not fit
into caches, an operation of PyTorch empties them before each call, and leaves PyTorch's threads as a program does.
"""

import dataclasses
import math
import statistics
import time
import types

import torch
from nvfuser.dynamo.backend import observing

from .kernels import kernels_of

EAGER, INDUCTOR, OURS = "eager", "inductor", "nvfuser"
BACKENDS = (EAGER, INDUCTOR, OURS)
FLUSH_BYTES = {"cpu": 64 << 20, "cuda": 256 << 20}
CYCLES_A_SECOND = 2e9  # of a GPU, at most
CACHED_BYTES = 8 << 20  # tensors of fewer bytes are in caches when an ordinary program comes to them
LOSES = 0.97  # a ratio below it
ERROR_OF_EAGER = 4  # values may be so many times further from those in float64 than eager's


@dataclasses.dataclass
class Measured:
    """What is known of one program at one size, by backend."""

    times: dict = dataclasses.field(default_factory=dict)  # milliseconds of a call
    wrong: dict = dataclasses.field(default_factory=dict)  # what is wrong with it
    kernels: dict = dataclasses.field(default_factory=dict)  # `kernels_of`, where the options ask for them

    @classmethod
    def failed(cls, reason):
        return cls(wrong={"all": reason})

    def ratio(self):
        """Time of the better of eager and Inductor over ours; NaN where one is not known."""
        peers = [self.times[peer] for peer in (EAGER, INDUCTOR) if peer in self.times]
        return min(peers) / self.times[OURS] if peers and OURS in self.times else math.nan


def prepared(case, options):
    """What `checked` returns for a case, a pair of program and size; `options` are the command's."""
    try:
        return checked(*case, options["device"])
    except torch.OutOfMemoryError as error:
        return {}, {"all": str(error)}


def timed(found, options):
    """`Measured` of what was prepared."""
    calls, wrong = found
    device = options["device"]
    flush = _flush(calls[EAGER].inputs, device) if EAGER in calls else lambda: None
    take = CLOCKS[options["clock"]](device)
    times = {name: 1e3 * each for name, each in in_turns(calls, flush, take, options["seconds"]).items()}
    found = Measured(times, wrong)
    if options["kernels"] and found.ratio() < LOSES:
        found.kernels = {name: kernels_of(call, flush) for name, call in calls.items() if name != EAGER}
    return found


def checked(program, size, device, backends=BACKENDS):
    """{backend: its calls}, {backend: what is wrong with its values, that it failed, or left a part to PyTorch}."""
    torch.manual_seed(0)
    given = [x.to(device) for x in program.inputs(*program.sizes[size])]
    calls, wrong = {}, {}
    exact = _values(Call(program, _wide(given), EAGER))
    errors = _errors(_values(Call(program, given, EAGER)), exact)
    allowed = [max(ERROR_OF_EAGER * error, program.tolerance) for error in errors]
    for backend in backends:
        try:
            call = Call(program, given, backend)
            with observing() as seen:
                values = _values(call)
            left = [str(reason) for graph in seen.graphs for reason in graph.failures()]
            if left:
                wrong[backend] = f"left to PyTorch: {left[0]}"
            errors = _errors(values, exact)
            worst = max((e / a for e, a in zip(errors, allowed, strict=True)), default=0)
            if not worst <= 1:
                wrong[backend] = f"values are {worst:.1f} times further from those in float64 than they may be"
            calls[backend] = call
        except Exception as error:
            wrong[backend] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return calls, wrong


class Call:
    """One way to call a program: results, and gradients where it is trained."""

    def __init__(self, program, given, backend):
        self.trained = program.trained
        self.function = _apart(program.function)
        if backend != EAGER:
            self.function = torch.compile(self.function, backend=backend)
        self.inputs = [x.clone(memory_format=torch.preserve_format) for x in given]
        if self.trained:
            self.inputs = [x.requires_grad_(x.is_floating_point()) for x in self.inputs]
        self.leaves = [x for x in self.inputs if x.requires_grad]
        self.gradients = None

    def __call__(self):
        if not self.trained:
            with torch.no_grad():
                return _flat(self.function(*self.inputs))
        results = [x for x in _flat(self.function(*self.inputs)) if x.requires_grad]
        if self.gradients is None:
            self.gradients = [torch.ones_like(x) for x in results]
        return [*results, *torch.autograd.grad(results, self.leaves, self.gradients, allow_unused=True)]


def _apart(function):
    """The same function with code of its own: Dynamo keeps what it compiled with the code."""
    code = function.__code__.replace()
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__)


def _flat(results):
    if results is None:
        return []
    if isinstance(results, torch.Tensor):
        return [results]
    return [x for result in results for x in _flat(result)]


def _values(call):
    """Results, gradients and what became of the inputs, after one call; the inputs are as before then."""
    before = [x.detach().clone() for x in call.inputs]
    results = [x.detach().clone() for x in call() if x is not None]
    found = [*results, *(x.detach().clone() for x in call.inputs)]
    for x, old in zip(call.inputs, before, strict=True):
        x.detach().copy_(old)
    return found


def _wide(given):
    return [x.double() if x.is_floating_point() else x for x in given]


def _errors(values, exact):
    return [_error(value, other) for value, other in zip(values, exact, strict=True)]


def _error(value, exact):
    value, exact = value.double(), exact.double()
    same = (value == exact) | (value.isnan() & exact.isnan())
    apart = torch.where(same, 0.0, value - exact).norm()
    return (apart / torch.where(exact.isfinite(), exact, 0.0).norm().clamp(min=1e-30)).item() if apart != 0 else 0.0


def _flush(given, device):
    if sum(x.numel() * x.element_size() for x in given) < CACHED_BYTES:
        return lambda: None
    return torch.empty(FLUSH_BYTES[device], dtype=torch.uint8, device=device).zero_


def _wall(device):
    """Seconds of a call on the host's clock, from an idle device to an idle one."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def take(call, flush):
        flush()
        wait()
        begin = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - begin

    return take


def _gpu(_):
    """Seconds of a call on the GPU's clock: it is kept busy until the host has launched all of the call."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    host = {}

    def take(call, flush):
        torch.cuda.synchronize()
        torch.cuda._sleep(int(1.5 * CYCLES_A_SECOND * host.get(call, 1e-3)))
        flush()
        begin.record()
        before = time.perf_counter()
        call()
        host[call] = min(time.perf_counter() - before, 0.1)
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3

    return take


CLOCKS = {"wall": _wall, "gpu": _gpu}


def in_turns(calls, flush, take, seconds):
    """Median seconds of a call by name, after `seconds` of calls of each or as many turns as settle them."""
    times = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(3):
            call()
    end = time.perf_counter() + seconds * len(calls)
    turns = 0
    while turns < 5 or (time.perf_counter() < end and turns < 3000):
        turns += 1
        for name, call in calls.items():
            times[name].append(take(call, flush))
    return {name: statistics.median(taken) for name, taken in times.items()}
