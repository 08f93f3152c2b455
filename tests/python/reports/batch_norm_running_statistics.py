import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1, -1], contiguity=[True, True, True, True], dtype=DataType.Float, is_cpu=False
    )
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    T3 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    T4 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False)
    S5 = fd.define_scalar(0.100000, dtype=DataType.Double)
    S6 = fd.define_scalar(1.00000e-05, dtype=DataType.Double)
    T7, T8, T9 = fd.ops.batch_norm(T0, T1, T2, T3, T4, S5, S6, True)
    fd.add_output(T7)
    fd.add_output(T8)
    fd.add_output(T9)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((4, 3, 5, 6), dtype=torch.float32, device="cuda:0"),
    torch.randn((3,), dtype=torch.float32, device="cuda:0"),
    torch.randn((3,), dtype=torch.float32, device="cuda:0"),
    torch.zeros((3,), dtype=torch.float32, device="cuda:0"),
    torch.ones((3,), dtype=torch.float32, device="cuda:0"),
]
before = [each.clone() for each in inputs]
outputs = fd.execute(inputs)
