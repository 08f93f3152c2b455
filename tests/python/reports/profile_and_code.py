import torch
from nvfuser import FusionDefinition

inputs = [
    torch.randn(48, 64, device="cuda"),
    torch.randn(48, 64, device="cuda"),
]

with FusionDefinition() as fd:
    t0 = fd.from_pytorch(inputs[0])
    t1 = fd.from_pytorch(inputs[1])
    t2 = t0 + t1
    t3 = fd.ops.sum(t2, dims=[1])
    fd.add_output(t3)

for _ in range(2):
    outputs = fd.execute(inputs, profile=True)
    prof = fd.profile()
    assert prof.segments == len(prof.kernel_profiles) >= 1
    for kp in prof.kernel_profiles:
        print(kp.scheduler, kp.time_ms, kp.effective_bandwidth_gbs)

print(fd.fusion_ir())
print(fd.last_scheduled_fusion_ir(tensor_transforms=True))
print(fd.scheduled_fusion_ir_for(inputs))
print(fd.last_cuda_code(intrinsic_code=True))
print(fd.cuda_code_for(inputs))
