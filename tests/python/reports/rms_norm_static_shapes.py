import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id3(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[1, 48, 64], contiguity=[None, True, True], dtype=DataType.Half, is_cpu=False, stride_order=[2, 1, 0]
    )
    T1 = fd.define_tensor(shape=[64], contiguity=[True], dtype=DataType.Half, is_cpu=False, stride_order=[0])
    T2 = fd.ops.cast(T0, dtype=DataType.Float)
    T3 = fd.ops.mul(T2, T2)
    T4 = fd.ops.sum(T3, dims=[2], keepdim=False, dtype=DataType.Null)
    T8 = fd.ops.broadcast_in_dim(T4, shape=[1, 48, 1], broadcast_dims=[0, 1])
    S9 = fd.define_scalar(64.0000, dtype=DataType.Double)
    S10 = fd.ops.reciprocal(S9)
    T11 = fd.ops.mul(T8, S10)
    S12 = fd.define_scalar(1.00000e-06, dtype=DataType.Double)
    T13 = fd.ops.add(T11, S12)
    T14 = fd.ops.rsqrt(T13)
    T18 = fd.ops.broadcast_in_dim(T14, shape=[1, 48, 64], broadcast_dims=[0, 1, 2])
    T19 = fd.ops.mul(T2, T18)
    T23 = fd.ops.broadcast_in_dim(T1, shape=[1, 48, 64], broadcast_dims=[2])
    T24 = fd.ops.cast(T23, dtype=DataType.Float)
    T25 = fd.ops.mul(T19, T24)
    T26 = fd.ops.cast(T25, dtype=DataType.Half)
    fd.add_output(T26)


with FusionDefinition() as fd:
    nvfuser_fusion_id3(fd)

inputs = [
    torch.testing.make_tensor((1, 48, 64), dtype=torch.float16, device="cuda:0"),
    torch.testing.make_tensor((64,), dtype=torch.float16, device="cuda:0"),
]
outputs = fd.execute(inputs)
