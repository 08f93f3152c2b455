import torch
from nvfuser import FusionDefinition, DataType


def nvfuser_fusion_id0(fd: FusionDefinition) -> None:
    T0 = fd.define_tensor(shape=[1, 10, 33], contiguity=[None, True, True], dtype=DataType.BFloat16, is_cpu=False, stride_order=[2, 1, 0])
    T1 = fd.define_tensor(shape=[1, 10], contiguity=[None, True], dtype=DataType.Int, is_cpu=False, stride_order=[1, 0])
    T2 = fd.ops.cast(T0, dtype=DataType.Float)
    T15 = fd.ops.slice(T2, start_indices=[0, 0, 0], end_indices=[1, 9, 33], strides=[1, 1, 1], manual_normalization=0)
    T16 = fd.ops.stride_order(T15, stride_order=[2, 1, 0])
    T26 = fd.ops.slice(T1, start_indices=[0, 1], end_indices=[1, 10], strides=[1, 1], manual_normalization=0)
    T27 = fd.ops.stride_order(T26, stride_order=[1, 0])
    T31 = fd.ops.reshape(T16, new_shape=[9, 33])
    T34 = fd.ops.reshape(T27, new_shape=[9])
    T35 = fd.ops.max(T31, dims=[1], keepdim=False, dtype=DataType.Null)
    T39 = fd.ops.broadcast_in_dim(T35, shape=[9, 1], broadcast_dims=[0])
    T40 = fd.ops.abs(T39)
    S41 = fd.define_scalar(float("inf"), dtype=DataType.Double)
    T42 = fd.ops.eq(T40, S41)
    S43 = fd.define_scalar(0.00000, dtype=DataType.Double)
    T44 = fd.ops.where(T42, S43, T39)
    T48 = fd.ops.broadcast_in_dim(T44, shape=[9, 33], broadcast_dims=[0, 1])
    T49 = fd.ops.sub(T31, T48)
    T50 = fd.ops.exp(T49)
    T51 = fd.ops.sum(T50, dims=[1], keepdim=False, dtype=DataType.Null)
    T52 = fd.ops.log(T51)
    T53 = fd.ops.add(T52, fd.ops.reshape(T44, new_shape=[9]))
    T57 = fd.ops.broadcast_in_dim(T34, shape=[9, 1], broadcast_dims=[0])
    T58 = fd.ops.take_along_axis(T31, T57, dim=1)
    T59 = fd.ops.squeeze(T58, dims=[1], squeeze_expanded=False)
    T60 = fd.ops.sub(T53, T59)
    T61 = fd.ops.sum(T60, dims=[0], keepdim=False, dtype=DataType.Null)
    S62 = fd.define_scalar(9.00000, dtype=DataType.Double)
    T63 = fd.ops.div(T61, S62)
    T64 = fd.ops.cast(T63, dtype=DataType.BFloat16)
    fd.add_output(T53)
    fd.add_output(T64)


with FusionDefinition() as fd:
    nvfuser_fusion_id0(fd)

inputs = [
    torch.testing.make_tensor((1, 10, 33), dtype=torch.bfloat16, device="cuda:0"),
    torch.randint(0, 33, (1, 10), dtype=torch.int64, device="cuda:0"),
]
outputs = fd.execute(inputs)
