import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    S1 = fd.define_scalar(None, dtype=DataType.Double)
    S2 = fd.define_scalar(dtype=DataType.Int)
    S3 = fd.define_scalar(None, dtype=DataType.Bool)
    T4 = fd.ops.mul(T0, S1)
    S5 = fd.ops.add(S2, S2)
    T6 = fd.ops.add(T4, S5)
    T7 = fd.ops.where(S3, T6, T0)
    fd.add_output(T7)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((33,), dtype=torch.float32, device="cuda:0"),
    0.25,
    7,
    True,
]
outputs = fd.execute(inputs)
