import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[1, -1], contiguity=[None, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T1 = fd.define_tensor(
        shape=[-1, 1], contiguity=[True, None], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T2 = fd.define_tensor(
        shape=[1, 2], contiguity=[True, None], dtype=DataType.Float, is_cpu=False, stride_order=[0, 1]
    )
    T3 = fd.ops.add(T0, T1)
    T4 = fd.ops.mul(T2, T2)
    fd.add_output(T3)
    fd.add_output(T4)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((7,), dtype=torch.float32, device="cuda:0").as_strided((1, 7), (7, 1)),
    torch.randn((5,), dtype=torch.float32, device="cuda:0").as_strided((5, 1), (1, 1)),
    torch.randn((2,), dtype=torch.float32, device="cuda:0").as_strided((1, 2), (1, 1)),
]
outputs = fd.execute(inputs)
