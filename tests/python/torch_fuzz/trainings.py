"""Random modules, trained for some steps beside eager: layers with parameters and buffers, in training and in
evaluation, hooks, and optimizers that are compiled or not. Parameters, buffers, gradients, losses and the optimizer's
state are compared, after each step or the last."""

import copy
import random
from dataclasses import dataclass, replace

import torch
from nvfuser.dynamo.backend import backend
from torch import nn

from .compare import differences, near

_FLAT = """
nn.Linear({n}, {m})|nn.Linear({n}, {m}, bias=False)|nn.LayerNorm({n})|nn.RMSNorm({n})|nn.BatchNorm1d({n})
nn.BatchNorm1d({n}, momentum=None)|nn.BatchNorm1d({n}, affine=False)|nn.BatchNorm1d({n}, track_running_stats=False)
nn.ReLU()|nn.GELU()|nn.SiLU()|nn.Tanh()|nn.PReLU()|nn.PReLU({n})|nn.ELU(inplace=True)|nn.ReLU(inplace=True)
nn.Hardswish()|nn.Softmax(-1)|nn.Dropout(0.3)|nn.Softplus()
nn.utils.parametrizations.weight_norm(nn.Linear({n}, {m}))|nn.utils.parametrizations.spectral_norm(nn.Linear({n}, {m}))
Residual(nn.Linear({n}, {n}))|Residual(nn.Sequential(nn.LayerNorm({n}), nn.Linear({n}, {n}), nn.GELU()))|Counted({n})
Scaled({n})|Shrunk({n})
"""
_PICTURES = """
nn.Conv2d({n}, {m}, 3, padding=1)|nn.Conv2d({n}, {m}, 1, bias=False)|nn.BatchNorm2d({n})|nn.BatchNorm2d({n}, 1e-3, 0.3)
nn.GroupNorm(1, {n})|nn.InstanceNorm2d({n}, affine=True)|nn.InstanceNorm2d({n}, track_running_stats=True)
nn.ReLU()|nn.SiLU(inplace=True)|nn.LeakyReLU(0.1)|nn.Dropout2d(0.3)|nn.MaxPool2d(2, padding=1)|nn.Hardtanh()
nn.AvgPool2d(2, padding=1)|nn.Upsample(scale_factor=2)|nn.Conv2d({n}, {n}, 3, padding=1, groups={n})
nn.ConvTranspose2d({n}, {m}, 2)|nn.AdaptiveAvgPool2d(3)|nn.PReLU({n})|Residual(nn.BatchNorm2d({n}))
"""
_OPTIMIZERS = [
    "SGD(p, lr=0.05)", "SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)", "Adam(p, lr=1e-2)",
    "SGD(p, lr=0.05, momentum=0.9, dampening=0.1, maximize=True)", "Adam(p, lr=1e-2, amsgrad=True)",
    "AdamW(p, lr=1e-2, weight_decay=0.1)", "RMSprop(p, lr=1e-2, momentum=0.5, centered=True)", "Adagrad(p, lr=1e-2)",
    "NAdam(p, lr=1e-2)", "RAdam(p, lr=1e-2)", "Adamax(p, lr=1e-2)", "Adadelta(p, lr=0.5)", "ASGD(p, lr=1e-2)",
    "AdamW(p, lr=1e-2, foreach=True)", "SGD(p, lr=0.05, momentum=0.9, foreach=False)",
]  # fmt: skip
# What is compiled: the module, its loss and gradients besides, the optimizer, both.
_COMPILED = ["module", "loss", "module and optimizer", "optimizer", "parts"]


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Counted(nn.Module):
    """Buffers that each call changes: a count, and a mean that goes on; one is not saved."""

    def __init__(self, width):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(width), persistent=False)

    def forward(self, x):
        if self.training:
            self.calls += 1
            with torch.no_grad():
                self.mean.lerp_(x.mean(0), 0.2)
        return x - self.mean


class Scaled(nn.Module):
    """A parameter that has no gradient, one that has, and a hook on what lies between."""

    def __init__(self, width):
        super().__init__()
        self.fixed = nn.Parameter(torch.full((width,), 1.5), requires_grad=False)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x):
        y = x * self.fixed * self.factor
        if y.requires_grad:
            y.register_hook(lambda gradient: gradient * 0.5)
        return y


