from nvfuser import DataType, FusionDefinition

M = 16
N = 256


def fusion_fn(fd: FusionDefinition):
    shape = fd.define_vector([M, N], dtype=DataType.Int)
    S0 = fd.define_scalar(-1.00000, dtype=DataType.Float)
    S1 = fd.define_scalar(1.00000, dtype=DataType.Float)
    S2 = fd.define_scalar(0, dtype=DataType.Int)
    output = fd.ops.uniform(S0, S1, shape=shape, dtype=DataType.Float, rng_seed=S2, rng_offset=S2)
    normal = fd.ops.normal(S0, S1, shape, DataType.Double, rng_seed=S2, rng_offset=S2)
    fd.add_output(output)
    fd.add_output(normal)


with FusionDefinition() as fd:
    fusion_fn(fd)
inputs = []
outputs = fd.execute(inputs, device="cuda:0")
