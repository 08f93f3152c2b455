import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T1 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[0, 1]
    )
    T2 = fd.ops.matmul(T0, T1)
    T3 = fd.ops.permute(T2, dims=[1, 0])
    T4 = fd.ops.relu(T3)
    fd.add_output(T2)
    fd.add_output(T4)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((12 * 24,), dtype=torch.float32, device="cuda:0").as_strided((12, 24), (24, 1)),
    torch.randn((24 * 18,), dtype=torch.float32, device="cuda:0").as_strided((24, 18), (1, 24)),
]
outputs = fd.execute(inputs)
