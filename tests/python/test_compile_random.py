"""Random numbers under torch.compile(backend="nvfuser"): what is drawn, in which order, and again in a backward."""

import pytest
import torch
from compile_models import GPT2Block
from compile_support import assert_as_eager, compiled, failures, fresh  # noqa: F401
from nvfuser.dynamo.backend import observing
from tested_device import DEVICE
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def test_dropout_draws_what_pytorch_draws():
    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(torch.relu(x), 0.3) * 2 + F.dropout(x, 0.5)

    def drawn(net):
        x = values.clone().requires_grad_()
        torch.manual_seed(5)
        result = net(x)
        result.sum().backward()
        return result, x.grad, torch.rand(3)  # as many numbers were drawn before

    values = torch.randn(40, 50)
    fast = compiled(Net())
    ours = drawn(fast)
    for mine, theirs in zip(ours, drawn(Net()), strict=True):
        torch.testing.assert_close(mine, theirs)
    for factor in (0.0, 2.0):  # of the second dropout alone: the first, or relu, gave 0
        assert abs((ours[1] == factor).float().mean().item() - 0.5 * (0.5 + 0.5 * 0.3)) < 0.05


def test_truth_values_are_drawn_as_pytorch_draws_them():
    def function(p):
        return torch.bernoulli(p) * 2 + torch.bernoulli(p, 0.25), torch.rand(3, device=p.device)

    p = torch.rand(40, 50)
    torch.manual_seed(6)
    ours = compiled(function)(p)
    torch.manual_seed(6)
    for mine, theirs in zip(ours, function(p), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_random_numbers_come_in_order():
    def function(x):
        late = torch.rand(3, device=x.device) + (x @ x).sum()
        return late, torch.rand(3, device=x.device) * 2, torch.randn(3, device=x.device)

    x = torch.randn(3, 3)
    torch.manual_seed(1)
    ours = compiled(function)(x)
    torch.manual_seed(1)
    for mine, theirs in zip(ours, function(x), strict=True):
        torch.testing.assert_close(mine, theirs)


LAYOUTS = {
    "rows": lambda: torch.ones(6, 30),
    "columns": lambda: torch.ones(6, 30).t(),
    "three axes": lambda: torch.ones(4, 6, 5).permute(2, 0, 1),
    "channels last": lambda: torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "with gaps": lambda: torch.ones(6, 30)[:, ::2],
    "columns with gaps": lambda: torch.ones(30, 6).t()[:, ::2],
    "stretched": lambda: torch.ones(30).expand(6, 30),
    "one row, turned": lambda: torch.ones(30, 1).t(),
    "not at the beginning of its memory": lambda: torch.ones(257)[1:],
    "larger than a GPU's grid": lambda: torch.ones(1300, 1024),
    "odd and larger": lambda: torch.ones(1301, 1023),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_mask_is_drawn_in_the_order_of_memory(layout, dtype):
    def function(x):
        return F.dropout(x, 0.5), F.dropout(x * 2, 0.3) + 1, F.dropout(x, 0.0), F.dropout(x, 1.0)

    x = LAYOUTS[layout]().to(dtype)
    assert not failures(assert_as_eager(function, x, exact=True))
    assert not failures(assert_as_eager(function, x.detach().requires_grad_(), exact=dtype is not torch.bfloat16))


# Parts whose forward is run once more in the backward, with the same random numbers.
CHECKPOINTED = {
    "dropout alone": lambda y: F.dropout(y, 0.3),
    "dropout within": lambda y: F.gelu(F.dropout(y.sin(), 0.3) * 2),
    "two of them": lambda y: F.dropout(torch.exp(F.dropout(y, 0.1)), 0.6),
    "alpha dropout": lambda y: F.alpha_dropout(y * 2, 0.2, training=True),
    "features": lambda y: F.dropout1d(y * y, 0.5).exp(),
    "noise": lambda y: y * torch.rand_like(y) + torch.randn_like(y),
    "truth values": lambda y: y * torch.bernoulli(torch.sigmoid(y)).exp(),
}


@pytest.mark.parametrize("part", CHECKPOINTED)
def test_a_checkpoint_draws_the_same_numbers_twice(part):
    def function(x):
        before = torch.rand_like(x)
        y = checkpoint(CHECKPOINTED[part], x * 2, use_reentrant=False)
        return y, torch.rand_like(x) * before

    assert not failures(assert_as_eager(function, torch.randn(6, 5, requires_grad=True)))


def test_checkpoints_within_each_other():
    def inner(y):
        return F.dropout(torch.tanh(y), 0.4)

    def function(x):
        def outer(y):
            return checkpoint(inner, F.dropout(y, 0.2) + 1, use_reentrant=False).exp()

        return checkpoint(outer, checkpoint(inner, x, use_reentrant=False), use_reentrant=False)

    assert not failures(assert_as_eager(function, torch.randn(6, 5, requires_grad=True)))


def test_a_transformer_with_checkpoints_and_dropout():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(GPT2Block(32, 4) for _ in range(2))
            self.head = nn.Linear(32, 11)

        def forward(self, x):
            x = F.dropout(x, 0.1)
            for block in self.blocks:
                x = checkpoint(lambda y, block=block: F.dropout(block(F.dropout(y, 0.2)), 0.1), x, use_reentrant=False)
            return self.head(x)

    net, x = Net().to(DEVICE), torch.randn(2, 7, 32)

    def trained(model):
        net.zero_grad()
        torch.manual_seed(3)
        result = model(x)
        F.cross_entropy(result.flatten(0, 1), torch.arange(14) % 11).backward()
        return [result.detach(), *(p.grad.clone() for p in net.parameters()), torch.rand(2)]

    with observing() as seen:
        ours = trained(compiled(net))
    assert not failures(seen.graphs) and [graph.direction for graph in seen.graphs] == ["forward", "backward"]
    torch.testing.assert_close(ours, trained(net), rtol=1e-4, atol=1e-5)
