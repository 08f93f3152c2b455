import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id5(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1], contiguity=[True, True, True], dtype=DataType.Float, is_cpu=False, stride_order=[2, 1, 0]
    )
    T1 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T3 = fd.ops.linear(T0, T1, T2)
    S4 = fd.define_scalar(3.00000, dtype=DataType.Double)
    T5 = fd.ops.pow(T3, S4)
    S6 = fd.define_scalar(0.0447150, dtype=DataType.Double)
    T7 = fd.ops.mul(S6, T5)
    T8 = fd.ops.add(T3, T7)
    S9 = fd.define_scalar(0.7978845608028654, dtype=DataType.Double)
    T10 = fd.ops.mul(S9, T8)
    T11 = fd.ops.tanh(T10)
    S12 = fd.define_scalar(1.00000, dtype=DataType.Double)
    T13 = fd.ops.add(S12, T11)
    S14 = fd.define_scalar(0.500000, dtype=DataType.Double)
    T15 = fd.ops.mul(S14, T3)
    T16 = fd.ops.mul(T15, T13)
    fd.add_output(T16)


with FusionDefinition() as fd:
    nvfuser_fusion_id5(fd)

inputs = [
    torch.randn((2, 8, 16), dtype=torch.float32, device="cuda:0"),
    torch.randn((32, 16), dtype=torch.float32, device="cuda:0"),
    torch.randn((32,), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
