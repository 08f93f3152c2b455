import torch
from nvfuser import DataType, FusionDefinition


def fusion_func(fd: FusionDefinition):
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float)
    v1 = fd.define_vector(3)
    t2 = fd.ops.reshape(t0, v1)
    t3 = fd.ops.mul(t2, v1[0])
    fd.add_output(t3)


with FusionDefinition() as fd:
    fusion_func(fd)

inputs = [torch.randn((4, 6), dtype=torch.float32, device="cuda"), [2, 3, 4]]
outputs = fd.execute(inputs)
