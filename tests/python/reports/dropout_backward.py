import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id6(fd: FusionDefinition) -> None:
    S0 = fd.define_scalar(None, dtype=DataType.Double)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.BFloat16, is_cpu=False)
    T2 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Bool, is_cpu=False)
    T3 = fd.ops.cast(T1, dtype=DataType.Float)
    T4 = fd.ops.mul(S0, T3)
    T5 = fd.ops.cast(T2, dtype=DataType.Float)
    T6 = fd.ops.mul(T5, T4)
    T7 = fd.ops.sum(T6, dims=[0], keepdim=False, dtype=DataType.Null)
    T8 = fd.ops.cast(T7, dtype=DataType.BFloat16)
    T9 = fd.ops.cast(T6, dtype=DataType.BFloat16)
    T10 = fd.ops.permute(T9, dims=[1, 0])
    fd.add_output(T8)
    fd.add_output(T9)
    fd.add_output(T10)


with FusionDefinition() as fd:
    nvfuser_fusion_id6(fd)

inputs = [
    1.25,
    torch.randn((16 * 24,), dtype=torch.bfloat16, device="cuda:0").as_strided((16, 24), (24, 1)),
    torch.randint(0, 2, (16 * 24,), dtype=torch.bool, device="cuda:0").as_strided((16, 24), (24, 1)),
]
outputs = fd.execute(inputs)
