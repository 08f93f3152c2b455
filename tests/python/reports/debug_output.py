import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.Float, is_cpu=False)
    T1 = fd.ops.silu(T0)
    fd.add_output(T1)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((8, 8), dtype=torch.float32, device="cuda:0")]
outputs = fd.execute(inputs, capture_debug_output=True, print_repro=True, save_repro_inputs=True)
assert isinstance(fd.debug_output(), str)
print(fd.last_repro_script())
fd.validate(inputs)
outputs = fd.execute(inputs, _enable_options=["fuse_matmul"], _disable_options=["matmul_expr_eval", "fma"])
assert fd.debug_output() is None