class Shrunk(nn.Module):
    """A parameter that is written to before it is used, and behind."""

    def __init__(self, width):
        super().__init__()
        self.factor = nn.Parameter(torch.full((width,), 0.8))
        self.register_buffer("before", torch.zeros(width))

    def forward(self, x):
        with torch.no_grad():
            self.before.copy_(self.factor)
            self.factor.mul_(0.99).clamp_(-2, 2)
        y = x * self.factor + self.before
        self.before += 1
        return y


def _listed(text):
    return [each for line in text.strip().splitlines() for each in line.split("|")]


@dataclass
class Training:
    """`layers`: their texts; `shape`: that of a batch; `optimizer`, and what is `compiled`; `hooked`: whether modules
    have hooks; `evaluated`: whether a step in evaluation stands between; `accumulated`: steps that share a gradient."""

    seed: int
    layers: list
    shape: tuple
    dtype: torch.dtype
    optimizer: str
    compiled: str
    steps: int = 4
    hooked: bool = False
    evaluated: bool = False
    accumulated: int = 1
    inputs = {}  # noqa: RUF012  (as a program has)

    def text(self):
        facts = f"{self.shape} {self.dtype}, {self.optimizer}, compiled: {self.compiled}, {self.steps} steps"
        more = [name for name in ("hooked", "evaluated") if getattr(self, name)]
        return f"{facts}, {more} {self.accumulated}\n  " + "\n  ".join(self.layers) + "\n"

    def script(self, call):
        return f'"""{self.text()}"""\n\nfrom torch_fuzz import trainings\n\nprint(trainings.run([{self!r}]))\n'

    def smaller(self):
        for place in range(len(self.layers)) if len(self.layers) > 1 else ():
            yield replace(self, layers=self.layers[:place] + self.layers[place + 1 :])
        if self.steps > 2:
            yield replace(self, steps=self.steps - 1)
        for name, plain in {"hooked": False, "evaluated": False, "accumulated": 1, "compiled": "module"}.items():
            if getattr(self, name) != plain:
                yield replace(self, **{name: plain})

    def module(self):
        torch.manual_seed(self.seed)
        layers = [
            eval(text, {"nn": nn, "Residual": Residual, "Counted": Counted, "Scaled": Scaled, "Shrunk": Shrunk})
            for text in self.layers
        ]
        module = nn.Sequential(*layers).to(self.dtype)
        if self.hooked:
            module[0].register_forward_hook(lambda module, inputs, output: output * 2)
            module[-1].register_forward_pre_hook(lambda module, inputs: (inputs[0] + 0.25,))
        return module

    def batches(self, moved=0.0):
        draw = torch.Generator().manual_seed(self.seed)
        for step in range(self.steps):
            # The last batch of an epoch is smaller.
            rows = self.shape[0] if step != self.steps - 2 else max(2, self.shape[0] - 1)
            batch = torch.randn((rows, *self.shape[1:]), generator=draw, dtype=torch.float64)
            yield (batch * (1 + moved * torch.rand(batch.shape, generator=draw, dtype=torch.float64))).to(self.dtype)


def draw(seed):
    """The training of a seed; None where eager does not take it."""
    rng = random.Random(seed)
    pictures, layers, width = rng.random() < 0.4, [], rng.choice([1, 2, 3, 4, 6])
    first = width
    for _ in range(rng.choice([1, 2, 3, 4, 6])):
        text = rng.choice(_listed(_PICTURES if pictures else _FLAT))
        after = rng.choice([2, 3, 5, 8])
        layers.append(text.format(n=width, m=after))
        width = after if "{m}" in text else width
    shape = (rng.choice([2, 3, 5, 8]), first, *([rng.choice([3, 4, 5]), rng.choice([3, 4])] if pictures else []))
    made = Training(
        seed, layers, shape, rng.choice([torch.float32, torch.float64]), rng.choice(_OPTIMIZERS),
        rng.choice(_COMPILED), rng.choice([3, 4, 6]), rng.random() < 0.3, rng.random() < 0.3, rng.choice([1, 1, 2]),
    )  # fmt: skip
    return made if takes(made) else None


