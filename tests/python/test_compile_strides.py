"""Results of torch.compile(backend="nvfuser") lie in memory as eager's do: each overload, in several layouts."""

import pytest
import torch
from compile_rows import COMPOSITIONS, ROWS
from compile_support import compiled, failures
from nvfuser.dynamo.backend import observing
from nvfuser.dynamo.operators import LOOPS, RULES
from tested_device import ON_GPU, tensors_there


def _values(*shape):
    count = torch.Size(shape).numel()
    return ((torch.arange(count) * 7 % 31).float() / 16 + 0.03125).view(shape)


LAYOUTS = {
    "channels last": lambda: _values(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    "turned": lambda: _values(4, 3, 6).permute(2, 0, 1),
    "a column, turned": lambda: _values(4, 1).t(),
    "a row, turned": lambda: _values(1, 4).t(),
}

# Rows in which strides differ, and are meant to: what is traced has other ones than eager, and what follows goes by it.
MEANT = {
    "pow.Scalar": "eager gives rows whatever the exponent's layout is",
    "copysign.Tensor": "what is traced has rows where an operand is broadcast",
    "activations": "log_sigmoid, which is decomposed, gives rows in eager",
    "updates": "AOTAutograd makes new tensors of masked_fill_",
    "batch_norm": "is decomposed, and gives rows in eager",
    "pixel_shuffle": "channel_shuffle is decomposed",
}

_ON_HOST = ("activations", "batch_norm")  # where a GPU's kernels keep the layout
MEANT_ON_GPU = {name: why for name, why in MEANT.items() if name not in _ON_HOST} | {
    "upsample": "of few channels: PyTorch's decomposition takes eager to give rows",
}

# Axes of one element have eager's strides, too, behind PyTorch's loops over elements.
SAME_ONES = {str(overload).removeprefix("aten.") for overload in LOOPS} - {"masked_fill.Scalar", "masked_fill.Tensor"}


@pytest.fixture(autouse=True)
def fresh():
    with tensors_there():
        yield
    torch._dynamo.reset()


def listed(result):
    return list(result) if isinstance(result, tuple | list) else [result]


def mismatches(function, x, w, ones):
    """Position, shape, our strides and eager's; those of axes of one element if `ones`."""
    theirs = listed(function(x, w))
    with observing() as seen:
        ours = listed(compiled(function)(x, w))
    assert not failures(seen.graphs)
    torch.testing.assert_close(ours, theirs, equal_nan=True)

    def strides(tensor):
        return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if ones or size > 1]

    return [
        (position, tuple(mine.shape), mine.stride(), other.stride())
        for position, (mine, other) in enumerate(zip(ours, theirs, strict=True))
        if strides(mine) != strides(other) and mine.numel()
    ]


@pytest.mark.parametrize("name", [*ROWS, *COMPOSITIONS])
def test_strides_are_eagers(name):
    function = ROWS.get(name) or COMPOSITIONS[name]
    found = {}
    for layout, make in LAYOUTS.items():
        if name == "batch_norm" and layout == "a column, turned":
            continue  # one value a channel
        found[layout] = mismatches(function, make(), make() + 0.5, name in SAME_ONES)
    differ = {layout: each for layout, each in found.items() if each}
    assert bool(differ) == (name in (MEANT_ON_GPU if ON_GPU else MEANT)), differ


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: torch.randn(4, 1).t() + 1, (1, 1)),
        (lambda: torch.randn(1, 4).t() * 2, (1, 4)),
        (lambda: torch.exp(torch.randn(4, 1).t()), (4, 1)),
        (lambda: torch.randn(2, 1, 3, 1).to(memory_format=torch.channels_last) + 1, (3, 1, 1, 1)),
    ],
)
def test_strides_of_ones(make, strides):
    assert compiled(make)().stride() == make().stride() == strides


def test_results_are_no_views():
    """They may be updated in place."""
    y = compiled(lambda x: x.expand(3, 4).contiguous() + 1)(torch.randn(4, requires_grad=True))
    z = compiled(lambda x: x + 1)(torch.randn(4, 1, requires_grad=True).t())
    assert not y._is_view() and not z._is_view()
    y.mul_(2)
    z.mul_(2)


def test_each_overload_has_a_row():
    known = {
        str(overload).removeprefix("aten.").replace("prims.", "prims::")
        for overload in RULES
        if isinstance(overload, torch._ops.OpOverload)
    }
    assert known == set(ROWS)


def _padded(x):
    return torch.nn.functional.pad(x.sin(), (1, 1, 1, 1), mode="replicate")


def test_what_lies_otherwise_than_it_was_traced_is_laid_out_so():
    """Tracing says wrong layouts of some of PyTorch's operations, which no region may read as such."""
    mean, spread = torch.randn(3, 4).t(), torch.rand(3, 4).t()

    def drawn(mean, spread):
        torch.manual_seed(3)
        return torch.normal(mean, spread) * 2 + 1

    with observing() as seen:
        torch.testing.assert_close(torch.compile(drawn, backend="nvfuser")(mean, spread), drawn(mean, spread))
    assert not failures(seen.graphs)
    x = torch.randn(2, 3, 7, 9).contiguous(memory_format=torch.channels_last).requires_grad_()
    with observing() as seen:
        got = torch.compile(_padded, backend="nvfuser", dynamic=True)(x)
        (found,) = torch.autograd.grad(got.square().sum(), x)
    (wanted,) = torch.autograd.grad(_padded(x).square().sum(), x)
    torch.testing.assert_close(found, wanted)
    assert not failures(seen.graphs)
