import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id3(fd: FusionDefinition) -> None:
    C0 = fd.define_constant(3, dtype=DataType.Int)
    T1 = fd.ops.full([4, 4], C0, dtype=DataType.Double)
    C2 = fd.define_constant(1.5)
    T3 = fd.ops.full(fill_value=C2, shape=[2], dtype=DataType.BFloat16)
    fd.add_output(T1)
    fd.add_output(T3)


with FusionDefinition() as fd:
    nvfuser_fusion_id3(fd)

inputs = []
outputs = fd.execute(inputs, device="cuda")
