"""A plan by itself (`nvfuser._C.GraphPlan`): its views are those of PyTorch, values go after their last reader."""

import gc
import random
import weakref

import nvfuser
import pytest
import torch
from nvfuser._C import GraphPlan, PlanSlot

aten = torch.ops.aten


def never(*args, **kwargs):
    raise AssertionError("PyTorch was asked for what is arithmetic")


def view_by_plan(source, kind, operands, instead=never, args=()):
    plan = GraphPlan(1)
    plan.add("view", instead, [PlanSlot(0), *args], {}, [1])
    plan.make_view(kind, 0, operands)
    plan.finish((PlanSlot(1),))
    (view,) = plan([source])
    return view


def same_view(view, wanted):
    assert view.shape == wanted.shape
    assert view.stride() == wanted.stride()
    assert view.storage_offset() == wanted.storage_offset()
    assert view.data_ptr() == wanted.data_ptr()
    assert view.dtype == wanted.dtype


def tensors():
    base = torch.arange(2 * 3 * 4 * 5.0).view(2, 3, 4, 5)
    return {
        "contiguous": base,
        "permuted": base.permute(2, 0, 3, 1),
        "sliced": base[:, 1:, ::2],
        "expanded": base[:, :1].expand(2, 7, 4, 5),
        "of ones": base[:1, :, :1],
        "a number": base[0, 0, 0, 0],
        "half a vector": base.view(-1)[60:].bfloat16(),
        "a vector of a matrix": base[1, 2, :, 3],
    }


