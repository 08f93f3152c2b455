import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    S0 = fd.define_scalar(None, dtype=DataType.Double)
    S1 = fd.define_scalar(None, dtype=DataType.Double)
    T2 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[None, None, True, True], dtype=DataType.Float, is_cpu=False)
    T6 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float, is_cpu=False)
    T8 = fd.ops.mul(T6, S0)
    T9 = fd.ops.slice(T8, start_indices=[0, 0, 0, 0], end_indices=[2, 3, 5, 4], strides=[1, 1, 1, 1])
    T10 = fd.ops.slice(T8, start_indices=[0, 0, 0, 4], end_indices=[2, 3, 5, 16], strides=[1, 1, 1, 1])
    S11 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T12 = fd.ops.pad(T10, [4, 0, 0, 0, 0, 0, 0, 0], S11)
    T13 = fd.ops.mul(T2, T9)
    T14 = fd.ops.slice(T13, start_indices=[0, 0, 0, 0], end_indices=[2, 3, 5, 2], strides=[1, 1, 1, 1])
    T15 = fd.ops.slice(T13, start_indices=[0, 0, 0, 2], end_indices=[2, 3, 5, 4], strides=[1, 1, 1, 1])
    T16 = fd.ops.neg(T14)
    T17 = fd.ops.pad(T15, [0, 2, 0, 0, 0, 0, 0, 0], S11)
    T18 = fd.ops.pad(T16, [2, 0, 0, 0, 0, 0, 0, 0], S11)
    T19 = fd.ops.add(T17, T18)
    T20 = fd.ops.mul(T19, S1)
    T21 = fd.ops.pad(T20, [0, 12, 0, 0, 0, 0, 0, 0], S11)
    T22 = fd.ops.add(T21, T12)
    fd.add_output(T22)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    0.5,
    2.0,
    torch.randn((20,), dtype=torch.float32, device="cuda:0").as_strided((2, 3, 5, 4), (0, 0, 4, 1)),
    torch.randn((2, 3, 5, 16), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
