"""Programs of TorchScript, fused inside torch.jit.fuser("fuser2"), equal eager ones, forward and backward."""

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torchscript_support import assert_equal, copies, gradients, graphs_of, groups_in


def rand(*sizes, dtype=torch.float32, grad=False):
    return torch.randn(*sizes, dtype=torch.float64).to(dtype).requires_grad_(grad)


# Forward: function, arguments of one call or of several in turn, and whether anything is fused ----


def document(x):
    o = x + 1.0
    o = o.relu()
    return o


def chain(x, y):
    return torch.tanh(x * y + 0.5).sigmoid() - y.exp() / (x.abs() + 1.0)


def two_results(x, y):
    a = x * y
    return a + 1.0, a.relu() * 2.0


def broadcast(x, y, z):
    return (x + y) * z - x.sum(1, keepdim=True)


def gelu_bias(x, b):
    return F.gelu(x + b) * torch.sigmoid(x)


def gelu_tanh(x):
    return F.gelu(x * 2.0, approximate="tanh") + 1.0


def activations(x):
    return F.silu(x) + F.hardswish(x) * F.leaky_relu(x, 0.2) - F.elu(x) + F.softplus(x) * F.mish(x)


def softmax(x, m):
    return torch.softmax(x * 0.125 + m, -1)


def log_softmax(x):
    return torch.log_softmax(x.float() * 2.0, 1).exp()


def layer_norm(x, w, b):
    return F.layer_norm(x + 1.0, [16], w, b).relu()


def rms_norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def group_norm(x, w, b):
    return F.group_norm(x * 2.0, 2, w, b).relu()


def instance_norm(x):
    return F.instance_norm(x * 2.0).relu()


def batch_norm(x, mean, var, w, b):
    return F.batch_norm(x, mean, var, w, b, False, 0.1, 1e-5).relu()


def variance(x):
    v, m = torch.var_mean(x * 2.0, [1], correction=1, keepdim=True)
    return (x - m) * torch.rsqrt(v + 1e-5)


def statistics(x):
    return (x * 2.0).mean(), (x + 1.0).var(0), (x * x).std(1, unbiased=False)


def reductions(x):
    y = x * x
    return y.sum(), y.amax(1), y.amin([0], True), (y > 1.0).any(1), (y >= 0.0).all(), torch.logsumexp(x + y, 1)


def norms(x):
    return x / (x * x).sum(-1, keepdim=True).sqrt().clamp(min=1e-12)


def mixed(x, y):
    return (x + y).to(torch.float16) * x


def half_chain(x, y):
    return (x * y + x).sigmoid() * y


def casts(x):
    return (x * 3.0).to(torch.int64) + 1, (x > 0.0).float() * x, x.double() * 2.0


def integers(x, y):
    return (x + y) * 2 - x // 3, x & y, (x ^ y) | 1, torch.remainder(x, 5)


def booleans(x, y):
    return torch.logical_and(x > 0.0, y < 1.0), (x == y) | ~(x > y)


def choose(x, y):
    return torch.where(x > y, x, y * 2.0).masked_fill(x < -1.0, 0.0)


def scalar_float(x, s: float):
    return (x * s + 1.0).relu()


def scalar_int(x, n: int):
    return (x + n) * 2.0


def scalar_bool(x, flip: bool):
    return (x * 1.5 + 1.0).relu() if flip else (x - 1.0).tanh() * 3.0


def zero_dim(x, s):
    return (x * s + s).exp()


def clamp(x, lo: float, hi: float):
    return torch.clamp(x * 2.0, lo, hi) + 1.0


def dims(x, dim: int):
    return (x * 2.0).sum(dim).relu()


def dim_list(x, dim: list[int], keep: bool):
    return (x * 2.0).sum(dim, keep).relu()


def optional(x, b: Tensor | None):
    y = x * 2.0
    if b is not None:
        y = y + b
    return y.relu() * 0.5


def branch(x, y):
    if bool(x.sum() > 0.0):  # noqa: SIM108
        z = (x + y).relu() * 2.0
    else:
        z = (x - y).tanh() * 3.0
    return z + 1.0


def loop(x, n: int):
    for i in range(n):
        x = (x * 0.5 + i).relu()
    return x * 2.0


def while_loop(x):
    y = x.abs() + 1.0
    while bool(y.sum() < 1000.0):
        y = y * 2.0 + 1.0
    return y.relu()


