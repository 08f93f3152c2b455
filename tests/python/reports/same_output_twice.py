import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.ops.segment_set(T0)
    T2 = fd.ops.sum(T1, dims=[0, 1])
    T3 = fd.ops.broadcast(T2, is_broadcast_dim=[True, True])
    T4 = fd.ops.div(T1, T3)
    fd.add_output(T4)
    fd.add_output(T4)
    fd.add_output(T0)
    fd.add_output(T2)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.rand((6, 10), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs)
