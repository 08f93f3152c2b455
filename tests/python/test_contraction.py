"""Each operation is rounded, in whatever kernel: a product is one number for all that read it, and elementwise
arithmetic is that of eager PyTorch, bit by bit."""

import pytest
import torch
from compile_support import assert_as_eager, compiled, failures, results
from tested_device import tensors_there
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def on_the_tested_device():
    torch.manual_seed(0)
    with tensors_there():
        yield
    torch._dynamo.reset()


def rows(rows=64, columns=65, **options):
    return torch.randn(rows, columns, **options)


@pytest.mark.parametrize("scale", [1e9, 1e9 / 3, -7e8])
@pytest.mark.parametrize(
    "function", [F.log_softmax, F.softmax, torch.logsumexp], ids=["log_softmax", "softmax", "logsumexp"]
)
def test_large_products(function, scale):
    """With their gradients, for which the product is computed again."""
    graphs = assert_as_eager(lambda x: function(x * scale, 1), rows(requires_grad=True))
    assert not failures(graphs)


def test_cross_entropy():
    target = torch.randint(0, 65, (64,))
    assert_as_eager(lambda x: F.cross_entropy(x * 1e9, target), rows(requires_grad=True))
    assert_as_eager(lambda x, s: F.cross_entropy(x * s, target), rows(requires_grad=True), torch.tensor([1e9]))


ZERO = {
    "the greatest": lambda a, b: ((a * 1e6 / 3) - (a * 1e6 / 3).amax()).amax(),
    "of rows": lambda a, b: ((a * b) - (a * b).amax(1, keepdim=True)).amax(1),
    "of columns": lambda a, b: ((a * b) - (a * b).amax(0, keepdim=True)).amax(0),
    "the other way round": lambda a, b: a * b - b * a,
    "signs": lambda a, b: a * b + (-a) * b,
    "a copy": lambda a, b: a * b - (a * b).clone(),
    "a turned copy": lambda a, b: a * b - (a * b).t().contiguous().t(),
    "a reshape": lambda a, b: a * b - (a.reshape(-1) * b.reshape(-1)).view(a.shape),
    "a slice": lambda a, b: (a * b)[:, 1:] - a[:, 1:] * b[:, 1:],
    "joined": lambda a, b: torch.cat([a * b, b * a]) - torch.cat([b * a, a * b]),
    "padded": lambda a, b: F.pad(a * b, (1, 1)) - F.pad(a, (1, 1)) * F.pad(b, (1, 1)),
    "chosen": lambda a, b: torch.where(a > 0, a * b, b) - torch.where(a > 0, b * a, b),
    "cast to double": lambda a, b: (a * b).double() - (a * b).double().clone(),
    "a sum": lambda a, b: (a * b + 1) - (1 + b * a),
    "a product that is kept": lambda a, b: (y := a * b, y - a * b)[1],
}


@pytest.mark.parametrize("name", ZERO)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_differences_that_are_zero(name, dtype):
    a, b = rows(dtype=dtype), rows(dtype=dtype)
    assert not compiled(ZERO[name])(a, b).any()


ARITHMETIC = {
    "multiply and add": lambda a, b, c: a * b + c,
    "multiply and subtract": lambda a, b, c: (c - a * b, a * b - c),
    "a polynomial": lambda a, b, c: ((0.3 * a + 0.7) * a - b) * a + c,
    "two products": lambda a, b, c: a * b + b * c,
    "a norm's scale": lambda a, b, c: (a - b) * c + (a - 0.1) * b,
    "divided": lambda a, b, c: a / (b * b + 1) + c * a,
    "an optimizer's step": lambda a, b, c: a - 0.01 * ((0.9 * b + 0.1 * c) / (0.999 * c * c + 1e-8)),
    "scaled": lambda a, b, c: a * 0.125 - b * 3,
}


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_arithmetic_is_eager_s_bit_by_bit(name, dtype):
    inputs = [rows(dtype=dtype) for _ in range(3)]
    assert_as_eager(ARITHMETIC[name], *inputs, exact=True)


def test_variance_of_equal_products():
    a, b = torch.full((5, 1000), 1e3 / 3), torch.full((5, 1000), 1.1)
    for variance in (lambda a, b: torch.var_mean(a * b, 1)[0], lambda a, b: torch.std(a * b, 1)):
        assert (compiled(variance)(a, b) >= 0).all()
    assert compiled(lambda a, b: F.layer_norm(a * b, (1000,)))(a, b).abs().max() < 0.02  # eager: up to an ulp over eps


@pytest.mark.parametrize("function", [F.normalize, torch.linalg.vector_norm], ids=["normalize", "norm"])
def test_norms_of_scaled_inputs(function):
    assert_as_eager(lambda x: function(x * 1e9, dim=1), rows(requires_grad=True))


def test_sizes_that_change():
    function = compiled(lambda x: F.log_softmax(x * 1e9, 1), dynamic=True)
    for sizes in ((64, 65), (3, 1000), (65, 64), (1, 17), (200, 9)):
        x = torch.randn(sizes)
        torch.testing.assert_close(function(x), F.log_softmax(x * 1e9, 1))


def test_the_forward_pass_and_the_gradient_agree():
    """exp(x * s - logsumexp) of two graphs: the exponent would be off by as much as the product was rounded."""

    class LogSumExp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x, total := torch.logsumexp(x * scale, 1))
            ctx.scale = scale
            return total

        @staticmethod
        def backward(ctx, grad):
            x, total = ctx.saved_tensors
            return (x * ctx.scale - total[:, None]).exp() * grad[:, None] * ctx.scale, None

    x = rows(requires_grad=True)
    (_, (ours,), _), (_, (theirs,), _) = (
        results(function, x)
        for function in (compiled(lambda x: LogSumExp.apply(x, 1e9)), lambda x: LogSumExp.apply(x, 1e9))
    )
    torch.testing.assert_close(ours, theirs)
