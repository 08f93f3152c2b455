import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id2(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[1, 4, 32, 16],
        contiguity=[None, True, True, True],
        dtype=DataType.BFloat16,
        is_cpu=False,
        stride_order=[3, 2, 1, 0],
    )
    T1 = fd.define_tensor(
        shape=[32, 16], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[1, 0]
    )
    T2 = fd.define_tensor(
        shape=[32, 16], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[1, 0]
    )
    T18 = fd.ops.slice(
        T0, start_indices=[0, 0, 0, 0], end_indices=[1, 4, 32, 8], strides=[1, 1, 1, 1], manual_normalization=0
    )
    T34 = fd.ops.slice(
        T0, start_indices=[0, 0, 0, 8], end_indices=[1, 4, 32, 16], strides=[1, 1, 1, 1], manual_normalization=0
    )
    T35 = fd.ops.cast(T34, dtype=DataType.Float)
    T36 = fd.ops.neg(T35)
    T37 = fd.ops.cast(T36, dtype=DataType.BFloat16)
    T38 = fd.ops.cat([T37, T18], dim=-1, manual_padding=0)
    T44 = fd.ops.broadcast_in_dim(T1, shape=[1, 4, 32, 16], broadcast_dims=[2, 3])
    T45 = fd.ops.cast(T0, dtype=DataType.Float)
    T46 = fd.ops.cast(T44, dtype=DataType.Float)
    T47 = fd.ops.mul(T45, T46)
    T53 = fd.ops.broadcast_in_dim(T2, shape=[1, 4, 32, 16], broadcast_dims=[2, 3])
    T54 = fd.ops.cast(T38, dtype=DataType.Float)
    T55 = fd.ops.cast(T53, dtype=DataType.Float)
    T56 = fd.ops.mul(T54, T55)
    T57 = fd.ops.add(T47, T56)
    T58 = fd.ops.cast(T57, dtype=DataType.BFloat16)
    fd.add_output(T58)


with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

inputs = [
    torch.testing.make_tensor((1, 4, 32, 16), dtype=torch.bfloat16, device="cuda:0"),
    torch.testing.make_tensor((32, 16), dtype=torch.bfloat16, device="cuda:0"),
    torch.testing.make_tensor((32, 16), dtype=torch.bfloat16, device="cuda:0"),
]
outputs = fd.execute(inputs)
