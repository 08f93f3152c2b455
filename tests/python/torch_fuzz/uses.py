"""Ways in which callers use a function: what is compiled (`wrapped`), how it is called (`observe`), and with what, call
after call (`calls`). Each use is compared with eager in the same use."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch.utils.checkpoint import checkpoint

from .inputs import LAYOUTS
from .observed import Observed, differentiable, weighted


@dataclass(frozen=True)
class Call:
    """A program with the inputs of this call, and what else the function gets, by name."""

    program: object
    words: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Use:
    wrapped: Callable = lambda program: program.function()
    observe: Callable = Observed
    calls: Callable = lambda program, rng: [Call(program)]
    options: dict = field(default_factory=dict)  # of torch.compile


def _around(wrapper):
    """What is compiled calls the program's function."""

    def wrapped(program):
        function = program.function()

        def use(*tensors, **words):
            return wrapper(function, tensors, **words)

        return use

    return wrapped


# What is compiled -----------------------------------------------------------------------------------


def _without_gradients_first(function, tensors):
    with torch.no_grad():
        kept = function(*tensors)
    return [*kept, *function(*tensors)]


def _checkpointed(function, tensors):
    return checkpoint(lambda *inner: tuple(function(*inner)), *tensors, use_reentrant=False)


class _Damped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2 + 1

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.sigmoid(x) - gradient.sum()


def _own_function(function, tensors):
    inner = [_Damped.apply(x) if x.is_floating_point() and x.requires_grad else x for x in tensors]
    return [_Damped.apply(y) if y.is_floating_point() else y for y in function(*inner)]


def _hooked(function, tensors):
    results = []
    for y in function(*tensors):
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 2 + 1)
            y = y * 3
        results.append(y)
    return results


def _vectorized(function, tensors):
    stacked = [torch.stack([x, x * 0.5 if x.is_floating_point() else x]) for x in tensors]
    return torch.func.vmap(lambda *inner: tuple(function(*inner)), randomness="same")(*stacked)


def _floats(tensors):
    return tuple(place for place, x in enumerate(tensors) if x.is_floating_point())


def _loss(function, tensors):
    return sum(weighted(y) for y in function(*tensors) if y.is_floating_point())


def _gradient_of_function(function, tensors):
    tensors = [x.detach() for x in tensors]
    return torch.func.grad(lambda *inner: _loss(function, inner), _floats(tensors))(*tensors)


def _second_gradient(function, tensors):
    tensors, places = [x.detach() for x in tensors], _floats(tensors)

    def slopes(*inner):
        return sum(weighted(g) for g in torch.func.grad(lambda *inner: _loss(function, inner), places)(*inner))

    return torch.func.grad(slopes, places)(*tensors)


def _along_tangents(function, tensors):
    tensors = [x.detach() for x in tensors]
    places = _floats(tensors)

    def of_floats(*floats):
        inner = list(tensors)
        for place, x in zip(places, floats, strict=True):
            inner[place] = x
        return tuple(y for y in function(*inner) if y.is_floating_point())

    floats = tuple(tensors[place] for place in places)
    results, slopes = torch.func.jvp(of_floats, floats, tuple(x.cos() for x in floats))
    return [*results, *slopes]


def _with_numbers(function, tensors, number, flag):
    results = []
    for y in function(*tensors):
        if y.is_floating_point():
            results.append(y * number + number if flag else y - number)
        else:
            results.append(y if flag else y == number)
    return results


def _broken(program):
    """The function, with breaks of the graph between its statements."""
    rng = random.Random(program.seed)
    lines = program.text().splitlines()
    indent = lines[-2][: len(lines[-2]) - len(lines[-2].lstrip())]
    for place in range(len(lines) - 1, 1 + bool(program.within), -1):
        if rng.random() < 0.5:
            lines.insert(place, f"{indent}torch._dynamo.graph_break()")
    return program.function(text="\n".join(lines))


