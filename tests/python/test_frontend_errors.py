"""Wrong calls of the module nvfuser, each with its answer: "expression  ->  class: words of the message"."""

import pytest

torch = pytest.importorskip("torch")

import nvfuser  # noqa: E402
from nvfuser import DataType, FusionDefinition  # noqa: E402

WRONG = """
fd.define_tensor(shape=[-2], contiguity=[True])  ->  UserError: The value -2 at index 0 was neither symbolic(-1)
fd.define_tensor(shape=[-1, -1], contiguity=[True])  ->  UserError: Length of contiguity argument (1) must match
fd.define_tensor(shape=[-1], contiguity=[True], is_cpu=True)  ->  UserError: is_cpu is for a CPU scalar
fd.define_tensor(shape=[-1, -1], contiguity=True, stride_order=[0, 0])  ->  UserError: duplicated stride_order entries
fd.define_tensor(shape=[-1], rank=1)  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_scalar(1.5, dtype=DataType.Int)  ->  UserError: define_scalar: Scalar value 1.5 is not compatible
fd.define_constant(1.5, dtype=DataType.Int)  ->  UserError: Scalar value 1.5 is not compatible
fd.define_constant("x")  ->  TypeError: a constant is a bool, an int, a float or a complex, not a str
fd.define_vector([t, 1])  ->  TypeError: define_vector: its entries are Scalars and ints, not a Tensor
fd.define_vector([1.5])  ->  TypeError: define_vector: its entries are Scalars and ints, not a float
fd.define_vector([1], dtype=DataType.Float)  ->  UserError: define_vector: a vector has the dtype Int, not Float
fd.define_vector(-1)  ->  TypeError: or the number of input scalars, at least 0, not -1
fd.define_vector("x")  ->  TypeError: define_vector: a list of Scalars and ints is needed
fd.define_vector([1, 2]).at(2)  ->  IndexError: at: there is no entry 2; the vector has 2
fd.from_pytorch([1])  ->  TypeError: from_pytorch: a torch.Tensor is needed, not a list
fd.add_output(3)  ->  TypeError: add_output: an output is a tensor or a scalar of the fusion
fd.add_output(t, 3)  ->  TypeError: add_output: an input is updated by a Tensor, not a int
fd.add_output(s, t)  ->  TypeError: add_output: an input is updated by a Tensor, not a Scalar
fd.add_output(fd.ops.neg(t), fd.ops.neg(t))  ->  UserError: is not an input tensor
fd.add_output(s, [0])  ->  TypeError: add_output: only a Tensor has a stride_order, not a Scalar
fd.add_output(t, [0, 1], stride_order=[0, 1])  ->  TypeError: add_output: a stride_order was given twice
fd.add_output(t, [0, 0])  ->  UserError: stride_order: duplicated stride_order entries: 0
fd.add_output(t, [0])  ->  UserError: stride_order: stride_order has 1 entries for a tensor of rank 2
fd.ops.at(3, 0)  ->  TypeError: at: a Vector or a list of Scalars is needed, not a int
fd.ops.at(fd.ops.shape(t), 2)  ->  IndexError: at: there is no entry 2; the vector has 2
fd.ops.reshape(t)  ->  TypeError: reshape: argument new_shape (list[int | Scalar]) is missing
fd.ops.reshape(t, [1], [2], [3])  ->  TypeError: reshape: takes arg, at most one original_shape and one new_shape
fd.ops.reshape(t, [4], [2, 2])  ->  UserError: reshape: original_shape has 1 entries, but T0 has 2 axes
fd.ops.squeeze(t, [4, 1, 1], [1])  ->  UserError: squeeze: original_shape has 3 entries, but T0 has 2 axes
fd.ops.squeeze(t, original_shape=[4, 1])  ->  TypeError: squeeze: with an original_shape, a list of dims is needed
fd.ops.squeeze(t, [4, 1], [2])  ->  UserError: squeeze: Tried to access out of boundary index 2. total index: 2 axes
fd.ops.batch_norm(t, None, None, None, None, 0.1, 1e-5, True, eps=1.0)  ->  TypeError: batch_norm: argument eps was
fd.ops.sum(t, axes=[0], keepdim=2)  ->  TypeError: sum: argument keepdim must be a bool, not the integer 2
fd.ops.no_such(t)  ->  AttributeError: no_such
fd.sched.split(t, 0, 2)  ->  UserError: sched.split: no schedule is being made; schedules are written in schedule(self)
fd.sched.tensors()  ->  UserError: sched.tensors: no schedule is being made
t.size(2)  ->  UserError: size: Tried to access out of boundary index 2. total index: 2 axes
t.size("x")  ->  TypeError: size(): incompatible function arguments
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_wrong_calls_are_answered(line):
    expression, answer = line.split("  ->  ")
    kind, _, words = answer.partition(": ")
    with FusionDefinition() as fd:
        names = {"fd": fd, "t": fd.define_tensor(2), "s": fd.define_scalar(DataType.Int), "DataType": DataType}
        with pytest.raises(Exception) as caught:
            eval(expression, names)
    raised = caught.value
    assert kind in {each.__name__ for each in type(raised).__mro__}, repr(raised)
    assert words.strip() in str(raised) and "internal" not in str(raised).lower(), repr(raised)


def test_outside_of_a_definition():
    fd = FusionDefinition()
    for call in (
        lambda: fd.define_tensor(1),
        lambda: fd.define_scalar(1.0),
        lambda: fd.define_constant(1.0),
        lambda: fd.define_vector([1]),
        lambda: fd.add_output(None),
        lambda: fd.from_pytorch(torch.ones(1)),
    ):
        with pytest.raises(nvfuser.UserError, match="the fusion is not being defined; use `with FusionDefinition"):
            call()
    with fd:
        fd.define_tensor(1)
    with pytest.raises(NotImplementedError, match="Fusion is empty!"):
        fd.execute([])
    with pytest.raises(nvfuser.UserError, match=r"fusion \d+ is defined already"), fd:
        pass
