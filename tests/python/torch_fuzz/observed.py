"""What a caller can see of a call: results and gradients, what became of the arguments, how tensors lie in memory, and
which share it. Eager's is what is expected; rounding may move it as far as moved operands do."""

import contextlib
import contextvars
import functools

import torch

from .compare import differences, near

_STEP = {torch.float64: 1e-13, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}
_STEP |= {torch.complex64: 1e-5, torch.complex128: 1e-13}
_BY_NAME = {"half(": 4e-3, "float16": 4e-3, "bfloat16": 2e-2, "float()": 1e-5, "float32": 1e-5}


class Observed:
    """One call. `outputs` are the results of a function that was called with tensors that it may have changed."""

    def __init__(self, function, tensors):
        wanted = differentiable(tensors)
        self.read(tensors, list(function(*tensors)))
        self.take(gradients([wanted], [self.outputs])[0])

    @classmethod
    def of_named(cls, tensors, outputs, found):
        """Of a call whose gradients, `found`, were asked for otherwise."""
        made = cls.__new__(cls)
        made.read(tensors, outputs)
        made.take(found)
        return made

    @classmethod
    def of_many(cls, function, lists):
        """Of programs that one function runs."""
        wanted = [differentiable(tensors) for tensors in lists]
        all_outputs = [list(outputs) for outputs in function(lists)]
        made = []
        for tensors, outputs in zip(lists, all_outputs, strict=True):
            each = cls.__new__(cls)
            each.read(tensors, outputs)
            made.append(each)
        for each, found in zip(made, gradients(wanted, all_outputs), strict=True):
            each.take(found)
        return made

    def read(self, tensors, outputs):
        self.outputs = outputs
        self.shared = _shared([*tensors, *outputs])
        self.differentiable = [y.requires_grad for y in outputs]
        self.named = {f"result {place}": y for place, y in enumerate(outputs)}
        self.named |= {f"argument {place}": x for place, x in enumerate(tensors)}

    def take(self, found):
        self.named |= {f"gradient {place}": g for place, g in enumerate(found)}
        self.values = {
            name: None if tensor is None else tensor.detach().resolve_conj().resolve_neg().clone()
            for name, tensor in self.named.items()
        }
        self.strides = {name: None if t is None else _strides(t) for name, t in self.named.items()}
        del self.named, self.outputs


def takes(program):
    """Whether eager takes a program, gradients included."""
    try:
        Observed(program.function(), program.tensors())
    except RuntimeError:
        return False
    return True


def differentiable(tensors):
    """Before the call: one that is written to may become a result."""
    return [x for x in tensors if x.requires_grad]


def gradients(lists, all_outputs):
    """Of a weighted sum of all results, for each list of tensors."""
    total = [weighted(y) for outputs in all_outputs for y in outputs if y.requires_grad]
    wanted = [x for tensors in lists for x in tensors]
    if not wanted or not total:
        return [[] for _ in lists]
    found = iter(torch.autograd.grad(sum(total), wanted, allow_unused=True))
    return [[next(found) for _ in tensors] for tensors in lists]


# What gradients of results are multiplied by: they are operands of a backward, which rounding moves, too.
_factor = contextvars.ContextVar("_factor", default=None)


def weighted(y):
    """A number that hangs on each element in another way."""
    if y.is_complex():
        return weighted(y.real) + weighted(y.imag)
    weights = torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view(y.shape)
    factor = _factor.get()
    return (y.double() * (weights if factor is None else weights * factor(y.shape))).sum()


@contextlib.contextmanager
def _moved_slopes(amount, seed):
    generator = torch.Generator().manual_seed(seed)

    def factor(shape):
        return 1 + amount * (torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1)

    token = _factor.set(factor)
    try:
        yield
    finally:
        _factor.reset(token)


def _shared(tensors):
    """For each the first that has the same memory, if it has any."""
    first, found = {}, []
    for position, tensor in enumerate(tensors):
        place = tensor.untyped_storage().data_ptr()
        found.append(first.setdefault(place, position) if place else None)
    return found