def views(x):
    """(kind, operands, the same by PyTorch) for a tensor."""
    rank = x.dim()
    yield "same", (), x
    yield "squeeze_all", (), x.squeeze()
    yield "unsqueeze", (rank,), x.unsqueeze(rank)
    yield "unsqueeze", (-rank - 1,), x.unsqueeze(-rank - 1)
    yield "expand", (3, *x.shape), x.expand(3, *x.shape)
    yield "expand", (1, 2, *[-1] * rank), x.expand(1, 2, *[-1] * rank)
    yield "expand", (1, *x.shape), x.expand(1, *x.shape)
    if rank <= 2:
        yield "t", (), x.t()
    if x.is_contiguous():
        yield "reshape", (-1,), x.view(-1)
        yield "reshape", (1, -1, 1), x.view(1, -1, 1)
    if rank == 0:
        return
    axes = list(range(rank))
    random.Random(rank).shuffle(axes)
    yield "permute", axes, x.permute(axes)
    yield "permute", [axis - rank for axis in axes], x.permute(axes)
    yield "transpose", (0, -1), x.transpose(0, -1)
    for axis in range(rank):
        size = x.shape[axis]
        yield "squeeze", (axis, -1), x.squeeze((axis, -1) if axis != rank - 1 else axis)
        yield "select", (axis, -1), x.select(axis, -1)
        yield "slice", (axis, 0, 2**63 - 1, 1), x
        yield "slice", (axis, -1, size, 1), aten.slice.Tensor(x, axis, -1, size, 1)
        yield "slice", (axis, -100, 2, 3), aten.slice.Tensor(x, axis, -100, 2, 3)
        if size % 2 == 0:
            halves = [*x.shape[:axis], 2, size // 2, *x.shape[axis + 1 :]]
            yield "reshape", halves, x.view(halves)


@pytest.mark.parametrize("name", tensors())
def test_views_are_those_of_pytorch(name):
    x = tensors()[name]
    for kind, operands, wanted in views(x):
        if kind == "squeeze" and len(set(operand % x.dim() for operand in operands)) < len(operands):
            operands = operands[:1]
        same_view(view_by_plan(x, kind, list(operands)), wanted)


def test_reshapes_are_views_where_they_can_be():
    generator = random.Random(0)
    copies = 0
    for _ in range(400):
        shape = [generator.choice([1, 2, 3, 4]) for _ in range(generator.randint(1, 4))]
        x = torch.arange(float(torch.Size(shape).numel() * 2)).view(2, *shape)[generator.randint(0, 1)]
        x = x.permute(generator.sample(range(x.dim()), x.dim()))
        sizes, left = [], x.numel()
        while left > 1:
            size = generator.choice([d for d in range(1, left + 1) if left % d == 0 and (d > 1 or len(sizes) < 3)])
            sizes.append(size)
            left //= size
        wanted = x.reshape(sizes)
        is_view = wanted.data_ptr() == x.data_ptr()
        made = view_by_plan(x, "reshape", sizes, never if is_view else torch.reshape, [sizes])
        assert made.stride() == wanted.stride() and torch.equal(made, wanted)
        assert (made.data_ptr() == x.data_ptr()) == is_view
        copies += not is_view
    assert copies > 20


@pytest.mark.parametrize(
    "kind, operands",
    [
        ("reshape", [7]),
        ("reshape", [-1, -1]),
        ("expand", [3]),
        ("permute", [0, 0]),
        ("transpose", [0, 2]),
        ("slice", [2, 0, 1, 1]),
        ("slice", [0, 2, 2, 1]),
        ("select", [0, 2]),
        ("squeeze", [-3]),
        ("unsqueeze", [4]),
    ],
)
def test_what_is_no_view_is_left_to_pytorch(kind, operands):
    x = torch.randn(2, 3)
    assert view_by_plan(x, kind, operands, lambda given: given is x) is True


def test_tensors_that_have_rules_of_their_own_are_left_to_pytorch():
    class Own(torch.Tensor):
        pass

    odd = [
        torch.randn(2, 2).as_subclass(Own),
        torch.randn(2, 2, dtype=torch.complex64).conj(),
        torch.randn(2, 2, device="meta"),
        torch.eye(2).to_sparse(),
        torch.empty(2, 0),
        torch.zeros([1] * 9),
        3.5,
    ]
    for x in odd:
        assert view_by_plan(x, "t", [], lambda given, x=x: given is x) is True
    with torch.inference_mode():
        x = torch.randn(2, 3)
    assert torch.equal(view_by_plan(x, "t", []), x.t())


def test_sizes_are_arithmetic():
    plan = GraphPlan(2)
    plan.add("size", never, [PlanSlot(0), -1], {}, [2])
    plan.make_size("size", 0, [-1])
    plan.add("stride", never, [PlanSlot(0), 0], {}, [3])
    plan.make_size("stride", 0, [0])
    slots = [PlanSlot(2), PlanSlot(3)]
    for place, kind in enumerate(["add", "subtract", "multiply", "floor_divide", "remainder"]):
        plan.add(kind, never, [PlanSlot(1), PlanSlot(2)], {}, [4 + place])
        plan.make_size(kind, None, [PlanSlot(1), PlanSlot(2)])
        slots.append(PlanSlot(4 + place))
    plan.finish(slots)
    x = torch.randn(5, 7)[:, :3]
    assert plan([x, -8]) == [3, 7, -5, -11, -24, -3, 1]
    assert plan([x, 8]) == [3, 7, 11, 5, 24, 2, 2]


def test_arithmetic_that_does_not_fit_is_pythons():
    plan = GraphPlan(2)
    plan.add("mul", lambda a, b: a * b, [PlanSlot(0), PlanSlot(1)], {}, [2])
    plan.make_size("multiply", None, [PlanSlot(0), PlanSlot(1)])
    plan.finish(PlanSlot(2))
    assert plan([2**62, 4]) == 2**64
    assert plan([2.5, 4]) == 10
    assert plan([True, 4]) == 4


def test_values_go_after_their_last_reader():
    alive = []
    plan = GraphPlan(2)
    x, unread = torch.randn(3, 4), torch.randn(2)
    of_x, of_unread = weakref.ref(x.untyped_storage()), weakref.ref(unread)

    def copied(view):
        alive.append(of_unread() is not None)
        return view.clone()

    plan.add("view", never, [PlanSlot(0)], {}, [2])
    plan.make_view("t", 0, [])
    plan.add("clone", copied, [PlanSlot(2)], {}, [3])
    plan.add("look", lambda y: alive.append(first() is not None), [PlanSlot(3)], {}, [4])
    plan.finish((PlanSlot(3),))
    wanted, args = x.t().clone(), [x, unread]
    first = weakref.ref(x)
    del x, unread
    (result,) = plan(args)
    gc.collect()
    assert args == [] and alive == [False, False] and of_x() is None
    assert torch.equal(result, wanted)


def test_an_error_of_a_step_ends_the_call_and_nothing_is_kept():
    plan = GraphPlan(1)
    plan.add("fail", lambda x: x.no_such, [PlanSlot(0)], {}, [1])
    plan.finish(PlanSlot(1))
    x = torch.randn(2)
    known = weakref.ref(x)
    with pytest.raises(AttributeError, match="no_such"):
        plan([x])
    del x
    gc.collect()
    assert known() is None


def test_a_plan_that_calls_itself():
    plan = GraphPlan(1)
    plan.add("again", lambda n: 0 if n == 0 else n + plan([n - 1]), [PlanSlot(0)], {}, [1])
    plan.finish(PlanSlot(1))
    assert plan([4]) == 10


def test_arguments_and_results_of_all_kinds():
    plan = GraphPlan(2)
    seen = []

    def step(*args, **kwargs):
        seen.append((args, kwargs))
        return args, kwargs

    args = [[PlanSlot(0), None], (PlanSlot(1),), slice(PlanSlot(0), None), {"k": PlanSlot(1)}, [1, 2], "text"]
    plan.add("step", step, args, {"named": PlanSlot(0)}, [2, 3], has_parts=True)
    plan.finish([(PlanSlot(2),), PlanSlot(3), None, PlanSlot(0)])
    (first,), second, nothing, same = plan([7, "b"])
    assert first == ([7, None], ("b",), slice(7, None), {"k": "b"}, [1, 2], "text")
    assert second == {"named": 7} and nothing is None and same == 7


@pytest.mark.parametrize("operation", ["mm", "bmm", "addmm", "baddbmm"])
def test_products_are_those_of_pytorch(operation):
    generator = torch.Generator().manual_seed(0)
    batch = (3,) if "b" in operation[:2] and operation != "addmm" else ()
    a = torch.randn(*batch, 5, 4, generator=generator)
    b = torch.randn(*batch, 6, 4, generator=generator).transpose(-1, -2)
    for self in [torch.randn(6), torch.randn(5, 1), torch.randn(*batch, 5, 6)] if "add" in operation else [None]:
        tensors = [x for x in (self, a, b) if x is not None]
        named = {"beta": 0.5, "alpha": 2} if self is not None else {}
        wanted = getattr(aten, operation)(*tensors, **named)
        plan = GraphPlan(len(tensors))
        slots = [PlanSlot(place) for place in range(len(tensors))]
        plan.add(operation, never, slots, named, [len(tensors)])
        plan.make_library(operation, list(range(len(tensors))), list(named.values()), [])
        plan.finish(PlanSlot(len(tensors)))
        result = plan(tensors)
        assert result.stride() == wanted.stride()
        torch.testing.assert_close(result, wanted)


def test_wrong_products_are_pytorchs_error():
    plan = GraphPlan(2)
    plan.add("mm", aten.mm, [PlanSlot(0), PlanSlot(1)], {}, [2])
    plan.make_library("mm", [0, 1], [], [])
    plan.finish(PlanSlot(2))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        plan([torch.randn(2, 3), torch.randn(2, 3)])
    assert plan([torch.randn(2, 0), torch.randn(0, 3)]).shape == (2, 3)
    assert plan([torch.ones(2, 2, dtype=torch.int32)] * 2).sum() == 8


# operation: its operands as a plan has them, and as Python does; "v0", "v1", … are tensors
DISPATCHED = {
    "clone": ([("tensor", False, 0), ("code", True, "aoti_torch_memory_format_contiguous_format")], [(3, 4)]),
    "cumsum": ([("tensor", False, 0), ("integer", False, 1), ("code", True, "aoti_torch_dtype_float64")], [(3, 4)]),
    "native_layer_norm": (
        [
            ("tensor", False, 0),
            ("integers", False, [4]),
            ("tensor", True, 1),
            ("none", True, None),
            ("real", False, 0.1),
        ],
        [(3, 4), (4,)],
    ),
    "convolution_backward": (
        [
            *(("tensor", False, place) for place in range(3)),
            ("integers", True, [2]),
            ("integers", False, [1]),
            ("integers", False, [0]),
            ("integers", False, [1]),
            ("integer", False, 0),
            ("integers", False, [0]),
            ("integer", False, 1),
            ("integers", False, [1, 0, 1]),
        ],
        [(3, 2, 3), (3, 5, 4), (2, 5, 2)],
    ),
}
DISPATCHED_BY_PYTHON = {
    "clone": lambda x: aten.clone(x, memory_format=torch.contiguous_format),
    "cumsum": lambda x: aten.cumsum(x, 1, dtype=torch.float64),
    "native_layer_norm": lambda x, w: aten.native_layer_norm(x, [4], w, None, 0.1),
    "convolution_backward": lambda g, x, w: aten.convolution_backward(
        g, x, w, [2], [1], [0], [1], False, [0], 1, [True, False, True]
    ),
}
HAS_DISPATCHER = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 10)


