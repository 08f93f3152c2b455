import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id1(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[2, 4, 16, 8], contiguity=True, dtype=DataType.BFloat16, is_cpu=False)
    T1 = fd.define_tensor(shape=[2, 4, 16, 8], contiguity=True, dtype=DataType.BFloat16, is_cpu=False)
    T2 = fd.define_tensor(shape=[2, 4, 16, 8], contiguity=True, dtype=DataType.BFloat16, is_cpu=False)
    S3 = fd.define_scalar(0.00000, dtype=DataType.Double)
    S4 = fd.define_scalar(True, dtype=DataType.Bool)
    T5, T6, T7, T8 = fd.ops.sdpfa_fwd(T0, T1, T2, S3, S4, None)
    fd.add_output(T5)
    fd.add_output(T6)


with FusionDefinition() as fd:
    nvfuser_fusion_id1(fd)

inputs = [
    torch.randn((2, 4, 16, 8), dtype=torch.bfloat16, device="cuda:0"),
    torch.randn((2, 4, 16, 8), dtype=torch.bfloat16, device="cuda:0"),
    torch.randn((2, 4, 16, 8), dtype=torch.bfloat16, device="cuda:0"),
]
outputs = fd.execute(inputs)
