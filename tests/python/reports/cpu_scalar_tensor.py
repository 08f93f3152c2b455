import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[], contiguity=[], dtype=DataType.Float, is_cpu=True)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.ops.mul(T0, T1)
    fd.add_output(T2)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.tensor(2.5, dtype=torch.float32, device="cpu"),
    torch.randn((4, 9), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
