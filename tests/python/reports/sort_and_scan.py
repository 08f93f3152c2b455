import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False, stride_order=[1, 0]
    )
    S1 = fd.define_scalar(3, dtype=DataType.Int)
    T2, T3 = fd.ops.topk(T0, S1, dim=-1, largest=True, sorted=True)
    T4 = fd.ops.argsort(T0, dim=1, descending=False, stable=True)
    T5 = fd.ops.cumsum(T0, dim=1)
    T6 = fd.ops.exp(T2)
    fd.add_output(T3)
    fd.add_output(T4)
    fd.add_output(T5)
    fd.add_output(T6)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((4, 11), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs)
