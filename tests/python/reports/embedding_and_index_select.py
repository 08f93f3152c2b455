import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id4(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Int, is_cpu=False)
    T1 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T2 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Int, is_cpu=False)
    S3 = fd.define_scalar(None, dtype=DataType.Int)
    T4 = fd.ops.embedding_fwd(T0, T1)
    T5 = fd.ops.index_select(T1, T2, dim=0)
    T6 = fd.ops.index_select(T1, T2, dim=1)
    T7 = fd.ops.mul(T5, S3)
    fd.add_output(T4)
    fd.add_output(T6)
    fd.add_output(T7)


with FusionDefinition() as fd:
    nvfuser_fusion_id4(fd)

inputs = [
    torch.randint(0, 10, (2, 5), dtype=torch.int64, device="cuda:0"),
    torch.randn((10, 6), dtype=torch.float32, device="cuda:0"),
    torch.randint(0, 6, (4,), dtype=torch.int64, device="cuda:0"),
    3,
]
outputs = fd.execute(inputs)