@pytest.mark.skipif(not HAS_DISPATCHER, reason="PyTorch has no such C function before 2.10")
@pytest.mark.parametrize("operation", DISPATCHED)
def test_operations_by_the_dispatcher_are_those_of_pytorch(operation):
    operands, shapes = DISPATCHED[operation]
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(*shape, generator=generator) for shape in shapes]
    wanted = DISPATCHED_BY_PYTHON[operation](*tensors)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    plan = GraphPlan(len(tensors))
    results = [len(tensors) + place for place in range(len(wanted))]
    plan.add(operation, never, [PlanSlot(place) for place in range(len(tensors))], {}, results, has_parts=True)
    described = [(kind, opt, PlanSlot(value) if kind == "tensor" else value) for kind, opt, value in operands]
    plan.make_dispatched(f"aten::{operation}", "", described)
    plan.finish([PlanSlot(slot) for slot in results])
    for _ in range(3):
        for result, right in zip(plan(list(tensors)), wanted, strict=True):
            if right is None:
                assert result is None
                continue
            assert result.stride() == right.stride() and result.dtype == right.dtype
            torch.testing.assert_close(result, right)


@pytest.mark.skipif(not HAS_DISPATCHER, reason="PyTorch has no such C function before 2.10")
def test_a_write_by_the_dispatcher_is_counted_and_its_error_is_pytorchs():
    plan = GraphPlan(3)
    plan.add("index_copy_", aten.index_copy_, [PlanSlot(0), 0, PlanSlot(1), PlanSlot(2)], {}, [3])
    tensors = [("tensor", False, PlanSlot(slot)) for slot in (0, 1, 2)]
    plan.make_dispatched("aten::index_copy_", "", [tensors[0], ("integer", False, 0), *tensors[1:]])
    plan.finish(())
    x = torch.zeros(4, 2)
    version = x._version
    plan([x, torch.tensor([2]), torch.ones(1, 2)])
    assert x.sum(1).tolist() == [0, 0, 2, 0] and x._version > version
    with pytest.raises(IndexError, match="out of"):
        plan([x, torch.tensor([4]), torch.ones(1, 2)])


