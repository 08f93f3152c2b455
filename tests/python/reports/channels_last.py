import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(
        shape=[-1, -1, -1, -1],
        contiguity=[True, True, True, True],
        dtype=DataType.Float,
        is_cpu=False,
        stride_order=[3, 0, 2, 1],
    )
    T1 = fd.define_tensor(shape=[-1], contiguity=[True], dtype=DataType.Float, is_cpu=False, stride_order=[0])
    T2 = fd.ops.broadcast_in_dim(T1, shape=T0.shape(), broadcast_dims=[1])
    T3 = fd.ops.add(T0, T2)
    T4 = fd.ops.relu(T3)
    T5 = fd.ops.sum(T4, dims=[2, 3], keepdim=True)
    fd.add_output(T4)
    fd.add_output(T4, stride_order=[3, 2, 1, 0])
    fd.add_output(T4, [3, 0, 2, 1])
    fd.add_output(T5)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.randn((2 * 8 * 5 * 7,), dtype=torch.float32, device="cuda:0").as_strided((2, 8, 5, 7), (280, 1, 56, 8)),
    torch.randn((8,), dtype=torch.float32, device="cuda:0"),
]
outputs = fd.execute(inputs)
