"""Programs of nvfuser_direct, with what nvFuser prints of them, returns and raises.

A definition is given as its statements about tensors; scalars in them are "c", as their numbers follow from each
compiler's own arithmetic. Inputs: dtype, sizes, strides; those on the CPU in nvFuser's run say so.
"""

from dataclasses import dataclass, field


@dataclass
class Program:
    name: str
    inputs: list
    body: str  # of an `fd` and a list `i` of inputs
    printed: str | None = None  # a statement a line
    outputs: list = field(default_factory=list)  # dtype, sizes, strides
    error: str | None = None  # words of it


PROGRAMS = [
    Program(
        "add of a number",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.add(x, sc(fd, 3.0)))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.add(tv0, 3.00000)
fd.add_output(tv1)""",
        outputs=["float32 [4, 5] [5, 1]"],
    ),
    Program(
        "mul of an integer, python number",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.mul(x, 2))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.mul(tv0, c)
fd.add_output(tv1)""",
        outputs=["float32 [4, 5] [5, 1]"],
    ),
    Program(
        "sum of the last axis, kept or not",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.sum(x, dims=[-1]))
fd.add_output(fd.ops.sum(x, dims=[-1], keepdim=True))
fd.add_output(fd.ops.sum(x, dims=[0, 1]))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)
tv2 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)
tv3 = fd.ops.broadcast(tv2, is_broadcast_dim=[False, True])
tv4 = fd.ops.sum(tv0, dims=[0, 1], dtype=DataType.Float)
fd.add_output(tv1)
fd.add_output(tv3)
fd.add_output(tv4)""",
        outputs=["float32 [4] [1]", "float32 [4, 1] [1, 1]", "float32 [] []"],
    ),
    Program(
        "prod, max, min with a dtype",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.prod(x, dims=[1], dtype=D.Double))
fd.add_output(fd.ops.max(x, dims=[0]))
fd.add_output(fd.ops.min(x, dims=[0], keepdim=True))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.cast(tv0, dtype=DataType.Double)
tv2 = fd.ops.prod(tv1, dims=[1], dtype=DataType.Double)
tv3 = fd.ops.max(tv0, dims=[0])
tv4 = fd.ops.min(tv0, dims=[0])
tv5 = fd.ops.broadcast(tv4, is_broadcast_dim=[True, False])
fd.add_output(tv2)
fd.add_output(tv3)
fd.add_output(tv5)""",
        outputs=["float64 [4] [1]", "float32 [5] [1]", "float32 [1, 5] [5, 1]"],
    ),
    Program(
        "prod of all with a dtype",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.prod(x, D.Float))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.prod(tv0, dims=[0, 1], dtype=DataType.Float)