def _in_containers(program):
    """Arguments come in a dictionary and a list, which the function changes."""
    function = program.function()

    def use(named, listed):
        results = function(*named["inputs"])
        named["last"] = results[-1]
        listed.extend(results)
        listed[0] = None
        del named["inputs"]
        return {"results": results, "count": len(listed), "first": (results[0], [results[0]])}

    return use


# How it is called -----------------------------------------------------------------------------------


def _observe_containers(function, tensors):
    wanted, named, listed = differentiable(tensors), {"inputs": list(tensors)}, [0]
    given = function(named, listed)
    assert list(named) == ["last"] and listed[0] is None and given["count"] == len(listed)
    assert given["first"][0] is given["first"][1][0] and given["results"][-1] is named["last"]
    return Observed.of_named(tensors, [*given["results"], *listed[1:]], _slopes(given["results"], wanted))


def _slopes(outputs, wanted, **words):
    total = [weighted(y) for y in outputs if y.requires_grad]
    if not total or not wanted:
        return []
    return list(torch.autograd.grad(sum(total), wanted, allow_unused=True, **words))


def _twice_backward(function, tensors):
    wanted = differentiable(tensors)
    outputs = list(function(*tensors))
    first = _slopes(outputs, wanted, retain_graph=True)
    return Observed.of_named(tensors, outputs, [*first, *_slopes(outputs, wanted)])


def _each_output_backward(function, tensors):
    wanted = differentiable(tensors)
    outputs = list(function(*tensors))
    found = [slope for y in outputs for slope in _slopes([y], wanted, retain_graph=True)]
    return Observed.of_named(tensors, outputs, found)


def _within(manager):
    def observe(function, tensors):
        def inside(*inner):
            with manager():
                return function(*inner)

        return Observed(inside, tensors)

    return observe


class _Set:
    """While entered, a setting of PyTorch is another."""

    def __init__(self, get, change, value):
        self.get, self.change, self.value = get, change, value

    def __call__(self):
        return self

    def __enter__(self):
        self.before = self.get()
        self.change(self.value)

    def __exit__(self, *error):
        self.change(self.before)


def _kept_results(function, tensors):
    """Results of a first call, looked at behind a second call with other tensors."""
    others = [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]
    wanted = differentiable(tensors)
    outputs = list(function(*tensors))
    function(*others)
    return Observed.of_named(tensors, outputs, _slopes(outputs, wanted))


def _one_memory(function, tensors):
    """Arguments of a dtype lie beside each other in one memory."""
    given = list(tensors)
    for dtype in {x.dtype for x in tensors}:
        places = [place for place, x in enumerate(tensors) if x.dtype is dtype]
        memory = torch.cat([tensors[place].detach().reshape(-1) for place in places])
        begin = 0
        for place in places:
            x = tensors[place]
            part = memory[begin : begin + x.numel()].view(x.shape)
            begin += x.numel()
            given[place] = part.requires_grad_() if x.requires_grad else part
    return Observed(function, given)


def _one_tensor(function, tensors):
    """Arguments of the same kind are the same tensor, or views of it."""
    first, given = {}, []
    for x in tensors:
        kind = (x.dtype, x.shape, x.requires_grad)
        if kind in first and not x.requires_grad and len(given) % 2:
            given.append(first[kind].view(x.shape) if first[kind].is_contiguous() else first[kind])
        else:
            given.append(first.setdefault(kind, x))
    found = Observed.of_named(given, list(function(*given)), [])
    return found


def _shifted(function, tensors):
    """Arguments that are no leaves: parts of a larger tensor, whose gradient is looked at."""
    bases, given = [], []
    for x in tensors:
        base = torch.cat([x.detach().reshape(-1)[:3], x.detach().reshape(-1)])
        base = base.requires_grad_() if x.requires_grad else base
        bases.append(base)
        given.append(base[min(3, x.numel()) :].view(x.shape))
    wanted = differentiable(bases)
    outputs = list(function(*given))
    return Observed.of_named(given, outputs, _slopes(outputs, wanted))


# Calls, one after another ---------------------------------------------------------------------------


