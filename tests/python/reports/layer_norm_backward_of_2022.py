import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id1(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(symbolic_sizes=[-1], contiguous=[True], dtype=DataType.Float)
    T1 = fd.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True, True], dtype=DataType.Float)
    T2 = fd.define_tensor(symbolic_sizes=[-1], contiguous=[True], dtype=DataType.Float)
    T3 = fd.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True, True], dtype=DataType.Float)
    T4 = fd.define_tensor(symbolic_sizes=[-1, -1, -1], contiguous=[True, True, True], dtype=DataType.Float)
    T5 = fd.ops.broadcast_in_dim(T0, output_shape=[2, 12, 28], broadcast_dims=[2])
    T6 = fd.ops.broadcast_in_dim(T1, output_shape=[2, 12, 1], broadcast_dims=[0, 1])
    T7 = fd.ops.broadcast_in_dim(T2, output_shape=[2, 12, 28], broadcast_dims=[2])
    T8 = fd.ops.broadcast_in_dim(T3, output_shape=[2, 12, 1], broadcast_dims=[0, 1])
    T9 = fd.ops.broadcast_in_dim(T6, output_shape=[2, 12, 28], broadcast_dims=[0, 1, 2])
    S10 = fd.define_constant(1.00000e-12)
    T11 = fd.ops.add(T8, S10)
    T12 = fd.ops.sub(T4, T9)
    T13 = fd.ops.rsqrt(T11)
    T14 = fd.ops.broadcast_in_dim(T13, output_shape=[2, 12, 28], broadcast_dims=[0, 1, 2])
    T15 = fd.ops.mul(T12, T14)
    T16 = fd.ops.mul(T15, T5)
    T17 = fd.ops.add(T16, T7)
    T18 = fd.ops.cast(T17, dtype=DataType.Float)
    T19 = fd.ops.view(T18, original_shape=[2, 12, 28], new_shape=[24, 28])
    fd.add_output(T13)
    fd.add_output(T17)
    fd.add_output(T19)


with FusionDefinition() as fd:
    nvfuser_fusion_id1(fd)

inputs = [
    torch.randn(28, device="cuda"),
    torch.randn(2, 12, device="cuda"),
    torch.randn(28, device="cuda"),
    torch.rand(2, 12, device="cuda"),
    torch.randn(2, 12, 28, device="cuda"),
]
outputs = fd.execute(inputs)
