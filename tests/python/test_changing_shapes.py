"""Programs of PyTorch called with sizes that change, to and from 1 and 0, by torch.compile(dynamic=True) and by fuser2.

Each is compiled once and called with all of its shapes, forwards and backwards, so that plans of other sizes are there.
Sizes that PyTorch refuses are refused, and the next call is right.
"""

import pytest
import torch
from compile_support import failures
from nvfuser.dynamo import backend
from nvfuser.dynamo.backend import observing
from torchscript_support import compiled_anew, copies, rand


def row_times(x):
    return (x * 2.0) * x[:1].relu()


def last_row(x):
    return (x[-1:] - x).abs() + x


def neighbours(x):
    return x[1:] * 0.5 + x[:-1].sigmoid()


def joined(x, y):
    return torch.cat([x * 2.0, y.relu()], 0) + 1.0


def joined_with_itself(x, y):
    return torch.cat([x, x[:1]], 0).tanh() * y


def flat_times(x, y):
    return (x * 2.0).reshape(-1) * y


def rows_to_columns(x, y):
    return (x.relu().reshape(x.size(1), x.size(0)) + y) * 2.0


def stretched(x, y):
    return (x + y) * x.exp() - y


def stretched_to(x, y):
    return (x * 3.0).expand(y.size(0), y.size(1)) + y


def centred(x):
    return x - x.mean(0, True) + x.sum(1, True)


def softmax_of_part(x):
    return torch.softmax(x[:, 1:] * 2.0, 1)


def halves(x):
    a, b = x.chunk(2, 1)
    return a.relu() + a, b * 2.0


def padded(x, y):
    return torch.nn.functional.pad(x * 2.0, [1, 0]) + y


def norm(x, y):
    return torch.nn.functional.layer_norm(x, [x.size(1)]) * y


ROWS = [[(3, 4)], [(1, 4)], [(5, 1)], [(2, 7)], [(1, 1)]]
# program: shapes of each call, then of a call that PyTorch refuses
PROGRAMS = {
    row_times: ([*ROWS, [(0, 4)]], None),
    last_row: ([*ROWS, [(3, 0)]], None),
    neighbours: ([*ROWS, [(9, 0)]], None),
    joined: ([[(3, 4), (2, 4)], [(1, 4), (1, 4)], [(0, 4), (2, 4)], [(2, 0), (3, 0)]], [(3, 4), (2, 5)]),
    joined_with_itself: ([[(3, 4), (4, 4)], [(1, 4), (2, 1)], [(0, 4), (1, 4)]], [(3, 4), (3, 4)]),
    flat_times: ([[(3, 4), (12,)], [(1, 4), (4,)], [(1, 1), (5,)], [(2, 3), (1,)], [(0, 3), (1,)]], [(2, 3), (4,)]),
    rows_to_columns: ([[(3, 4), (4, 3)], [(1, 4), (4, 5)], [(4, 1), (1, 4)], [(0, 2), (2, 1)]], [(3, 4), (3, 4)]),
    stretched: (
        [[(3, 4), (3, 4)], [(1, 4), (3, 4)], [(3, 1), (1, 4)], [(1, 1), (1, 1)], [(0, 4), (1, 1)]],
        [(3, 4), (2, 4)],
    ),
    stretched_to: ([[(3, 4), (3, 4)], [(1, 4), (3, 4)], [(1, 1), (3, 4)], [(1, 1), (0, 4)]], [(3, 4), (5, 4)]),
    centred: ([*ROWS, [(3, 0)]], None),
    softmax_of_part: ([[(3, 4)], [(1, 4)], [(5, 2)], [(0, 7)], [(3, 1)]], None),
    halves: ([[(3, 4)], [(1, 4)], [(5, 2)], [(2, 8)], [(0, 6)]], None),
    padded: ([[(3, 4), (3, 5)], [(1, 4), (3, 5)], [(3, 0), (1, 1)], [(3, 1), (3, 2)]], [(3, 4), (3, 4)]),
    norm: ([[(3, 4), (4,)], [(1, 4), (4,)], [(5, 1), (1,)], [(0, 4), (4,)], [(7, 33), (33,)]], [(3, 4), (5,)]),
}


def close(got, want):
    torch.testing.assert_close(got, want, rtol=2e-5, atol=2e-5, equal_nan=True)


def call(function, shapes):
    """Results and gradients, or the type of the error; the inputs are the same for the same shapes."""
    torch.manual_seed(sum(map(len, shapes)))
    inputs = [rand(*shape, grad=True) for shape in shapes]
    try:
        result = function(*inputs)
    except (RuntimeError, IndexError) as error:
        return type(error)
    parts = result if isinstance(result, tuple) else (result,)
    sum((part * part).sum() for part in parts).backward()
    return [part.detach() for part in parts], [x.grad for x in inputs]


def check(program, function):
    calls, refused = PROGRAMS[program]
    for shapes in [*calls, *calls[::-1]]:
        close(call(function, shapes), call(program, shapes))
        if refused is not None:
            assert call(program, refused) is RuntimeError
            assert isinstance(call(function, refused), type), "sizes that do not fit gave a result"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_compiled_for_all_sizes(program):
    torch._dynamo.reset()
    check(program, torch.compile(program, backend=backend, dynamic=True))
    torch._dynamo.reset()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_scripted(program):
    scripted = compiled_anew(program)
    with torch.jit.fuser("fuser2"):
        check(program, scripted)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_scripted_without_gradients(program):
    """One group takes all of it, also what the differentiable parts of TorchScript leave out."""
    calls, _ = PROGRAMS[program]
    scripted = compiled_anew(program)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for shapes in [calls[0], calls[0], *calls, *calls[::-1]]:
            inputs = [rand(*shape) for shape in shapes]
            close(scripted(*copies(inputs)), program(*inputs))


def test_numbers_that_a_call_computes_beside_short_rows():
    def weighted(x, index, count):
        return x.reshape(-1, 33).softmax(-1) * torch.where(index < 0, index + count, index)[:, None]

    torch._dynamo.reset()
    function = torch.compile(weighted, backend=backend, dynamic=True)
    with observing() as seen:
        for rows, count in ((64, 17), (100, 40), (65, 17)):
            x, index = torch.randn(rows, 33), torch.randint(-count, count, (rows,))
            torch.testing.assert_close(function(x, index, count), weighted(x, index, count))
    assert not failures(seen.graphs)
    torch._dynamo.reset()