def test_wrong_uses_are_told():
    plan = GraphPlan(1)
    with pytest.raises(nvfuser.UserError, match="no step yet"):
        plan.make_view("t", 0, [])
    plan.add("t", aten.t, [PlanSlot(0)], {}, [1])
    with pytest.raises(nvfuser.UserError, match='no view "slice" with 1 operands'):
        plan.make_view("slice", 0, [1])
    with pytest.raises(nvfuser.UserError, match='no arithmetic "power" with 2 integers'):
        plan.make_size("power", None, [1, 2])
    with pytest.raises(nvfuser.UserError, match='no operand of the kind "number"'):
        plan.make_dispatched("aten::t", "", [("number", False, 1)])
    with pytest.raises(nvfuser.UserError, match="of 1 arguments was called with 1 before it was finished"):
        plan([1])
    plan.finish(PlanSlot(1))
    with pytest.raises(nvfuser.UserError, match="of 1 arguments was called with 2"):
        plan([1, 2])


def test_a_plan_as_text():
    plan = GraphPlan(2)
    plan.add("aten.t.default", aten.t, [PlanSlot(1)], {}, [2])
    plan.make_view("t", 1, [])
    plan.add("aten.mm.default", aten.mm, [PlanSlot(0), PlanSlot(2)], {}, [3])
    plan.add("step", print, [torch.zeros(100)], {"sep": [PlanSlot(3), (PlanSlot(0),)]}, [4])
    plan.finish((PlanSlot(3),))
    assert str(plan).splitlines() == [
        "plan: 2 arguments, 3 steps",
        "  v2 = aten.t.default(v1)                     a view",
        "  v3 = aten.mm.default(v0, v2)                Python, drops v1, v2",
        "  v4 = step(<torch.Tensor>, sep=[v3, (v0,)])  Python, drops v0, v4",
        "  return (v3,)",
    ]