def nested(x, n: int):
    total = torch.zeros_like(x)
    for i in range(n):
        if i % 2 == 0:  # noqa: SIM108
            total = total + (x * i).relu()
        else:
            total = total - (x + i).sigmoid()
    return total


def views(x):
    y = (x * 2.0).view(-1, 4)
    return (y + 1.0).relu().reshape(x.size(0), -1)


def view_result(x):
    y = (x * 2.0).relu()
    return y, y.view(-1), y.t()


def transposes(x):
    return (x.t() * 2.0 + 1.0).transpose(0, 1).relu()


def permutes(x):
    return (x.permute(0, 2, 1) * 2.0).softmax(-1).permute(0, 2, 1) + x


def squeezes(x):
    return (x.unsqueeze(1) * x.unsqueeze(2)).sum(1).unsqueeze(0).squeeze(0).relu()


def slices(x):
    return (x[1:] * 2.0 + x[:-1]).relu()[:, 2:5] * 3.0


def expands(x, y):
    return (x.expand(4, 3, 5) * y + 1.0).relu()


def concatenates(x, y):
    return torch.cat([x * 2.0, y.relu(), x + y], 1) + 1.0


def rotary(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return x * cos + torch.cat([-b, a], -1) * sin


def in_place(x):
    y = x * 2.0
    y.add_(1.0)
    return y.relu() * x


def in_place_view(x):
    y = x * 2.0 + 1.0
    y.view(-1)[0] = 100.0
    return y.relu() + 1.0


def in_place_row(x):
    y = (x + 1.0).relu()
    y[1].mul_(5.0)
    z = y * 2.0
    y.zero_()
    return z + 1.0, y


def in_place_input(x):
    y = x * 2.0 + 1.0
    x.add_(1.0)
    return x * 3.0 + y


def in_place_through_result(x):
    y = (x * 2.0 + 1.0).relu()
    v = y.view(-1)
    v.mul_(2.0)
    return y + 1.0, v


def no_fusion_across_write(x, y):
    a = x + 1.0
    b = a.relu()
    y.copy_(b)
    c = y * 2.0
    return c.sigmoid() + a


def unsupported_between(x):
    y = (x * 2.0 + 1.0).relu()
    values, order = torch.sort(y, 1)
    return (values * 2.0).sigmoid() + 1.0, order


def tuples(x: Tensor, pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    a, b = pair
    return (x * a + 1.0).relu(), (x - b).tanh() * 2.0


def lists(xs: list[Tensor]):
    out = xs[0] * 1.0
    for x in xs:
        out = out + (x * 2.0).relu()
    return out


def mlp(x, w, b, w2):
    h = F.gelu(torch.matmul(x, w) + b)
    return torch.matmul(h, w2).relu() * 0.5


def attention(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-1, -2)) * 0.25
    return torch.matmul(torch.softmax(scores.masked_fill(mask, -1e9), -1), v)


def losses(x, y):
    mse = torch.ops.aten.mse_loss(x * 2.0, y, 1)
    return mse, torch.ops.aten.l1_loss(x.tanh(), y, 2), F.huber_loss(x, y)


def sizes(x, y):
    z = x * y + 1.0
    return z.relu(), z.size(0), z.shape


def strings(x, mode: str):
    if mode == "relu":
        return (x * 2.0).relu()
    return (x * 2.0).sigmoid()


def powers(x):
    y = x.abs() + 0.5
    return y**2, y**0.5, y**-1.5, 2.0**x


def nans(x):
    return torch.nan_to_num(x / 0.0) * 2.0, (x / 0.0 - x / 0.0).relu()


def empties(x):
    return (x * 2.0 + 1.0).relu(), (x + 1.0).sum()


def float_out(x):
    return float((x * 2.0 + 1.0).sum())


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 16))

    def forward(self, x):
        return (x * self.weight + 1.0).relu()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 16)
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class ConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x))) * 2.0


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Linear(24, 32)

    def forward(self, xs, h, c):
        for i in range(xs.size(0)):
            f, g, o, n = self.gates(torch.cat([xs[i], h], 1)).chunk(4, 1)
            c = c * f.sigmoid() + g.sigmoid() * n.tanh()
            h = o.sigmoid() * c.tanh()
        return h, c


