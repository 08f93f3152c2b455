import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True, True], dtype=DataType.Float)
    T1 = fd.define_tensor(symbolic_sizes=[-1, 1], contiguity=[True, None], dtype=DataType.Float)
    T2 = fd.define_tensor(ndims=1, dtype=DataType.Float)
    S3 = fd.define_constant(2.00000)
    S4 = fd.define_constant(4, dtype=DataType.Int)
    S5, S6 = fd.ops.tensor_sizes(T0)
    T7 = fd.ops.broadcast_in_dim(T2, output_shape=[S5, S6], broadcast_dims=[1])
    T8 = fd.ops.squeeze(T1, original_shape=[6, 1], dims=[1])
    T9 = fd.ops.broadcast_in_dim(T8, output_shape=[6, 8], broadcast_dims=[0])
    T10 = fd.ops.add(T0, T7)
    T11 = fd.ops.mul(T10, S3)
    T12 = fd.ops.add(T11, T9)
    T13 = fd.ops.view(T12, original_shape=[6, 8], new_shape=[2, 3, 8])
    T14 = fd.ops.reshape(T12, [6, 8], [48])
    T15 = fd.ops.sum(T13, axes=[-1], keepdim=False, dtype=DataType.Float)
    T16 = fd.ops.var(T12, axes=[1], correction=1, keepdim=True)
    T17 = fd.ops.mul(T15, S4)
    fd.add_output(T14)
    fd.add_output(T16)
    fd.add_output(T17)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((6, 8), dtype=torch.float32, device="cuda:0"),
    torch.randn((6, 1), dtype=torch.float32, device="cuda:0"),
    torch.randn((8,), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
