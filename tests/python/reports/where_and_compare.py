import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Half, is_cpu=False)
    S1 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T2 = fd.ops.cast(T0, dtype=DataType.Float)
    T3 = fd.ops.gt(T2, S1)
    S4 = fd.define_scalar(0.0100000, dtype=DataType.Double)
    T5 = fd.ops.mul(T2, S4)
    T6 = fd.ops.where(T3, T2, T5)
    T7 = fd.ops.cast(T6, dtype=DataType.Half)
    T8 = fd.ops.isfinite(T7)
    T9 = fd.ops.logical_and(T3, T8)
    T10 = fd.ops.clamp(T2, -0.5, 0.5)
    T11 = fd.ops.sum(T9, dims=[0, 1], dtype=DataType.Int)
    fd.add_output(T7)
    fd.add_output(T9)
    fd.add_output(T10)
    fd.add_output(T11)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((10, 6), dtype=torch.float16, device="cuda:0")]
outputs = fd.execute(inputs)
