import torch
from nvfuser import FusionDefinition


def expand_reshape() -> FusionDefinition:
    with FusionDefinition() as fd:
        x = fd.define_tensor([4, 5], [True, True])
        y = fd.ops.broadcast_in_dim(x, [4, 5, 6], [0, 1])
        y = fd.ops.reshape(y, [40, 3])
        fd.add_output(y)
    return fd


fd = expand_reshape()
inputs = [torch.rand(4, 5, device="cuda")]
outputs = fd.execute(inputs)
