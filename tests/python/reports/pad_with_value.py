import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    S1 = fd.define_scalar(2.50000, dtype=DataType.Double)
    S2 = fd.define_scalar(3, dtype=DataType.Int)
    S3 = fd.define_scalar(0, dtype=DataType.Int)
    V4 = fd.define_vector([S2, S3, S2, 1], dtype=DataType.Int)
    T5 = fd.ops.pad(T0, [1, 2, 0, -1], S1)
    T6 = fd.ops.pad(T0, V4)
    T7 = fd.ops.sum(T6, dims=[0])
    fd.add_output(T5)
    fd.add_output(T6)
    fd.add_output(T7)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((5, 7), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs)
