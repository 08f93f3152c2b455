import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Int, is_cpu=False)
    T2 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T3 = fd.ops.gather(T0, T1, dim=1)
    T4 = fd.ops.scatter(T0, T1, T2, dim=1)
    T5 = fd.ops.relu(T3)
    fd.add_output(T4)
    fd.add_output(T5)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((5, 9), dtype=torch.float32, device="cuda:0"),
    torch.stack([torch.randperm(9)[:4] for _ in range(5)]).to("cuda:0"),
    torch.randn((5, 4), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
