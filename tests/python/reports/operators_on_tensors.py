import torch
from nvfuser import FusionDefinition

inputs = [torch.randn(3, 4, 5, device="cuda", dtype=torch.float32)]


def fusion_func(fd: FusionDefinition):
    t0 = fd.from_pytorch(inputs[0])
    c0 = fd.define_scalar(1.0)

    t1 = -t0
    t2 = abs(t0)
    c1 = -c0
    c2 = abs(c0)
    t3 = -t1 * (c0 - t0 * t0) / t2 + c2**c1 - c0
    t4 = 2 * t0 - 1.5
    t5 = (t0 > c0) | (t0 < -1)
    t6 = fd.ops.where(t5, t0, t0 % 0.5)
    t7 = 1 / (t0.size(1) * t2 + t0.ndim)

    for t in (t1, t2, t3, t4, t5, t6, t7):
        fd.add_output(t)


with FusionDefinition() as fd:
    fusion_func(fd)
outputs = fd.execute(inputs)