def _strides(tensor):
    """Those that say where elements are."""
    if not tensor.numel():
        return []
    return [stride if size > 1 else None for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]


def _moved(program, amount, seed):
    """Its tensors, each element moved by a relative `amount` at most."""
    tensors = []
    for place, each in enumerate(program.tensors()):
        if each.is_floating_point() or each.is_complex():
            generator = torch.Generator().manual_seed(1000 * seed + place)
            drawn = torch.rand(each.shape, generator=generator, dtype=torch.float64, device="cpu")
            with torch.no_grad():
                each.as_strided(each.shape, each.stride()).copy_(
                    each * (1 + amount * (drawn * 2 - 1))
                ) if not _overlaps(each) else None
        tensors.append(each)
    return tensors


def _overlaps(tensor):
    """Whether two elements are one place in memory."""
    places = torch.zeros(tensor.shape, dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        places += (torch.arange(size) * stride).view([-1] + [1] * (tensor.dim() - axis - 1))
    return places.unique().numel() < tensor.numel()


class Expected:
    """Eager's results, and how far rounding may move each: what moved operands come to. `observe` calls the function
    with tensors and gives an Observed."""

    def __init__(self, program, function=None, observe=Observed):
        self.function, self.observe = function or program.function(), observe
        self.observed = observe(self.function, program.tensors())
        text = program.text()
        self.step = max(
            max((_STEP.get(each.dtype, 1e-13) for each in program.inputs.values()), default=1e-13),
            max(step if name in text else 0 for name, step in _BY_NAME.items()),
        )
        others = [self._once_more(program, seed) for seed in range(3)]
        self.slack = {
            name: _slack(value, [other.values[name] for other in others])
            for name, value in self.observed.values.items()
            if value is not None
        }

    def _once_more(self, program, seed):
        with _moved_slopes(self.step, seed):
            return self.observe(self.function, _moved(program, self.step, seed))

    def wrong(self, found, layout=True):
        """`found`: an Observed of the same program."""
        expected = self.observed
        texts = [text for name, value in expected.values.items() if (text := self._differs(name, found, value, layout))]
        if layout and found.shared != expected.shared:
            texts.append(f"memory is shared as {found.shared}, not {expected.shared}")
        if found.differentiable != expected.differentiable:
            texts.append(f"gradients are known of {found.differentiable}, not {expected.differentiable}")
        return "; ".join(texts)

    def _differs(self, name, found, value, layout):
        mine = found.values.get(name)
        if value is None or mine is None:
            return "" if mine is value else f"{name}: {'none' if mine is None else 'one'}"
        text = differences(mine, value, functools.partial(self._near, name))
        # Gradients lie as their operations do; what a backend writes in simpler ones has others.
        lies = layout and not name.startswith("gradient")
        if not text and lies and found.strides[name] != self.observed.strides[name]:
            text = f"strides {found.strides[name]}, not {self.observed.strides[name]} of {tuple(value.shape)}"
        return f"{name}: {text}" if text else ""

    def _near(self, name, mine, other):
        allowed, anything = self.slack.get(name, (0.0, False))
        if not (other.is_floating_point() or other.is_complex()):
            return (mine == other) | anything
        wide = torch.complex128 if other.is_complex() else torch.float64
        within = (mine.to(wide) - other.to(wide)).abs() <= 20 * allowed
        return near(mine, other, self.step) | anything | within


def _slack(value, others):
    """How far elements were moved at most, and which may be anything."""
    none = torch.zeros(value.shape, dtype=torch.bool)
    others = [other for other in others if other is not None and other.shape == value.shape]
    if not (value.is_floating_point() or value.is_complex()):
        return 0.0, functools.reduce(torch.logical_or, [other != value for other in others], none)
    wide = torch.complex128 if value.is_complex() else torch.float64
    anything = functools.reduce(
        torch.logical_or,
        [(other.isfinite() != value.isfinite()) | (other.isnan() != value.isnan()) for other in others],
        none,
    )
    moved = [(other.to(wide) - value.to(wide)).abs().nan_to_num(0, 0, 0) for other in others]
    return max((each.max().item() for each in moved if each.numel()), default=0.0), anything