def _of_other_sizes(program, rng):
    sizes = sorted({size for each in program.inputs.values() for size in each.shape})
    calls = [program]
    for _ in range(4):
        if not sizes:
            break
        old, new = rng.choice(sizes), rng.choice([1, 1, 2, 3, 5, 6, 9, 14])
        calls.append(_each_input(calls[-1] if rng.random() < 0.4 else program, lambda x: _resized(x, old, new)))  # noqa: B023
    return [Call(each) for each in [*calls, program]]


def _resized(each, old, new):
    values = f"index:{new}" if each.values == f"index:{old}" else each.values
    return replace(each, shape=tuple(new if size == old else size for size in each.shape), values=values)


def _each_input(program, change):
    return replace(program, inputs={name: change(each) for name, each in program.inputs.items()})


def _of_other_dtypes(program, rng):
    def other(dtype):
        return _each_input(program, lambda x: replace(x, dtype=dtype) if x.dtype.is_floating_point else x)

    kinds = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
    return [Call(each) for each in [program, *map(other, rng.sample(kinds, 2)), program]]


def _of_other_gradients(program, rng):
    def some(share):
        return _each_input(
            program, lambda x: replace(x, requires_grad=x.dtype.is_floating_point and rng.random() < share)
        )

    return [Call(each) for each in [program, some(0.0), some(0.5), some(1.0), some(0.5), program]]


def _of_other_layouts(program, rng):
    def some():
        return _each_input(program, lambda x: replace(x, layout=rng.choice(list(LAYOUTS))))

    return [Call(each) for each in [program, some(), some(), some(), program]]


def _of_other_numbers(program, rng):
    numbers = [0, 1, 2, 3, -1, 0.5, 1.0, 2.5, True, float("inf"), 1e30]
    return [Call(program, {"number": rng.choice(numbers), "flag": rng.random() < 0.5}) for _ in range(4)]


def _mixed(program, rng):
    calls = [program]
    for _ in range(5):
        vary = rng.choice([_of_other_sizes, _of_other_dtypes, _of_other_gradients, _of_other_layouts])
        calls.append(rng.choice(vary(rng.choice(calls), rng)).program)
    return [Call(each) for each in calls]


_float64 = _Set(torch.get_default_dtype, torch.set_default_dtype, torch.float64)
_fixed_order = _Set(
    torch.are_deterministic_algorithms_enabled, lambda on: torch.use_deterministic_algorithms(on, warn_only=True), True
)

USES = {
    "other sizes": Use(calls=_of_other_sizes),
    "other dtypes": Use(calls=_of_other_dtypes),
    "other gradients": Use(calls=_of_other_gradients),
    "other layouts": Use(calls=_of_other_layouts),
    "other numbers": Use(_around(_with_numbers), calls=_of_other_numbers),
    "mixed": Use(calls=_mixed),
    "mixed, one graph": Use(calls=_mixed, options={"dynamic": True}),
    "without gradients first": Use(_around(_without_gradients_first)),
    "checkpointed": Use(_around(_checkpointed)),
    "own function": Use(_around(_own_function)),
    "hooked": Use(_around(_hooked)),
    "vectorized": Use(_around(_vectorized)),
    "gradient of function": Use(_around(_gradient_of_function)),
    "second gradient": Use(_around(_second_gradient)),
    "along tangents": Use(_around(_along_tangents)),
    "broken": Use(_broken),
    "in containers": Use(_in_containers, _observe_containers),
    "twice backward": Use(observe=_twice_backward),
    "each output backward": Use(observe=_each_output_backward),
    "no grad": Use(observe=_within(torch.no_grad)),
    "inference mode": Use(observe=_within(torch.inference_mode)),
    "default float64": Use(observe=_within(_float64)),
    "fixed order": Use(observe=_within(_fixed_order)),
    "kept results": Use(observe=_kept_results),
    "one memory": Use(observe=_one_memory),
    "one tensor": Use(observe=_one_tensor),
    "shifted": Use(observe=_shifted),
}
# Uses whose programs are those that write to arguments.
WRITTEN = ("one memory", "one tensor", "kept results", "shifted", "other layouts", "other sizes", "broken")
