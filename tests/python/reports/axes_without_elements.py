import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, 0], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.ops.sum(T0, dims=[1], keepdim=True)
    T3 = fd.ops.add(T1, T2)
    T4 = fd.ops.cat([T0, T3], dim=1)
    fd.add_output(T2)
    fd.add_output(T4)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((3, 0), dtype=torch.float32, device="cuda:0"),
    torch.randn((3, 4), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
