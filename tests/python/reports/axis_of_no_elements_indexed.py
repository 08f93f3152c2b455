import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[1, 2, 0, 3], contiguity=[None, False, True, True], dtype=DataType.Float, is_cpu=False, stride_order=[3, 2, 1, 0])
    T1 = fd.ops.permute(T0, dims=[1, 2, 0, 3])
    S2 = fd.define_scalar(0, dtype=DataType.Int)
    S3 = fd.define_scalar(0, dtype=DataType.Int)
    S4 = fd.define_scalar(1, dtype=DataType.Int)
    T5 = fd.ops.iota(S2, S3, S4, dtype=DataType.Int)
    T6 = fd.ops.index_select(T1, T5, dim=1)
    fd.add_output(T6)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((1, 2, 0, 3), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs)
