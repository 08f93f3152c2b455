import torch
from nvfuser import FusionDefinition, DataType

with FusionDefinition() as fd:
    nv_a = fd.define_tensor(ndims=2, dtype=DataType.Float)
    nv_b = fd.define_tensor(ndims=2, dtype=DataType.Float)

    c = fd.ops.broadcast_in_dim(nv_a, (2, 2), (0, 1))
    result = fd.ops.add(nv_b, c)

    fd.add_output(result)

inputs = [
    torch.randn((2, 1), device="cuda", dtype=torch.float32),
    torch.randn((2, 2), device="cuda", dtype=torch.float32),
]
outputs = fd.execute(inputs)
