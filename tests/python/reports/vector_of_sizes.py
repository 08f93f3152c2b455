import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id2(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[1, 8, 16], contiguity=[None, True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.ops.permute(T0, dims=[0, 2, 1])
    T2 = fd.ops.broadcast(T1, is_broadcast_dim=[False, False, True, False])
    S3 = fd.ops.size(T2, dim=0)
    S4 = fd.define_scalar(16, dtype=DataType.Int)
    S5 = fd.define_scalar(2, dtype=DataType.Int)
    S6 = fd.ops.size(T2, dim=3)
    S7 = fd.ops.size(T2, dim=1)
    V8 = fd.define_vector([S3, S7, S5, S6], dtype=DataType.Int)
    T9 = fd.ops.expand(T2, shape=V8)
    V11 = fd.define_vector([S3, S7, S4], dtype=DataType.Int)
    T12 = fd.ops.reshape(T9, new_shape=V11)
    T13 = fd.ops.cos(T12)
    V14 = fd.ops.shape(T13)
    S15 = fd.ops.at(V14, 1)
    S16 = fd.ops.mul(V14[2], V14.at(0))
    V17 = fd.define_vector([S15, S16], dtype=DataType.Int)
    T18 = fd.ops.reshape(T13, new_shape=V17)
    T19 = fd.ops.mul(T18, V11[1])
    fd.add_output(T13)
    fd.add_output(T19)


with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

inputs = [torch.randn((1, 8, 16), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs)
