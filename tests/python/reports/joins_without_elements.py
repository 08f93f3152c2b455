import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id114(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False, stride_order=[0])
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False, stride_order=[0])
    S2 = fd.define_scalar(0, dtype=DataType.Int)
    T3 = fd.ops.lt(T0, S2)
    S4 = fd.define_scalar(5, dtype=DataType.Int)
    S5 = fd.define_scalar(0, dtype=DataType.Int)
    T6 = fd.ops.where(T3, S4, S5)
    T7 = fd.ops.add(T0, T6)
    T10 = fd.ops.cat([T1, T7], dim=0)
    T13 = fd.ops.cat([T1, T10], dim=0)
    S14 = fd.define_scalar(5, dtype=DataType.Int)
    T15 = fd.ops.add(T10, S14)
    T16 = fd.ops.cat([T13, T15], dim=0)
    fd.add_output(T16)


with FusionDefinition() as fd:
    nvfuser_fusion_id114(fd)

inputs = [
    torch.randint(-5, 5, (6,), dtype=torch.int64, device="cuda:0").as_strided((6,), (1,)),
    torch.randint(0, 10, (0,), dtype=torch.int64, device="cuda:0").as_strided((0,), (1,)),
]
outputs = fd.execute(inputs)