fd.add_output(tv1)""",
        outputs=["float32 [] []"],
    ),
    Program(
        "var, var_mean",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.var(x, dims=[1], correction=1))
v, m = fd.ops.var_mean(x, dims=[1], correction=0, keepdim=True)
fd.add_output(v)
fd.add_output(m)""",
        # nvFuser's differs: the mean is divided before it is broadcast, variances are divided.
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)
tv2 = fd.ops.div(tv1, c)
tv3 = fd.ops.broadcast(tv2, is_broadcast_dim=[False, True])
tv4 = fd.ops.sub(tv0, tv3)
tv5 = fd.ops.mul(tv4, tv4)
tv6 = fd.ops.sum(tv5, dims=[1], dtype=DataType.Float)
tv7 = fd.ops.div(tv6, c)
tv8, tv9, tv10 = fd.ops.welford(tv0, dims=[1])
tv11 = fd.ops.div(tv9, c)
tv12 = fd.ops.broadcast(tv11, is_broadcast_dim=[False, True])
tv13 = fd.ops.broadcast(tv8, is_broadcast_dim=[False, True])
fd.add_output(tv7)
fd.add_output(tv12)
fd.add_output(tv13)""",
        outputs=["float32 [4] [1]", "float32 [4, 1] [1, 1]", "float32 [4, 1] [1, 1]"],
    ),
    Program(
        "broadcast without new axes",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.relu(fd.ops.broadcast(x, [False, False])))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1)""",
        outputs=["float32 [4, 5] [5, 1]"],
    ),
    Program(
        "reshape to a list, with -1, permute",
        ["float32 [4, 6] [6, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.reshape(x, [2, 12]))
fd.add_output(fd.ops.reshape(x, [-1, 3]))
fd.add_output(fd.ops.permute(x, [1, 0]))""",
        # nvFuser's differs: a size is read of the first tensor that has it.
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.reshape(tv0, new_shape=[2, 12])
tv2 = fd.ops.reshape(tv0, new_shape=[c, 3])
tv3 = fd.ops.permute(tv0, dims=[1, 0])
fd.add_output(tv1)
fd.add_output(tv2)
fd.add_output(tv3)""",
        outputs=["float32 [2, 12] [12, 1]", "float32 [8, 3] [3, 1]", "float32 [6, 4] [1, 6]"],
    ),
    Program(
        "slice",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.slice(x, [1, 2], [5, 6]))
fd.add_output(fd.ops.slice(x, [1, 2], [5, 6], [1, 1]))
fd.add_output(fd.ops.slice(x, [0, 0], [1, 8]))""",
        # nvFuser's differs: a start is held within its axis, too.
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.slice(tv0, start_indices=[c, c], end_indices=[c, c], strides=[1, 1], manual_normalization=True)
tv2 = fd.ops.slice(tv0, start_indices=[c, c], end_indices=[c, c], strides=[1, 1], manual_normalization=True)
tv3 = fd.ops.slice(tv0, start_indices=[0, 0], end_indices=[c, c], strides=[1, 1], manual_normalization=True)
fd.add_output(tv1)
fd.add_output(tv2)
fd.add_output(tv3)""",
        outputs=["float32 [4, 4] [8, 1]", "float32 [4, 4] [8, 1]", "float32 [1, 8] [8, 1]"],
    ),
    Program(
        "slice of one element a row, summed",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
s = fd.ops.slice(x, [0, 0], [8, 1])
fd.add_output(fd.ops.sum(s, dims=[1]))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.slice(tv0, start_indices=[0, 0], end_indices=[c, c], strides=[1, 1], manual_normalization=True)
tv2 = fd.ops.sum(tv1, dims=[1], dtype=DataType.Float)
fd.add_output(tv2)""",
        # nvFuser gives a view of x, with strides [8].
        outputs=["float32 [8] [1]"],
    ),
    Program(
        "slice, negative start",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.slice(x, [-1, 2], [5, 6]))""",
        error="Slice operation start_indices must be greater than or equal to 0. Start Indices: -1",
    ),
    Program(
        "slice, end before start",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.slice(x, [4, 2], [3, 6]))""",
        error="end_indices must be greater than or equal to start_indices. Start Indices: 4 End Indices: 3",
    ),
    Program(
        "slice, stride 2",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.slice(x, [0, 0], [8, 8], [2, 1]))""",
        error="nvFuser Limitation: All slice operation strides must be of const size 1.",
    ),
    Program(
        "slice, too few ends",
        ["float32 [8, 8] [8, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.slice(x, [0, 0], [8]))""",
        error="Slice indexing attribute dimensions don't match! Start Indices: 2 End Indices: 1",
    ),
    Program(
        "pad, cat",
        ["float32 [4, 5] [5, 1]", "float32 [4, 3] [3, 1]"],
        """
x = fd.from_pytorch(i[0])
y = fd.from_pytorch(i[1])
fd.add_output(fd.ops.pad(x, [1, 2]))
fd.add_output(fd.ops.cat([x, y], dim=1))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv2 = fd.ops.pad(tv0, pad_widths=[1, 2, 0, 0], value=c)
tv3 = fd.ops.pad(tv0, pad_widths=[0, c, 0, 0], value=c)
tv4 = fd.ops.pad(tv1, pad_widths=[c, 0, 0, 0], value=c)
tv5 = fd.ops.cat([tv3, tv4], dim=1, manual_padding=True)
fd.add_output(tv2)
fd.add_output(tv5)""",
        outputs=["float32 [4, 8] [8, 1]", "float32 [4, 8] [8, 1]"],
    ),
    Program(
        "linear, with bias",
        ["bfloat16 [4, 8] [8, 1]", "bfloat16 [6, 8] [8, 1]", "bfloat16 [6] [1]"],
        """
x, w, b = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.linear(x, w))
fd.add_output(fd.ops.linear(x, w, b))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
tv2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False)
tv3 = fd.ops.linear(tv0, tv1)
tv4 = fd.ops.linear(tv0, tv1, bias=tv2)
fd.add_output(tv3)
fd.add_output(tv4)""",
        outputs=["bfloat16 [4, 6] [6, 1]", "bfloat16 [4, 6] [6, 1]"],
    ),
    Program(
        "matmul, transposed input",
        ["bfloat16 [4, 8] [8, 1]", "bfloat16 [8, 6] [1, 8]"],
        """
x, w = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.matmul(x, w))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0, 1])
tv2 = fd.ops.matmul(tv0, tv1)
fd.add_output(tv2)""",  # noqa: E501
        outputs=["bfloat16 [4, 6] [6, 1]"],
    ),
    Program(
        "where, compare, cast",
        ["float32 [4, 5] [5, 1]", "float32 [4, 5] [5, 1]"],
        """
x, y = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.where(fd.ops.gt(x, y), x, sc(fd, 0.0)))
fd.add_output(fd.ops.cast(x, dtype=D.BFloat16))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv2 = fd.ops.gt(tv0, tv1)
tv3 = fd.ops.where(tv2, tv0, 0.00000)
tv4 = fd.ops.cast(tv0, dtype=DataType.BFloat16)
fd.add_output(tv3)
fd.add_output(tv4)""",
        outputs=["float32 [4, 5] [5, 1]", "bfloat16 [4, 5] [5, 1]"],
    ),
    Program(
        "integer division by zero",
        ["int64 [4] [1]", "int64 [4] [1]"],
        """
x, y = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.div(x, y))
fd.add_output(fd.ops.truediv(x, y))
fd.add_output(fd.ops.remainder(x, y))
fd.add_output(fd.ops.fmod(x, y))""",
        """
tv0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
tv2 = fd.ops.div(tv0, tv1)
tv3 = fd.ops.cast(tv0, dtype=DataType.Float)
tv4 = fd.ops.cast(tv1, dtype=DataType.Float)
tv5 = fd.ops.div(tv3, tv4)
tv6 = fd.ops.remainder(tv0, tv1)
tv7 = fd.ops.fmod(tv0, tv1)
fd.add_output(tv2)
fd.add_output(tv5)
fd.add_output(tv6)
fd.add_output(tv7)""",
        outputs=["int64 [4] [1]", "float32 [4] [1]", "int64 [4] [1]", "int64 [4] [1]"],
    ),
    Program(
        "int32 division by zero",
        ["int32 [4] [1]", "int32 [4] [1]"],
        """
x, y = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.div(x, y))
fd.add_output(fd.ops.truediv(x, y))""",
        """
tv0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int32, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int32, is_cpu=False)
tv2 = fd.ops.div(tv0, tv1)
tv3 = fd.ops.cast(tv0, dtype=DataType.Float)
tv4 = fd.ops.cast(tv1, dtype=DataType.Float)
tv5 = fd.ops.div(tv3, tv4)
fd.add_output(tv2)
fd.add_output(tv5)""",
        outputs=["int32 [4] [1]", "float32 [4] [1]"],
    ),
    Program(
        "a CPU scalar from_pytorch",
        ["float32 [] [] cpu", "float32 [3] [1]"],
        """
x, y = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.add(x, y))""",
        """
tv0 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
tv1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
tv2 = fd.ops.broadcast(tv0, is_broadcast_dim=[True])
tv3 = fd.ops.add(tv2, tv1)
fd.add_output(tv3)""",
        outputs=["float32 [3] [1]"],
    ),
    Program(
        "only CPU scalars",
        ["float32 [] [] cpu", "float32 [] [] cpu"],
        """
x, y = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.add(x, y))""",
        """
tv0 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
tv1 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
tv2 = fd.ops.add(tv0, tv1)
fd.add_output(tv2)""",
        # nvFuser: KernelExecutor does not support the Fusion provided.
        outputs=["float32 [] []"],
    ),
    Program(
        "a CPU tensor with axes",
        ["float32 [3] [1] cpu"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.relu(x))""",
        # nvFuser: only scalar CPU or CUDA tensors are supported.
        outputs=["float32 [3] [1]"],
    ),
    Program(
        "in place",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
y = fd.ops.relu(x)
fd.add_output(y, x)""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1, tv0)""",
    ),
    Program(
        "in place, and returned",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
y = fd.ops.relu(x)
fd.add_output(y, x)
fd.add_output(y)""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1, tv0)
fd.add_output(tv1)""",
        outputs=["float32 [4, 5] [5, 1]"],
    ),
    Program(
        "the same output twice; an input as output",
        ["float32 [4, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
y = fd.ops.relu(x)
fd.add_output(y)
fd.add_output(y)
fd.add_output(x)""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1)
fd.add_output(tv1)
fd.add_output(tv0)""",
        outputs=["float32 [4, 5] [5, 1]", "float32 [4, 5] [5, 1]", "float32 [4, 5] [5, 1]"],
    ),
    Program(
        "cumsum, dim too large",
        ["float32 [3, 6] [6, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.cumsum(x, 2))""",
        error="Tried to access out of boundary index 2. total index: 2",
    ),
    Program(
        "cumsum of bf16",
        ["bfloat16 [2, 5] [5, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.cumsum(x, 1))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
tv1 = fd.ops.cumsum(tv0, dim=1)
fd.add_output(tv1)""",
        outputs=["bfloat16 [2, 5] [5, 1]"],
    ),
    Program(
        "triu",
        ["float32 [3, 4] [4, 1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.triu(x, 1))
fd.add_output(fd.ops.triu(x))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.iota(length=c, start=0, step=1, dtype=DataType.Index)
tv3 = fd.ops.broadcast(tv1, is_broadcast_dim=[False, True])
tv2 = fd.ops.iota(length=c, start=-1, step=1, dtype=DataType.Index)
tv4 = fd.ops.broadcast(tv2, is_broadcast_dim=[True, False])
tv5 = fd.ops.le(tv3, tv4)
tv6 = fd.ops.where(tv5, tv0, c)
tv7 = fd.ops.iota(length=c, start=0, step=1, dtype=DataType.Index)
tv9 = fd.ops.broadcast(tv7, is_broadcast_dim=[False, True])
tv8 = fd.ops.iota(length=c, start=0, step=1, dtype=DataType.Index)
tv10 = fd.ops.broadcast(tv8, is_broadcast_dim=[True, False])
tv11 = fd.ops.le(tv9, tv10)
tv12 = fd.ops.where(tv11, tv0, c)
fd.add_output(tv6)
fd.add_output(tv12)""",
        outputs=["float32 [3, 4] [4, 1]", "float32 [3, 4] [4, 1]"],
    ),
    Program(
        "gather, index_select, take_along_axis, scatter",
        ["float32 [4, 5] [5, 1]", "int64 [4, 2] [2, 1]", "int64 [2] [1]"],
        """
x, k, s = (fd.from_pytorch(t) for t in i)
fd.add_output(fd.ops.gather(x, k, 1))
fd.add_output(fd.ops.index_select(x, s, 0))
fd.add_output(fd.ops.take_along_axis(x, k, 1))""",
        # nvFuser's differs: an index keeps its one axis.
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Int, is_cpu=False)
tv2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
tv3 = fd.ops.gather(tv0, tv1, dim=1)
tv4 = fd.ops.index_select(tv0, tv2, dim=0)
tv5 = fd.ops.take_along_axis(tv0, tv1, dim=1)
fd.add_output(tv3)
fd.add_output(tv4)
fd.add_output(tv5)""",
        outputs=["float32 [4, 2] [2, 1]", "float32 [2, 5] [5, 1]", "float32 [4, 2] [2, 1]"],
    ),
    Program(
        "strided input",
        ["float32 [4, 4] [8, 2]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.relu(x))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, False], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1)""",
        outputs=["float32 [4, 4] [4, 1]"],
    ),
    Program(
        "transposed input keeps its order",
        ["float32 [8, 4] [1, 8]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.relu(x))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[0, 1])
tv1 = fd.ops.relu(tv0)
fd.add_output(tv1)""",
        outputs=["float32 [8, 4] [1, 8]"],
    ),
    Program(
        "channels last",
        ["float32 [2, 3, 4, 5] [60, 1, 15, 3]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.relu(x))
fd.add_output(fd.ops.sum(x, dims=[1]))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float, is_cpu=False, stride_order=[3, 0, 2, 1])
tv1 = fd.ops.relu(tv0)
tv2 = fd.ops.sum(tv0, dims=[1], dtype=DataType.Float)
fd.add_output(tv1)
fd.add_output(tv2)""",  # noqa: E501
        outputs=["float32 [2, 3, 4, 5] [60, 1, 15, 3]", "float32 [2, 4, 5] [20, 5, 1]"],
    ),
    Program(
        "no outputs",
        ["float32 [3] [1]"],
        """
x = fd.from_pytorch(i[0])
fd.ops.relu(x)""",
        """
tv0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)""",
        error="Fusion is empty!",
    ),
    Program(
        "dynamic shape by size",
        ["float32 [4, 6] [6, 1]"],
        """
x = fd.from_pytorch(i[0])
s = fd.ops.size(x, 0)
fd.add_output(fd.ops.reshape(x, [s, 2, 3]))
fd.add_output(fd.ops.add(x, s))""",
        """
tv0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
tv1 = fd.ops.reshape(tv0, new_shape=[c, 2, 3])
tv2 = fd.ops.add(tv0, c)
fd.add_output(tv1)
fd.add_output(tv2)""",
        outputs=["float32 [4, 2, 3] [6, 3, 1]", "float32 [4, 6] [6, 1]"],
    ),
    Program(
        "complex, abs, real",
        ["complex64 [3] [1]"],
        """
x = fd.from_pytorch(i[0])
fd.add_output(fd.ops.abs(x))
fd.add_output(fd.ops.real(x))
fd.add_output(fd.ops.mul(x, x))""",
        """
tv0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.ComplexFloat, is_cpu=False)
tv1 = fd.ops.abs(tv0)
tv2 = fd.ops.real(tv0)
tv3 = fd.ops.mul(tv0, tv0)
fd.add_output(tv1)
fd.add_output(tv2)
fd.add_output(tv3)""",
        outputs=["float32 [3] [1]", "float32 [3] [1]", "complex64 [3] [1]"],
    ),
]
