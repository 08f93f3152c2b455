# CUDA devices:
#  0: NVIDIA H100 80GB HBM3
# torch version: 2.4.0
# nvfuser version: 0.2.8
import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id1(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[2, 1, 0]
    )
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[0])
    T3 = fd.ops.cast(T0, dtype=DataType.Float)
    T4, T5 = fd.ops.var_mean(T3, dims=[2], correction=0, keepdim=False)
    S6 = fd.ops.size(T0, dim=0)
    S7 = fd.ops.size(T0, dim=1)
    S8 = fd.ops.size(T0, dim=2)
    S9 = fd.define_scalar(1, dtype=DataType.Int)
    V10 = fd.define_vector([S6, S7, S9], dtype=DataType.Int)
    T11 = fd.ops.broadcast_in_dim(T4, shape=V10, broadcast_dims=[0, 1])
    T12 = fd.ops.broadcast_in_dim(T5, shape=V10, broadcast_dims=[0, 1])
    S13 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T14 = fd.ops.add(T11, S13)
    T15 = fd.ops.rsqrt(T14)
    V16 = fd.define_vector([S6, S7, S8], dtype=DataType.Int)
    T17 = fd.ops.broadcast_in_dim(T12, shape=V16, broadcast_dims=[0, 1, 2])
    T18 = fd.ops.sub(T3, T17)
    T19 = fd.ops.broadcast_in_dim(T15, shape=V16, broadcast_dims=[0, 1, 2])
    T20 = fd.ops.mul(T18, T19)
    T21 = fd.ops.broadcast_in_dim(T1, shape=V16, broadcast_dims=[2])
    T22 = fd.ops.cast(T21, dtype=DataType.Float)
    T23 = fd.ops.mul(T20, T22)
    T24 = fd.ops.broadcast_in_dim(T2, shape=V16, broadcast_dims=[2])
    T25 = fd.ops.cast(T24, dtype=DataType.Float)
    T26 = fd.ops.add(T23, T25)
    T27 = fd.ops.cast(T26, dtype=DataType.BFloat16)
    fd.add_output(T5)
    fd.add_output(T15)
    fd.add_output(T27)


with FusionDefinition() as fd:
    nvfuser_fusion_id1(fd)

inputs = [
    torch.randn((2 * 16 * 96,), dtype=torch.bfloat16, device="cuda:0").as_strided((2, 16, 96), (16 * 96, 96, 1)),
    torch.randn((96,), dtype=torch.bfloat16, device="cuda:0").as_strided((96,), (1,)),
    torch.randn((96,), dtype=torch.bfloat16, device="cuda:0").as_strided((96,), (1,)),
]
outputs = fd.execute(inputs)
