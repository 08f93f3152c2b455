import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1], contiguity=[True, None, None], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0, 2]
    )
    T1 = fd.define_tensor(
        shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.Float, is_cpu=False, stride_order=[2, 1, 0]
    )
    T2 = fd.define_tensor(
        shape=[-1, -1, -1], contiguity=[None, None, True], dtype=DataType.Float, is_cpu=False, stride_order=[2, 1, 0]
    )
    T3 = fd.ops.mul(T0, T1)
    T4 = fd.ops.add(T3, T2)
    T5 = fd.ops.sum(T4, dims=[0, 1], keepdim=False, dtype=DataType.Null)
    fd.add_output(T4)
    fd.add_output(T5)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((6,), dtype=torch.float32, device="cuda:0").as_strided((4, 5, 6), (0, 0, 1)),
    torch.randn((120,), dtype=torch.float32, device="cuda:0").as_strided((4, 5, 6), (30, 6, 1)),
    torch.randn((6,), dtype=torch.float32, device="cuda:0").as_strided((4, 5, 6), (0, 0, 1)),
]
outputs = fd.execute(inputs)
