from nvfuser import DataType, FusionDefinition


def nvfuser_fusion_id37(fd: FusionDefinition) -> None:
    S0 = fd.define_scalar(12, dtype=DataType.Int)
    S1 = fd.define_scalar(0, dtype=DataType.Int)
    S2 = fd.define_scalar(1, dtype=DataType.Int)
    T3 = fd.ops.iota(S0, S1, S2, dtype=DataType.Int)
    T7 = fd.ops.broadcast_in_dim(T3, shape=[12, 1], broadcast_dims=[0])
    T11 = fd.ops.broadcast_in_dim(T3, shape=[1, 12], broadcast_dims=[1])
    T15 = fd.ops.broadcast_in_dim(T7, shape=[12, 12], broadcast_dims=[0, 1])
    T19 = fd.ops.broadcast_in_dim(T11, shape=[12, 12], broadcast_dims=[0, 1])
    T20 = fd.ops.ge(T15, T19)
    S21 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T23 = fd.ops.full(shape=[12, 12], fill_value=S21, dtype=DataType.Float)
    S24 = fd.define_scalar(float("-inf"), dtype=DataType.Double)
    T25 = fd.ops.where(T20, T23, S24)
    T26 = fd.ops.cast(T25, dtype=DataType.Float)
    fd.add_output(T20)
    fd.add_output(T26)


with FusionDefinition() as fd:
    nvfuser_fusion_id37(fd)

inputs = []
outputs = fd.execute(inputs, device="cuda:0")
