"""What fused groups of TorchScript keep of PyTorch's semantics: numbers beside half precision, constants of modules,
forward-mode gradients."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torchscript_support import DEVICE, equals_eager, graphs_of, rand


def equal_numbers(x):
    return x * 2 == 0.2, x >= 0.7, x != 0.3, x > 0.1


def chosen(x):
    return torch.where(x > 0.3, x, x * 3.0), x.masked_fill(x == 0.3, 0.0), x.masked_fill(x > 0.0, 0.7) == 0.7


def bounded(x):
    return torch.clamp(x, -0.7, 0.7) == 0.7, torch.clamp(x, min=0.1) <= 0.1, (x + 1.0).clamp(max=0.3) == 0.3


def sums(x):
    return (x + 0.1) * 1.0 == x + 0.1, torch.add(x, x, alpha=0.7) - 0.0, 0.3 - x + 0.0


def products(x):
    return x * 0.1 + 0.0, x / 0.7 + 0.0, torch.lerp(x, x * 2.0, 0.3)


def tensors_without_axes(x, t):
    return x * 1.0 == t, torch.maximum(x, t) + 0.0


def around(dtype):
    exact = torch.tensor([sign * v for v in (0.1, 0.7, 0.3) for sign in (1, -1)], dtype=dtype)
    return torch.cat([exact, exact / 2, exact * 2, exact + 1, torch.ones(8, dtype=dtype)]).to(DEVICE)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("program", [equal_numbers, chosen, bounded, sums, products])
def test_numbers_beside_half_precision(program, dtype):
    equals_eager(program, [[around(dtype)]])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_tensors_without_axes_beside_half_precision(dtype):
    equals_eager(tensors_without_axes, [[around(dtype), torch.tensor(0.1, device=DEVICE)]])


class Scaled(torch.nn.Module):
    def __init__(self, constant):
        super().__init__()
        self.constant = constant

    def forward(self, x):
        return (x * self.constant + 1.0).relu() - self.constant


@pytest.mark.parametrize(
    "constant",
    [
        torch.tensor([2.0, 3.0, 4.0]),
        torch.tensor(2.5),
        torch.tensor([[2], [3], [-4], [5]]),
        torch.ones(3, 4).t(),
        torch.tensor([True, False, True]).int(),
        torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64),
    ],
)
def test_constants_of_traced_modules_are_read_as_inputs(constant):
    module = Scaled(constant.to(DEVICE))
    x = rand(4, 3)
    with warnings.catch_warnings(), torch.no_grad(), torch.jit.fuser("fuser2"):
        warnings.simplefilter("error", UserWarning)
        traced = torch.jit.trace(module, (x,))
        for _ in range(4):
            y = rand(4, 3)
            torch.testing.assert_close(traced(y), module(y))
    assert any("prim::CudaFusionGroup" in text for text in graphs_of(traced))


def no_dropout(x):
    return F.dropout(x * 2.0, 0.5, False) + 1.0


def dropout_alone(x):
    return F.dropout(x, 0.5, False)


@pytest.mark.parametrize("program", [no_dropout, dropout_alone])
def test_dropout_in_evaluation_is_quiet(program):
    scripted = torch.jit.script(program)
    with warnings.catch_warnings(), torch.no_grad(), torch.jit.fuser("fuser2"):
        warnings.simplefilter("error", UserWarning)
        for _ in range(4):
            x = rand(4, 3)
            torch.testing.assert_close(scripted(x), program(x))


def curved(x):
    return (torch.sin(x * 2.0) * x).exp()


@pytest.mark.parametrize("warm", [0, 4])
def test_forward_mode_gradients(warm):
    scripted = torch.jit.script(curved)
    x = rand(5)
    with torch.jit.fuser("fuser2"):
        for _ in range(warm):
            scripted(x)
        for _ in range(3):
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
                ours = torch.autograd.forward_ad.unpack_dual(scripted(dual)).tangent
                theirs = torch.autograd.forward_ad.unpack_dual(curved(dual)).tangent
            torch.testing.assert_close(ours, theirs)
        jacobian = torch.autograd.functional.jacobian(scripted, x, strategy="forward-mode", vectorize=True)
        torch.testing.assert_close(jacobian, torch.autograd.functional.jacobian(curved, x))
        torch.testing.assert_close(torch.func.jacfwd(scripted)(x), torch.func.jacfwd(curved)(x))
        torch.testing.assert_close(scripted(x), curved(x))