H, B = torch.float16, torch.bfloat16
FORWARD = [
    (document, [[rand(2, 32, 8, 16)], [rand(2, 3, 8, 5)], [rand(4, 32, 8, 16)]]),
    (chain, [[rand(8, 16), rand(8, 16)], [rand(3, 5), rand(3, 5)]]),
    (two_results, [[rand(8, 16), rand(8, 16)]]),
    (broadcast, [[rand(8, 16), rand(16), rand(8, 1)], [rand(8, 16), rand(1), rand(8, 16)]]),
    (gelu_bias, [[rand(8, 16), rand(16)], [rand(8, 16, dtype=H), rand(16, dtype=H)]]),
    (gelu_tanh, [[rand(8, 16)]]),
    (activations, [[rand(8, 16)]]),
    (softmax, [[rand(2, 4, 16), rand(4, 16)], [rand(3, 4, 7), rand(1, 7)]]),
    (log_softmax, [[rand(8, 16, dtype=B)]]),
    (layer_norm, [[rand(8, 16), rand(16), rand(16)], [rand(2, 3, 16), rand(16), rand(16)]]),
    (rms_norm, [[rand(8, 16), rand(16)], [rand(8, 16, dtype=B), rand(16, dtype=B)]]),
    (group_norm, [[rand(2, 4, 3, 5), rand(4), rand(4)]]),
    (instance_norm, [[rand(2, 4, 3, 5)]]),
    (batch_norm, [[rand(2, 4, 3, 5), rand(4), rand(4).abs(), rand(4), rand(4)]]),
    (variance, [[rand(8, 16)], [rand(4, 5)]]),
    (statistics, [[rand(8, 16)]]),
    (reductions, [[rand(8, 16)]]),
    (norms, [[rand(8, 16)]]),
    (mixed, [[rand(8, 16), rand(8, 16, dtype=H)]]),
    (half_chain, [[rand(8, 16, dtype=H), rand(8, 16, dtype=H)], [rand(8, 16, dtype=B), rand(8, 16, dtype=B)]]),
    (casts, [[rand(8, 16)]]),
    (integers, [[torch.randint(0, 50, (8, 16)), torch.randint(0, 50, (16,))]]),
    (booleans, [[rand(8, 16), rand(8, 16)]]),
    (choose, [[rand(8, 16), rand(8, 16)]]),
    (scalar_float, [[rand(8, 16), 2.0], [rand(8, 16), -0.5], [rand(8, 16), float("inf")]]),
    (scalar_int, [[rand(8, 16), 2], [rand(8, 16), 7]]),
    (scalar_bool, [[rand(8, 16), True], [rand(8, 16), True], [rand(8, 16), False]]),
    (zero_dim, [[rand(8, 16), torch.tensor(0.5)], [rand(8, 16), torch.tensor(0.25, dtype=torch.float64)]]),
    (clamp, [[rand(8, 16), -0.5, 0.5], [rand(8, 16), -1.5, 0.1]]),
    (dims, [[rand(8, 16), 0], [rand(8, 16), 1], [rand(8, 16), -1], [rand(8, 16), 0]]),
    (dim_list, [[rand(2, 8, 4), [0, 2], False], [rand(2, 8, 4), [1], True], [rand(2, 8, 4), [0], False]]),
    (optional, [[rand(8, 16), rand(16)], [rand(8, 16), None], [rand(8, 16), rand(16)]]),
    (branch, [[rand(8, 16).abs(), rand(8, 16)], [-rand(8, 16).abs(), rand(8, 16)]]),
    (loop, [[rand(8, 16), 3], [rand(8, 16), 5], [rand(8, 16), 0]]),
    (while_loop, [[rand(8, 16)]]),
    (nested, [[rand(8, 16), 4], [rand(8, 16), 3]]),
    (views, [[rand(8, 16)], [rand(4, 12)]]),
    (view_result, [[rand(8, 16)]]),
    (transposes, [[rand(8, 16)], [rand(16, 8).t()]]),
    (permutes, [[rand(2, 8, 16)]]),
    (squeezes, [[rand(8, 16)]]),
    (slices, [[rand(8, 16)], [rand(5, 16)]]),
    (expands, [[rand(3, 5), rand(4, 1, 5)], [rand(1, 5), rand(4, 3, 5)]]),
    (concatenates, [[rand(8, 16), rand(8, 16)]]),
    (rotary, [[rand(2, 6, 8), rand(6, 8), rand(6, 8)]]),
    (in_place, [[rand(8, 16)]]),
    (in_place_view, [[rand(8, 16)]]),
    (in_place_row, [[rand(8, 16)]]),
    (in_place_input, [[rand(8, 16)]]),
    (in_place_through_result, [[rand(8, 16)]]),
    (no_fusion_across_write, [[rand(8, 16), rand(8, 16)]]),
    (unsupported_between, [[rand(8, 16)]]),
    (tuples, [[rand(8, 16), (rand(8, 16), rand(16))]]),
    (lists, [[[rand(8, 16), rand(8, 16)]]]),
    (mlp, [[rand(8, 16), rand(16, 32), rand(32), rand(32, 8)]]),
    (attention, [[rand(2, 6, 8), rand(2, 6, 8), rand(2, 6, 8), torch.ones(6, 6).triu(1) > 0]]),
    (losses, [[rand(8, 16), rand(8, 16)]]),
    (sizes, [[rand(8, 16), rand(16)], [rand(3, 5), rand(5)]]),
    (strings, [[rand(8, 16), "relu"], [rand(8, 16), "other"]]),
    (powers, [[rand(8, 16)]]),
    (nans, [[rand(8, 16)]]),
    (empties, [[rand(0, 16)], [rand(8, 16)]]),
    (float_out, [[rand(8, 16)]]),
    (Scale(), [[rand(8, 16)]]),
    (Block().eval(), [[rand(4, 16)], [rand(2, 3, 16)]]),
    (ConvNet().eval(), [[rand(2, 3, 8, 8)], [rand(2, 3, 8, 8).to(memory_format=torch.channels_last)]]),
    (Recurrent().eval(), [[rand(3, 2, 16), rand(2, 8), rand(2, 8)]]),
]


