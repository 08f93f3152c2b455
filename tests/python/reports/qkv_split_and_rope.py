import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id1(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[2, 1, 0])
    T1 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[None, None, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[3, 2, 1, 0])
    T2 = fd.define_tensor(shape=[-1, -1, -1, -1], contiguity=[None, None, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[3, 2, 1, 0])
    S5 = fd.define_scalar(2, dtype=DataType.Int)
    S6 = fd.define_scalar(8, dtype=DataType.Int)
    S7 = fd.define_scalar(4, dtype=DataType.Int)
    S8 = fd.define_scalar(3, dtype=DataType.Int)
    S9 = fd.define_scalar(16, dtype=DataType.Int)
    V10 = fd.define_vector([S5, S6, S7, S8, S9], dtype=DataType.Int)
    T11 = fd.ops.reshape(T0, new_shape=V10)
    T12 = fd.ops.permute(T11, dims=[0, 2, 3, 1, 4])
    T13 = fd.ops.slice(T12, start_indices=[0, 0, 0, 0, 0], end_indices=[2, 4, 1, 8, 16], strides=[1, 1, 1, 1, 1])
    T14 = fd.ops.slice(T12, start_indices=[0, 0, 1, 0, 0], end_indices=[2, 4, 2, 8, 16], strides=[1, 1, 1, 1, 1])
    T15 = fd.ops.slice(T12, start_indices=[0, 0, 2, 0, 0], end_indices=[2, 4, 3, 8, 16], strides=[1, 1, 1, 1, 1])
    V16 = fd.define_vector([S5, S7, S6, S9], dtype=DataType.Int)
    T17 = fd.ops.reshape(T13, new_shape=V16)
    T18 = fd.ops.reshape(T14, new_shape=V16)
    T19 = fd.ops.reshape(T15, new_shape=V16)
    T20 = fd.ops.slice(T17, start_indices=[0, 0, 0, 0], end_indices=[2, 4, 8, 8], strides=[1, 1, 1, 1])
    T21 = fd.ops.slice(T17, start_indices=[0, 0, 0, 8], end_indices=[2, 4, 8, 16], strides=[1, 1, 1, 1])
    T22 = fd.ops.cast(T21, dtype=DataType.Float)
    T23 = fd.ops.neg(T22)
    T24 = fd.ops.cast(T23, dtype=DataType.BFloat16)
    T25 = fd.ops.cat([T24, T20], dim=-1)
    T26 = fd.ops.cast(T17, dtype=DataType.Float)
    T27 = fd.ops.cast(T1, dtype=DataType.Float)
    T28 = fd.ops.mul(T26, T27)
    T29 = fd.ops.cast(T25, dtype=DataType.Float)
    T30 = fd.ops.cast(T2, dtype=DataType.Float)
    T31 = fd.ops.mul(T29, T30)
    T32 = fd.ops.add(T28, T31)
    T33 = fd.ops.cast(T32, dtype=DataType.BFloat16)
    fd.add_output(T33)
    fd.add_output(T18)
    fd.add_output(T19)


with FusionDefinition() as fd:
    nvfuser_fusion_id1(fd)

inputs = [
    torch.randn((2 * 8 * 192,), dtype=torch.bfloat16, device="cuda:0").as_strided((2, 8, 192), (1536, 192, 1)),
    torch.randn((128,), dtype=torch.bfloat16, device="cuda:0").as_strided((2, 4, 8, 16), (0, 0, 16, 1)),
    torch.randn((128,), dtype=torch.bfloat16, device="cuda:0").as_strided((2, 4, 8, 16), (0, 0, 16, 1)),
]
outputs = fd.execute(inputs)
