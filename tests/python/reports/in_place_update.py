import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id2(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    T1 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Bool, is_cpu=False, stride_order=[1, 0]
    )
    T2 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Bool, is_cpu=False, stride_order=[1, 0]
    )
    T3 = fd.ops.bitwise_or(T1, T2)
    T4 = fd.ops.set(T3)
    fd.add_output(T4, T1)
    T5 = fd.ops.cast(T4, dtype=DataType.Float)
    T6 = fd.ops.mul(T0, T5)
    T7 = fd.ops.set(T6)
    fd.add_output(T7, alias_input=T0)
    T8 = fd.ops.neg(T7)
    fd.add_output(T8)


with FusionDefinition() as fd:
    nvfuser_fusion_id2(fd)

inputs = [
    torch.randn((6, 11), dtype=torch.float32, device="cuda:0"),
    torch.randint(0, 2, (6, 11), dtype=torch.bool, device="cuda:0"),
    torch.randint(0, 2, (6, 11), dtype=torch.bool, device="cuda:0"),
]
before = [each.clone() for each in inputs]
outputs = fd.execute(inputs)