def name_of(program):
    return getattr(program, "__name__", type(program).__name__)


@pytest.mark.parametrize("program, calls", FORWARD, ids=[name_of(case[0]) for case in FORWARD])
def test_forward(program, calls):
    scripted = torch.jit.script(program)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for arguments in [calls[0], calls[0], *calls, *calls]:
            given, expected = copies(arguments), copies(arguments)
            got = scripted(*given)
            want = program(*expected)
            assert_equal(got, want)
            assert_equal(given, expected)  # what it updates in place
    assert any("prim::CudaFusionGroup" in text for text in graphs_of(scripted)), graphs_of(scripted)


# Backward -----------------------------------------------------------------------------------------


def g(*sizes, dtype=torch.float32):
    return rand(*sizes, dtype=dtype, grad=True)


def unused_input(x, y):
    return (x * 2.0 + 1.0).relu()


def partly(x, y):
    return (x * y.detach() + y).sigmoid() * 2.0


def dropout_off(x):
    return F.dropout((x * 2.0).relu(), 0.5, False) + 1.0


def squared_norm(x, w):
    y = F.layer_norm(x, [16], w, None)
    return (y * y).mean()


BACKWARD = [
    (chain, [g(8, 16), g(8, 16)]),
    (broadcast, [g(8, 16), g(16), g(8, 1)]),
    (gelu_bias, [g(8, 16), g(16)]),
    (softmax, [g(4, 16), rand(4, 16)]),
    (layer_norm, [g(8, 16), g(16), g(16)]),
    (rms_norm, [g(8, 16), g(16)]),
    (two_results, [g(8, 16), g(8, 16)]),
    (half_chain, [g(8, 16, dtype=B), g(8, 16, dtype=B)]),
    (scalar_float, [g(8, 16), 2.0]),
    (views, [g(8, 16)]),
    (transposes, [g(8, 16)]),
    (mlp, [g(8, 16), g(16, 32), g(32), g(32, 8)]),
    (attention, [g(2, 6, 8), g(2, 6, 8), g(2, 6, 8), torch.ones(6, 6).triu(1) > 0]),
    (branch, [g(8, 16), g(8, 16)]),
    (loop, [g(8, 16), 3]),
    (unused_input, [g(8, 16), rand(8, 16)]),
    (partly, [g(8, 16), g(16)]),
    (dropout_off, [g(8, 16)]),
    (squared_norm, [g(8, 16), g(16)]),
    (Block().train(), [g(4, 16)]),
    (Scale(), [g(8, 16)]),
]


