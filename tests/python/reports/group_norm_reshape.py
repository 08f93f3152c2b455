import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id8(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[2, 12, 4, 5],
        contiguity=[True, True, True, True],
        dtype=DataType.Float,
        is_cpu=False,
        stride_order=[3, 2, 1, 0],
    )
    T1 = fd.define_tensor(shape=[12], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T2 = fd.define_tensor(shape=[12], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T8 = fd.ops.reshape(T0, new_shape=[2, 3, 4, 4, 5])
    T9, T10 = fd.ops.var_mean(T8, dims=[2, 3, 4], correction=0, keepdim=False)
    T16 = fd.ops.broadcast_in_dim(T9, shape=[2, 3, 1, 1, 1], broadcast_dims=[0, 1])
    T22 = fd.ops.broadcast_in_dim(T10, shape=[2, 3, 1, 1, 1], broadcast_dims=[0, 1])
    S23 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T24 = fd.ops.add(T16, S23)
    T25 = fd.ops.rsqrt(T24)
    T31 = fd.ops.broadcast_in_dim(T22, shape=[2, 3, 4, 4, 5], broadcast_dims=[0, 1, 2, 3, 4])
    T32 = fd.ops.sub(T8, T31)
    T38 = fd.ops.broadcast_in_dim(T25, shape=[2, 3, 4, 4, 5], broadcast_dims=[0, 1, 2, 3, 4])
    T39 = fd.ops.mul(T32, T38)
    T44 = fd.ops.reshape(T39, new_shape=[2, 12, 4, 5])
    T49 = fd.ops.broadcast_in_dim(T1, shape=[2, 12, 4, 5], broadcast_dims=[1])
    T50 = fd.ops.mul(T44, T49)
    T55 = fd.ops.broadcast_in_dim(T2, shape=[2, 12, 4, 5], broadcast_dims=[1])
    T56 = fd.ops.add(T50, T55)
    fd.add_output(T56)


with FusionDefinition() as fd:
    nvfuser_fusion_id8(fd)

inputs = [
    torch.testing.make_tensor((2, 12, 4, 5), dtype=torch.float32, device="cuda:0"),
    torch.testing.make_tensor((12,), dtype=torch.float32, device="cuda:0"),
    torch.testing.make_tensor((12,), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
