import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False, stride_order=[0])
    S2 = fd.ops.size(T0, dim=0)
    S3 = fd.ops.size(T0, dim=1)
    T4 = fd.ops.max(T0, dims=[1], keepdim=True)
    T5 = fd.ops.sub(T0, T4)
    T6 = fd.ops.exp(T5)
    T7 = fd.ops.sum(T6, dims=[1], keepdim=True)
    T8 = fd.ops.log(T7)
    T9 = fd.ops.sub(T5, T8)
    S10 = fd.define_scalar(1, dtype=DataType.Int)
    V11 = fd.define_vector([S2, S10], dtype=DataType.Int)
    T12 = fd.ops.broadcast_in_dim(T1, shape=V11, broadcast_dims=[0])
    T13 = fd.ops.take_along_axis(T9, T12, dim=1)
    T14 = fd.ops.neg(T13)
    T15 = fd.ops.sum(T14, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    S16 = fd.ops.cast(S2, dtype=DataType.Double)
    S17 = fd.ops.reciprocal(S16)
    T18 = fd.ops.mul(T15, S17)
    fd.add_output(T18)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((9, 31), dtype=torch.float32, device="cuda:0"),
    torch.randint(0, 31, (9,), dtype=torch.int64, device="cuda:0"),
]
outputs = fd.execute(inputs)
