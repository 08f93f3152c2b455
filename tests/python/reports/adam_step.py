import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id11(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T3 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    S4 = fd.define_scalar(0.900000, dtype=DataType.Double)
    S5 = fd.define_scalar(0.999000, dtype=DataType.Double)
    S6 = fd.define_scalar(1.00000, dtype=DataType.Double)
    S7 = fd.ops.sub(S6, S4)
    S8 = fd.ops.sub(S6, S5)
    T9 = fd.ops.add(fd.ops.mul(T2, S4), fd.ops.mul(T1, S7))
    T10 = fd.ops.add(fd.ops.mul(T3, S5), fd.ops.mul(fd.ops.mul(T1, T1), S8))
    S11 = fd.define_scalar(1.00000e-08, dtype=DataType.Double)
    T12 = fd.ops.add(fd.ops.sqrt(T10), S11)
    S13 = fd.define_scalar(0.00100000, dtype=DataType.Double)
    T14 = fd.ops.mul(fd.ops.div(T9, T12), S13)
    T15 = fd.ops.sub(T0, T14)
    fd.add_output(T15, T0)
    fd.add_output(T9, T2)
    fd.add_output(T10, T3)


with FusionDefinition() as fd:
    nvfuser_fusion_id11(fd)

inputs = [
    torch.randn((13, 21), dtype=torch.float32, device="cuda:0"),
    torch.randn((13, 21), dtype=torch.float32, device="cuda:0"),
    torch.randn((13, 21), dtype=torch.float32, device="cuda:0"),
    torch.rand((13, 21), dtype=torch.float32, device="cuda:0"),
]
before = [each.clone() for each in inputs]
outputs = fd.execute(inputs)
