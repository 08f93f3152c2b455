"""torch.compile of what is computed from constants alone, as gradients of what has none."""

import pytest
import torch
from compile_support import assert_as_eager, fresh  # noqa: F401
from nvfuser import dynamo


def test_gradients_of_signs_are_no_sums():
    def ranking(score, relevance):
        sign = torch.sign(relevance[:, :, None] - relevance[:, None, :])
        return torch.relu(1 - sign * (score[:, :, None] - score[:, None, :])).mul(sign != 0).mean()

    score, relevance = torch.randn(4, 33, requires_grad=True), torch.randint(4, (4, 33)).float().requires_grad_()
    assert_as_eager(ranking, score, relevance)
    backward = dynamo.explain(ranking, score, relevance).partition("(backward)")[2]
    assert "sum \u00d72," in backward, backward  # of the scores' gradient alone


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_numbers_are_folded_as_they_are_computed(dtype):
    def numbers(x):
        a = torch.full((3, 4), 7, dtype=dtype)
        b = (-a * 3 + 1).abs()
        return x + b, (a - a).sum(0) + x, torch.where(a > 5, a, b).to(torch.float32) / 3 + x, a.sum() + x

    assert_as_eager(numbers, torch.randn(3, 4), exact=dtype is torch.int64)


def test_constants_that_are_results_have_memory_of_their_own():
    def constants(x):
        zeros = torch.zeros(2, 3)
        return -zeros, zeros.t(), (zeros + 2).expand(4, 2, 3), x + zeros

    assert_as_eager(constants, torch.randn(2, 3), exact=True)