def takes(of):
    """Whether eager takes a training."""
    try:
        _trained(of, lambda function: function)
    except (RuntimeError, ValueError, IndexError, TypeError):
        return False
    return True


def _trained(of, compiler, moved=0.0):
    """{name: tensor} after all steps."""
    module = of.module()
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = eval(f"torch.optim.{of.optimizer}", {"torch": torch, "p": parameters}) if parameters else None
    called = module
    if of.compiled in ("module", "module and optimizer"):
        called = compiler(module)
    elif of.compiled == "parts":
        for place, layer in enumerate(module):
            module[place] = compiler(layer)

    def loss_of(x):
        y = called(x)
        return (y.square() * 0.5 + y * torch.linspace(-1, 1, y.shape[-1], dtype=y.dtype)).mean(), y

    if of.compiled == "loss":
        loss_of = compiler(loss_of)

    def step():
        optimizer.step()

    step = compiler(step) if "optimizer" in of.compiled else step
    seen = {}
    for number, batch in enumerate(of.batches(moved)):
        batch.requires_grad_(number % 2 == 0)
        torch.manual_seed(number)
        loss, y = loss_of(batch)
        seen[f"loss {number}"], seen[f"result {number}"] = loss.detach().clone(), y.detach().clone()
        if loss.requires_grad:
            loss.backward()
        seen[f"slope {number}"] = batch.grad
        if optimizer is not None and number % of.accumulated == of.accumulated - 1:
            seen |= {f"gradient {number} {place}": copy.deepcopy(p.grad) for place, p in enumerate(parameters)}
            step()
            optimizer.zero_grad(set_to_none=bool(of.seed % 2))
        if of.evaluated and number == 1:
            module.eval()
            with torch.no_grad():
                seen["evaluated"] = loss_of(batch.detach())[1].clone()
            module.train()
    seen |= {f"parameter {place}": p.detach() for place, p in enumerate(module.parameters())}
    seen |= {f"buffer {place}": b for place, b in enumerate(module.buffers())}
    for place, state in enumerate(optimizer.state.values() if optimizer is not None else ()):
        seen |= {f"state {place} {name}": torch.as_tensor(value) for name, value in state.items()}
    return {name: value for name, value in seen.items() if value is not None}


def run(trainings):
    return [_run(each) for each in trainings]


def _run(of):
    theirs = _trained(of, lambda function: function)
    amount = 1e-13 if of.dtype is torch.float64 else 1e-6
    slacks = _slacks(theirs, [_trained(of, lambda function: function, by) for by in (amount, -amount)])
    text = _compared(theirs, slacks, of, backend)
    return text if text and not _compared(theirs, slacks, of, "aot_eager_default_partitioner") else ""


def _slacks(theirs, moved):
    """{name: how far moving the batches by roundings moves the tensor, or moved it in an earlier step}

    An optimizer makes steps of one length of gradients that are nothing but roundings (of the weight of a norm in front
    of another norm). Trainings that have parted so may be near to each other again later on, by chance."""
    slacks, earlier = {}, {}
    for name, value in theirs.items():
        apart = [(one[name].double() - value.double()).abs() for one in moved]
        slack = max(each.max().item() for each in apart) if value.numel() else 0.0
        what, *place = name.split()
        if what in ("loss", "result", "slope", "gradient"):
            key = (what, *place[1:])  # the first is the step
            slack = earlier[key] = max(slack, earlier.get(key, 0.0))
        slacks[name] = slack
    return slacks


def _compared(theirs, slacks, of, chosen):
    torch._dynamo.reset()
    try:
        ours = _trained(of, lambda function: torch.compile(function, backend=chosen))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:300]}"
    if set(ours) != set(theirs):
        return f"only one has {sorted(set(ours) ^ set(theirs))}"
    for name, value in theirs.items():

        def equal(mine, other, slack=slacks[name]):
            return near(mine, other) | ((mine.double() - other.double()).abs() <= 50 * slack)

        if text := differences(ours[name], value, equal):
            return f"{name}: {text}"
    return ""
