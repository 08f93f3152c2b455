import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[1, 24, 64], contiguity=[None, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[2, 1, 0])
    T6 = fd.ops.reshape(T0, new_shape=[1, 24, 4, 16])
    T7 = fd.ops.permute(T6, dims=[0, 2, 1, 3])
    T14 = fd.ops.broadcast_in_dim(T7, shape=[1, 4, 1, 24, 16], broadcast_dims=[0, 1, 3, 4])
    T21 = fd.ops.broadcast_in_dim(T14, shape=[1, 4, 3, 24, 16], broadcast_dims=[0, 1, 2, 3, 4])
    T27 = fd.ops.reshape(T21, new_shape=[1, 12, 24, 16])
    fd.add_output(T7)
    fd.add_output(T27)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.testing.make_tensor((1, 24, 64), dtype=torch.bfloat16, device="cuda:0"),
]
outputs = fd.execute(inputs)
