import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
    T2 = fd.ops.remainder(T0, T1)
    T3 = fd.ops.fmod(T0, T1)
    T4 = fd.ops.div(T0, T1)
    T5 = fd.ops.truediv(T0, T1)
    T6 = fd.ops.bitwise_xor(T0, T1)
    S7 = fd.define_scalar(2, dtype=DataType.Int)
    T8 = fd.ops.bitwise_left_shift(T1, S7)
    T9 = fd.ops.bitwise_right_shift(T0, S7)
    T10 = fd.ops.gcd(T0, T1)
    T11 = fd.ops.cast(T0, dtype=DataType.Int32)
    for T in (T2, T3, T4, T5, T6, T8, T9, T10, T11):
        fd.add_output(T)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randint(-50, 50, (41,), dtype=torch.int64, device="cuda:0"),
    torch.randint(1, 9, (41,), dtype=torch.int64, device="cuda:0"),
]
outputs = fd.execute(inputs)
