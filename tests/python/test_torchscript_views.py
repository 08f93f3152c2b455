"""Views, joins and updates in place around fused groups: memory is shared as the program means."""

import pytest
import torch
from torchscript_programs import transposes, views
from torchscript_support import assert_equal, equals_eager, graphs_of, name_of, rand


def view_result(x):
    y = (x * 2.0).relu()
    return y, y.view(-1), y.t()


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


def broadcasts(x, y):
    a, b = torch.broadcast_tensors(x * 2.0 + x, (y - 1.0) * y)
    return (a * b + 1.0).relu(), a.sum(0), b


def broadcasts_before_update(x, y, z):
    a, b, c = torch.broadcast_tensors(x, y, z.exp())
    d = b * 2.0
    x.mul_(2.0)
    return a + 1.0, (d - c).tanh(), a


def broadcasts_as_list(x, y):
    both = torch.broadcast_tensors(x, y)
    return (both[0] * 2.0 + both[1]).relu()


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


CASES = [
    (views, [[rand(8, 16)], [rand(4, 12)]]),
    (view_result, [[rand(8, 16)]]),
    (transposes, [[rand(8, 16)], [rand(16, 8).t()]]),
    (permutes, [[rand(2, 8, 16)]]),
    (squeezes, [[rand(8, 16)]]),
    (slices, [[rand(8, 16)], [rand(5, 16)]]),
    (expands, [[rand(3, 5), rand(4, 1, 5)], [rand(1, 5), rand(4, 3, 5)]]),
    (concatenates, [[rand(8, 16), rand(8, 16)]]),
    (broadcasts, [[rand(4, 1, 5), rand(3, 1)], [rand(2, 1, 6), rand(7, 1)], [rand(4, 1), rand(6)]]),
    (broadcasts_before_update, [[rand(3), rand(2, 1), rand(1, 1)], [rand(5), rand(4, 1), rand(1, 1)]]),
    (broadcasts_as_list, [[rand(3), rand(2, 1)]]),
    (rotary, [[rand(2, 6, 8), rand(6, 8), rand(6, 8)]]),
    (in_place, [[rand(8, 16)]]),
    (in_place_view, [[rand(8, 16)]]),
    (in_place_row, [[rand(8, 16)]]),
    (in_place_input, [[rand(8, 16)]]),
    (in_place_through_result, [[rand(8, 16)]]),
    (no_fusion_across_write, [[rand(8, 16), rand(8, 16)]]),
    (unsupported_between, [[rand(8, 16)]]),
]


@pytest.mark.parametrize("program, calls", CASES, ids=[name_of(case[0]) for case in CASES])
def test_forward(program, calls):
    equals_eager(program, calls)


def broadcast_once(x, y):
    a, b = torch.broadcast_tensors(x * 2.0, y.exp())
    return a * b + a.sum()


def test_broadcast_is_inside_a_group():
    """With what is before it, whose sizes follow from its operands."""
    scripted = torch.jit.script(broadcast_once)
    with torch.no_grad(), torch.jit.fuser("fuser2"):
        for _ in range(3):
            arguments = [rand(4, 1), rand(5)]
            assert_equal(scripted(*arguments), broadcast_once(*arguments))
    (graph,) = graphs_of(scripted)
    outside, *groups = graph.split("with prim::CudaFusionGroup")
    assert len(groups) == 1 and groups[0].count("aten::expand(") == 2, graph
    assert "aten::" not in outside.replace("aten::size(", ""), graph
    assert "broadcast_tensors" not in graph
