import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id2(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float, is_cpu=False
    )
    T1 = fd.define_tensor(shape=[1, 1, -1, -1], contiguity=[None, None, True, True], dtype=DataType.Bool, is_cpu=False)
    S2 = fd.define_scalar(0.125000, dtype=DataType.Double)
    T3 = fd.ops.mul(T0, S2)
    V4 = T0.shape()
    T5 = fd.ops.broadcast_in_dim(T1, shape=V4, broadcast_dims=[0, 1, 2, 3])
    S6 = fd.define_scalar(float("-inf"), dtype=DataType.Double)
    T7 = fd.ops.where(T5, T3, S6)
    T8 = fd.ops.max(T7, dims=[3], keepdim=False, dtype=DataType.Null)
    V9 = fd.define_vector([T0.size(0), T0.size(1), T0.size(2), 1], dtype=DataType.Int)
    T10 = fd.ops.broadcast_in_dim(T8, shape=V9, broadcast_dims=[0, 1, 2])
    T11 = fd.ops.broadcast_in_dim(T10, shape=V4, broadcast_dims=[0, 1, 2, 3])
    T12 = fd.ops.sub(T7, T11)
    T13 = fd.ops.exp(T12)
    T14 = fd.ops.sum(T13, dims=[3], keepdim=False, dtype=DataType.Null)
    T15 = fd.ops.broadcast_in_dim(T14, shape=V9, broadcast_dims=[0, 1, 2])
    T16 = fd.ops.broadcast_in_dim(T15, shape=V4, broadcast_dims=[0, 1, 2, 3])
    T17 = fd.ops.reciprocal(T16)
    T18 = fd.ops.mul(T13, T17)
    fd.add_output(T18)


with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

inputs = [
    torch.randn((2, 3, 17, 17), dtype=torch.float32, device="cuda:0"),
    torch.ones((1, 1, 17, 17), dtype=torch.bool, device="cuda:0").tril(),
]
outputs = fd.execute(inputs)
