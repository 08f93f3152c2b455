import torch
from nvfuser import DataType, FusionDefinition, compute_contiguity, compute_tensor_descriptor

inputs = [
    torch.randn((4, 6, 5), dtype=torch.float32, device="cuda").permute(2, 0, 1),
    torch.randn((5, 1, 12), dtype=torch.float32, device="cuda")[:, :, ::2],
]
contiguity, stride_order = compute_tensor_descriptor(inputs[0].shape, inputs[0].stride())

with FusionDefinition() as fd:
    t0 = fd.define_tensor(
        shape=list(inputs[0].shape), contiguity=contiguity, dtype=DataType.Float, stride_order=stride_order
    )
    t1 = fd.define_tensor(sizes=inputs[1].size(), strides=inputs[1].stride(), dtype=DataType.Float)
    t2 = fd.define_tensor([-1, 1, -1], compute_contiguity(inputs[1].size(), inputs[1].stride()), DataType.Float)
    t3 = fd.ops.add(t0, t1)
    t4 = fd.ops.mul(t3, t2)
    fd.add_output(t3)
    fd.add_output(t4)

inputs.append(inputs[1])
outputs = fd.execute(inputs)
