import torch
from nvfuser import FusionCache, FusionDefinition


def fusion_func(fd: FusionDefinition) -> None:
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
    t1 = fd.ops.sinh(t0)
    t2, t3 = fd.ops.var_mean(t1, dims=[1], correction=1, keepdim=True)
    fd.add_output(fd.ops.sub(t1, t3))
    fd.add_output(t2)


FusionCache.reset()
with FusionDefinition() as first:
    fusion_func(first)
with FusionDefinition() as second:
    fusion_func(second)
fc = FusionCache.get()
assert fc.num_fusions() == 1
assert first.id() == second.id() == 0
fc.print_stats()

inputs = [torch.randn((7, 12), device="cuda")]
fd = FusionDefinition(id=first.id())
outputs = fd.execute(inputs)
