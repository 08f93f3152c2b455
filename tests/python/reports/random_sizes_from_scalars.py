import torch
from nvfuser import FusionDefinition, DataType

shape = (13, 21)
inputs = [torch.zeros(13, 21, device="cuda")]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    s_lo = fd.define_constant(-1.0)
    s_hi = fd.define_constant(2.0)
    size = fd.ops.tensor_sizes(t0)
    t1 = fd.ops.uniform(s_lo, s_hi, size, DataType.Double)
    u = fd.ops.uniform(s_lo, s_hi, [fd.define_scalar(s) for s in shape])
    fd.add_output(t1)
    fd.add_output(u)
    fd.add_output(fd.ops.set(t0))

outputs = fd.execute(inputs)