@pytest.mark.parametrize("program, arguments", BACKWARD, ids=[name_of(case[0]) for case in BACKWARD])
def test_backward(program, arguments):
    scripted = torch.jit.script(program)
    parameters = list(program.parameters()) if isinstance(program, torch.nn.Module) else []

    def measured(function):
        for parameter in parameters:
            parameter.grad = None
        return [gradients(function, copies(arguments)), [parameter.grad for parameter in parameters]]

    want = measured(program)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            assert_equal(measured(scripted), want)


def normalised(x, w, b):  # PyTorch keeps what it compiled for a function, with all plans of other tests
    return F.layer_norm(x + 1.0, [16], w, b).relu()


def test_both_directions_are_fused():
    scripted = torch.jit.script(normalised)
    arguments = [g(8, 16), g(16), g(16)]
    with torch.jit.fuser("fuser2"):
        for _ in range(4):
            gradients(scripted, copies(arguments))
    texts = graphs_of(scripted)
    assert "prim::DifferentiableGraph" in texts[0]
    assert sum("prim::CudaFusionGroup" in text for text in texts[1:]) == 2, texts  # forward and backward
    backward = next(text for text in texts[1:] if "native_layer_norm_backward" in text)
    assert "prim::CudaFusionGroup" in backward


def test_batch_norm_trains():
    """Running statistics are updated in place, once a call; the gradient takes the same way."""
    eager, fused = ConvNet().train(), ConvNet().train()
    fused.load_state_dict(eager.state_dict())
    scripted = torch.jit.script(fused)
    x = rand(2, 3, 8, 8)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            want, got = eager(x), scripted(x)
            assert_equal(got, want)
            for model, result in ((eager, want), (fused, got)):
                model.zero_grad()
                result.sum().backward()
            for one, other in zip(fused.parameters(), eager.parameters(), strict=True):
                torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-4)
            assert_equal(list(fused.buffers()), list(eager.buffers()))


# Random numbers -----------------------------------------------------------------------------------


def test_dropout():
    """As many as asked for are kept, scaled; the gradient drops the same; a seed repeats it."""

    def drop(x, p: float):
        return F.dropout(x * 2.0, p, True) + 0.0

    scripted = torch.jit.script(drop)
    x = torch.ones(200, 500)
    with torch.jit.fuser("fuser2"):
        for p in (0.5, 0.5, 0.5, 0.1, 0.9):
            out = scripted(x, p)
            kept = out != 0
            assert abs(kept.float().mean().item() - (1 - p)) < 0.01
            torch.testing.assert_close(out[kept], torch.full_like(out[kept], 2 / (1 - p)))
        assert not torch.equal(scripted(x, 0.5), scripted(x, 0.5))
        torch.manual_seed(3)
        first = scripted(x, 0.5)
        torch.manual_seed(3)
        assert torch.equal(scripted(x, 0.5), first)
    assert groups_in(scripted) > 0


def test_dropout_gradient():
    def drop(x):
        return F.dropout(x * 2.0, 0.25, True) * 3.0

    scripted = torch.jit.script(drop)
    with torch.jit.fuser("fuser2"):
        for _ in range(5):
            x = torch.ones(64, 64, requires_grad=True)
            out = scripted(x)
            out.sum().backward()
            assert_equal(x.grad, out.detach())  # linear in x, which is 1
            assert 0 < (out == 0).float().mean() < 0.5


# Several threads ----------------------------------------------------------------------------------


def test_threads():
    scripted = torch.jit.script(layer_norm)
    errors = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        try:
            for rows in (8, 3, 8, 5, 1, 8, 2):
                arguments = [torch.randn(rows, 16, generator=generator) for _ in range(3)]
                arguments = [arguments[0], arguments[1][0], arguments[2][0]]
                with torch.no_grad():
                    assert_equal(scripted(*arguments), layer_norm(*arguments))
        except BaseException as error:
            errors.append(error)

    with torch.jit.fuser("fuser2"):
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors, errors
    assert groups_in(scripted) > 0


def two_operations(x):
    return (x + 1.0).relu()


def test_many_shapes_one_group():
    """Sizes may change without another group or kernel text; extent 1 and other ranks take the fallback graph."""
    scripted = torch.jit.script(two_operations)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for rows in range(2, 30):
            x = rand(rows, 7)
            assert_equal(scripted(x), two_operations(x))
        for sizes in ((1, 7), (3,), (2, 3, 4)):
            x = rand(*sizes)
            for _ in range(3):
                assert_equal(scripted(x), two_operations(x))
    assert groups_in(scripted) == 1
