import torch
from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True], dtype=DataType.ComplexFloat, is_cpu=False)
    S1 = fd.define_scalar(complex(0.5, -2.0), dtype=DataType.ComplexDouble)
    T2 = fd.ops.mul(T0, S1)
    T3 = fd.ops.abs(T2)
    T4 = fd.ops.real(T0)
    T5 = fd.ops.imag(T0)
    T6 = fd.ops.sum(T2, dims=[1])
    fd.add_output(T3)
    fd.add_output(T4)
    fd.add_output(T5)
    fd.add_output(T6)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [torch.randn((5, 8), dtype=torch.complex64, device="cuda:0")]
outputs = fd.execute(inputs)
