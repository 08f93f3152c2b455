"""Bad calls on shapes, of indexing, factories, products and norms. test_bad_uses.py says how to read it."""

USES = r"""
# shapes
ops.broadcast(x)  ->  TypeError: broadcast: argument is_broadcast_dim (list[bool]) is missing
ops.broadcast(x, [True])  ->  UserError: broadcast: Invalid broadcast, number of false entries in is_broadcast_dim
ops.broadcast(x, [False, False, False])  ->  UserError: broadcast: Invalid broadcast, number of false entries in
ops.broadcast(x, [0, 1.5])  ->  TypeError: broadcast: argument is_broadcast_dim must be a list of bools, not a list
ops.broadcast(x, True)  ->  TypeError: broadcast: argument is_broadcast_dim must be a list of bools, not a bool
ops.broadcast_in_dim(x, [2, 3], [0])  ->  UserError: broadcast_in_dim: broadcast_dims has 1 entries for a tensor of
ops.broadcast_in_dim(x, [2, 3, 4], [0, 3])  ->  UserError: broadcast_in_dim: 3 in broadcast_dims is no axis of a
ops.broadcast_in_dim(x, [2, 3, 4], [0, 0])  ->  UserError: broadcast_in_dim: nonbroadcast_dim (0) is specified more
ops.broadcast_in_dim(x, [2, 3, 4], [1, 0])  ->  UserError: broadcast_in_dim: broadcast_dims must ascend; permute the
ops.broadcast_in_dim(q, [4, 3], [0, 1])  ->  UserError: has extent 2 and cannot be expanded to 4; only axes of extent
ops.broadcast_in_dim(x, [2.5, 3], [0, 1])  ->  TypeError: broadcast_in_dim: argument shape must be a list of integers
ops.broadcast_in_dim(x, "ab", [0, 1])  ->  TypeError: broadcast_in_dim: a str is no argument of operations; they take
ops.broadcast_in_dim(x, [2, -3], [0, 1])  ->  UserError: expand: size -3 of axis 1 is negative; -1 keeps the axis of
ops.expand(x, [1])  ->  UserError: expand: 1 sizes were given for the 2 axes of
ops.expand(q, [4, 3])  ->  UserError: has extent 2 and cannot be expanded to 4; only axes of extent 1 can be stretched
ops.expand(q, [-2, 3])  ->  UserError: expand: size -2 of axis 0 is negative; -1 keeps the axis of
ops.expand(x, 5)  ->  TypeError: expand: argument shape must be a list of integers and integer scalars, not the
ops.expand_as(x, v)  ->  UserError: expand: 1 sizes were given for the 2 axes of
ops.expand_as(q, fd.define_tensor([3, 3], True))  ->  UserError: has extent 2 and cannot be expanded to 3; only axes
ops.repeat(x, [2])  ->  UserError: repeat: 1 counts were given for the 2 axes of
ops.repeat(x, [-1, 2])  ->  UserError: repeat: a count must not be negative, got -1 for
ops.reshape(q, [4, 2])  ->  UserError: reshape: Total element counts across view operation must match: [2, 3] has 6
ops.reshape(q, [-1, -1])  ->  UserError: reshape: A maximum of one value of -1 can be provided to reshape. The new
ops.reshape(q, [-1, 4])  ->  UserError: reshape: Total element counts across view operation must match: [2, 3] has 6
ops.reshape(q, [-2, 3])  ->  UserError: reshape: size -2 at position 0 of the new shape of
ops.reshape(q, "23")  ->  TypeError: reshape: a str is no argument of operations; they take tensors and scalars of
ops.reshape(q)  ->  TypeError: reshape: argument new_shape (list[int | Scalar]) is missing
ops.reshape(q, [2.0, 3])  ->  TypeError: reshape: argument new_shape must be a list of integers and integer scalars,
ops.reshape(q, [0, -1])  ->  UserError: reshape: -1 beside a size of 0 can stand for any number; give the size
ops.reshape(q, [x])  ->  TypeError: reshape: argument new_shape must be a list of integers and integer scalars, not a
ops.flatten(x, 2, 3)  ->  UserError: flatten: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to
ops.flatten(x, 1, 0)  ->  UserError: flatten: start_dim 1 is behind end_dim 0 of
ops.flatten(x, "a")  ->  TypeError: flatten: a str is no argument of operations; they take tensors and scalars of the
ops.permute(x, [0])  ->  UserError: permute: Operator permute expects `dims` argument to have the same length as
ops.permute(x, [0, 0])  ->  UserError: is named twice in the permutation; each axis is named once
ops.permute(x, [0, 2])  ->  UserError: permute: Tried to access out of boundary index 2. total index: 2 axes (valid: -2
ops.permute(x, [0, 1, 2])  ->  UserError: permute: Operator permute expects `dims` argument to have the same length
ops.permute(x, "ab")  ->  TypeError: permute: a str is no argument of operations; they take tensors and scalars of
ops.transpose(x, 0, 2)  ->  UserError: transpose: Tried to access out of boundary index 2. total index: 2 axes (valid:
ops.transpose(v)  ->  UserError: transpose: Tried to access out of boundary index -2. total index: 1 axis (valid: -1 to
ops.transpose(z)  ->  UserError: transpose: Tried to access out of boundary index -1. total index: 0 axes (valid: 0 to
ops.squeeze(x, [0])  ->  UserError: squeeze: Can not squeeze dimension(s) with size != 1: axis 0
ops.squeeze(q, [0])  ->  UserError: squeeze: Can not squeeze dimension(s) with size != 1: axis 0
ops.squeeze(q, [5])  ->  UserError: squeeze: Tried to access out of boundary index 5. total index: 2 axes (valid: -2 to
ops.squeeze(x)  ->  TypeError: squeeze: argument dims (list[int]) is missing
ops.unsqueeze(x, 4)  ->  UserError: unsqueeze: Tried to access out of boundary index 4. total index: 3 axes (valid: -3
ops.unsqueeze(x, -4)  ->  UserError: unsqueeze: Tried to access out of boundary index -4. total index: 3 axes (valid: -3
ops.unsqueeze(x, None)  ->  TypeError: unsqueeze: argument dim (int) must not be None
ops.slice(x, [0], [1])  ->  UserError: slice: Number of tensor dimensions does not match slice dimensions! Tensor-dims:
ops.slice(x, [0, 0], [1])  ->  UserError: slice: Slice indexing attribute dimensions don't match! Start Indices: 2 End
ops.slice(x, [0, 0], [1, 1], [1])  ->  UserError: slice: Slice start_indices and strides don't match! Start
ops.slice(x, [0, 0], [1, 1], [2, 1])  ->  UserError: slice: nvFuser Limitation: All slice operation strides must be
ops.slice(x, [3, 0], [1, 3], None, True)  ->  UserError: slice: Slice operation end_indices must be greater than or
ops.slice(x, [0.5, 0], [1, 1])  ->  TypeError: slice: argument start_indices must be a list of integers and integer
ops.slice(x, [0, 0], [1, 1], [1, s])  ->  UserError: slice: nvFuser Limitation: All slice operation strides must be
ops.slice(x, [-1, 0], [1, 1])  ->  UserError: slice: Slice operation start_indices must be greater than or equal to 0.
ops.slice(x, [2, 0], [1, 1])  ->  UserError: end_indices must be greater than or equal to start_indices. Start Indices:
ops.slice(x, 0, 1)  ->  TypeError: slice: argument end_indices must be a list of integers and integer scalars, not
ops.pad(x, [1])  ->  UserError: which has 2 axes; give a left and a right one for each padded axis, the last axis
ops.pad(x, [1, 1, 1, 1, 1, 1])  ->  UserError: which has 2 axes; give a left and a right one for each padded axis,
ops.pad(q, [-4, 0])  ->  UserError: pad: widths -4 and 0 cut more than axis 1 of
ops.pad(x, [1, 1], 1j)  ->  UserError: pad: Tensor arg and pad value must have the same dtype.
ops.pad(i, [1, 1], 1.5)  ->  UserError: pad: Tensor arg and pad value must have the same dtype.
ops.pad(x, [1, 1], "0")  ->  TypeError: pad: a str is no argument of operations; they take tensors and scalars of the
ops.pad(x, 1)  ->  TypeError: pad: argument pad_widths must be a list of integers and integer scalars, not the
ops.pad(x, [1.5, 1])  ->  TypeError: pad: argument pad_widths must be a list of integers and integer scalars, not a
ops.pad(x, [1, 1], x)  ->  TypeError: pad: argument value must be a scalar or a number, not a tensor
ops.cat([])  ->  UserError: cat: No input tensor given; at least one is needed
ops.cat(x)  ->  TypeError: cat: argument tensors must be a list of tensors, not a tensor
ops.cat([x, i])  ->  UserError: cat: Can't concatenate tensors with different data types
ops.cat([x, v])  ->  UserError: cat: Unexpected number of dimensions
ops.cat([x, x], 2)  ->  UserError: cat: Invalid dimension to cat: 2
ops.cat([x, None])  ->  TypeError: cat: argument tensors must be a list of tensors, not a list
ops.cat([x, 1.0])  ->  TypeError: cat: argument tensors must be a list of tensors, not a list
ops.cat([x, other])  ->  UserError: belongs to another fusion than the one that is being defined; use the values that
ops.cat([q, fd.define_tensor([3, 3], True)], 1)  ->  UserError: has 3, not 2; only the joined axis 1 may differ
ops.chunk(x, 0)  ->  UserError: chunk: the number of chunks must be positive, got 0
ops.chunk(x, -2)  ->  UserError: chunk: the number of chunks must be positive, got -2
ops.chunk(x, 2**62)  ->  UserError: chunk: 4611686018427387904 pieces were asked for, but there are at most 1024
ops.chunk(x, 2, 5)  ->  UserError: chunk: Tried to access out of boundary index 5. total index: 2 axes (valid: -2 to 1
ops.chunk(x, 1.5)  ->  TypeError: chunk: argument chunks must be an integer, not the number 1.5
ops.stride_order(x, [0])  ->  UserError: stride_order: stride_order has 1 entries for a tensor of rank 2
ops.stride_order(x, [0, 2])  ->  UserError: stride_order: stride_order argument is out of range: 2 for a tensor of
ops.stride_order(x, [1, 1])  ->  UserError: stride_order: duplicated stride_order entries: 1
ops.size(x, 2)  ->  UserError: size: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
ops.size(x, "a")  ->  TypeError: size: a str is no argument of operations; they take tensors and scalars of the
ops.size(s, 0)  ->  TypeError: size: argument arg must be a tensor, not a scalar
ops.shape(s)  ->  TypeError: shape: argument arg must be a tensor, not a scalar
ops.view_as_real(x)  ->  UserError: view_as_real: Operand of view_as_real must have complex dtype
# indices
ops.select(x, 0, 2)  ->  UserError: select: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
ops.select(x, 0.5, 0)  ->  UserError: select: the index is an integer scalar, got 0.5 for
ops.select(x, x, 0)  ->  TypeError: select: argument index must be a scalar or a number, not a tensor
ops.select(z, 0, 0)  ->  UserError: select: Tried to access out of boundary index 0. total index: 0 axes (valid: 0 to -1
ops.select(q, 2, 0)  ->  UserError: select: index 2 is outside axis 0 of
ops.index_select(x, n, 2)  ->  UserError: indexSelect: Tried to access out of boundary index 2. total index: 2 axes
ops.index_select(x, v, 0)  ->  UserError: has dtype float; an index tensor holds integers
ops.index_select(x, i, 0)  ->  UserError: has 2 axes; it must have one or none
ops.index_select(z, n, 0)  ->  UserError: has no axis to select from
ops.gather(x, i, 2)  ->  UserError: gather: Tensor arguments have dimension 2 so dim argument must satisfy -2 <= dim
ops.gather(x, n, 0)  ->  UserError: gather: Tensor arguments have different dimensions 2 and 1
ops.gather(x, x, 0)  ->  UserError: has dtype float; an index tensor holds integers
ops.gather(x, 1, 0)  ->  TypeError: gather: argument index must be a tensor, not the integer 1
ops.take_along_axis(x, n, 0)  ->  UserError: takeAlongAxis: Tensor arguments have different dimensions 2 and 1
ops.take_along_axis(x, i, 5)  ->  UserError: takeAlongAxis: Tensor arguments have dimension 2 so dim argument must
ops.take_along_axis(q, fd.define_tensor([4, 4], True, DataType.Int), 0)  ->  UserError: takeAlongAxis, axis 1: sizes
ops.scatter(x, i, x, 2)  ->  UserError: scatter: Tensor arguments have dimension 2 so dim argument must satisfy -2 <=
ops.scatter(x, n, x, 0)  ->  UserError: scatter: Tensor arguments have different dimensions 2 and 1
ops.scatter(x, x, x, 0)  ->  UserError: has dtype float; an index tensor holds integers
ops.scatter(x, i, h, 0)  ->  UserError: has float; cast one of them
ops.scatter(x, i, "x", 0)  ->  TypeError: scatter: a str is no argument of operations; they take tensors and scalars
ops.embedding_fwd(n, v)  ->  UserError: has 1 axes; it is a table of rows, with 2
ops.embedding_fwd(v, x)  ->  UserError: has dtype float; it holds row numbers, integers
ops.embedding_fwd(n)  ->  TypeError: embedding_fwd: argument weight (Tensor) is missing
ops.embedding_fwd(n, x, norm_type="2")  ->  TypeError: embedding_fwd: a str is no argument of operations; they take
# made from nothing
ops.full([2], 1.0)  ->  TypeError: full: argument dtype (DataType) is missing
ops.full([-1], 1.0, DataType.Float)  ->  UserError: full: size 0 of the shape is negative: -1
ops.full([2], x, DataType.Float)  ->  TypeError: full: argument fill_value must be a scalar or a number, not a tensor
ops.full([2], "1", DataType.Float)  ->  TypeError: full: a str is no argument of operations; they take tensors and
ops.full(2, 1.0, DataType.Float)  ->  TypeError: full: argument shape must be a list of integers and integer scalars,
ops.full([2.5], 1.0, DataType.Float)  ->  TypeError: full: argument shape must be a list of integers and integer
ops.full([2], 1.0, DataType.Null)  ->  UserError: full: the data type is missing
ops.full_like(1.0, 1.0)  ->  TypeError: full_like: argument arg must be a tensor, not the number 1
ops.full_like(x, x)  ->  TypeError: full_like: argument fill_value must be a scalar or a number, not a tensor
ops.iota(-1)  ->  UserError: iota: size 0 of the shape is negative: -1
ops.iota(4, 0, 0)  ->  UserError: iota: step value must not equal zero
ops.iota(4, 0.5, 1)  ->  UserError: iota: start (0.5 of type double) does not fit the dtype int64_t; iota: start
ops.iota(4, float("nan"), 1.0, DataType.Float)  ->  UserError: iota: start must be finite, got nan
ops.iota(4, 0.0, float("inf"), DataType.Float)  ->  UserError: iota: step must be finite, got inf
ops.iota(4, 0, 1, DataType.Bool)  ->  UserError: iota: the dtype must be an integer or floating-point type, got bool
ops.iota(2.5)  ->  UserError: iota: size 0 of the shape must be an integer scalar, got 2.5
ops.iota(x)  ->  TypeError: iota: argument length must be a scalar or a number, not a tensor
ops.eye(-1, DataType.Float)  ->  UserError: eye: size 0 of the shape is negative: -1
ops.eye(2)  ->  TypeError: eye: argument dtype (DataType) is missing
ops.eye(2, DataType.Float, -3)  ->  UserError: eye: size 1 of the shape is negative: -3
ops.eye(2.5, DataType.Float)  ->  UserError: eye: size 0 of the shape must be an integer scalar, got 2.5
ops.uniform(0.0, 1.0)  ->  TypeError: uniform: argument shape (list[int | Scalar]) is missing
ops.uniform(0.0, 1.0, [2], DataType.Int)  ->  UserError: uniform: Random distributions only create floating point
ops.uniform(0.0, 1.0, [2], rng_seed=1)  ->  UserError: uniform: rng_seed and rng_offset must be provided together:
ops.uniform(0.0, 1.0, [2], rng_offset=1)  ->  UserError: uniform: rng_seed and rng_offset must be provided together:
ops.uniform(x, 1.0, [2])  ->  TypeError: uniform: argument minval must be a scalar or a number, not a tensor
ops.uniform(0.0, 1.0, [-2])  ->  UserError: uniform: size 0 of the shape is negative: -2
ops.normal(0.0, 1.0, [2], DataType.Bool)  ->  UserError: normal: Random distributions only create floating point
ops.normal(0.0, 1.0, [2], rng_seed=1.5, rng_offset=1)  ->  UserError: normal: seed and offset must be integer
ops.normal(0.0)  ->  TypeError: normal: argument std (Scalar | number) is missing
ops.triu(v)  ->  UserError: triu: input tensor for triu must have 2 or more dims, but got 1 dims
ops.triu(z)  ->  UserError: triu: input tensor for triu must have 2 or more dims, but got 0 dims
ops.triu(x, 1.5)  ->  UserError: triu: the offset must be an integer scalar, got 1.5
ops.dropout(x)  ->  TypeError: dropout: argument p (Scalar | number) is missing
ops.dropout(x, "p")  ->  TypeError: dropout: a str is no argument of operations; they take tensors and scalars of the
ops.dropout(i, 0.5)  ->  UserError: has dtype int64_t; a floating-point tensor is needed
# products and attention
ops.matmul(x)  ->  TypeError: matmul: argument arg2 (Tensor) is missing
ops.matmul(x, h)  ->  UserError: matmul: operands have different dtypes
ops.matmul(x, z)  ->  UserError: of shape [] and dtype float; use mul for a scalar
ops.matmul(q, fd.define_tensor([4, 2], True))  ->  UserError: matmul: the axes that are summed over differ in length,
ops.matmul(x, 1.0)  ->  TypeError: matmul: argument arg2 must be a tensor, not the number 1
ops.matmul(b, b)  ->  UserError: has dtype bool, which has no product of matrices; cast the operands to a wider dtype
ops.linear(x, h)  ->  UserError: linear: operands have different dtypes
ops.linear(x, x, i)  ->  UserError: linear: operands have different dtypes
ops.linear(z, x)  ->  UserError: linear: the input needs an axis or more, got
ops.linear(x, x, x)  ->  UserError: linear: the bias has one axis less than the weight
ops.linear(q, fd.define_tensor([4, 4], True))  ->  UserError: linear: the axes that are summed over differ in length,
ops.grouped_mm(x, x, x)  ->  UserError: grouped_mm: the offsets say where each group ends, Int32 [G]; got
ops.grouped_mm(x, x)  ->  TypeError: grouped_mm: argument offsets (Tensor) is missing
ops.grouped_mm(v, x, n)  ->  UserError: grouped_mm: the operands are matrices, of which at most one has an axis of
ops.scaled_mm(x, x)  ->  TypeError: scaled_mm: argument scale1 (Tensor) is missing
ops.scaled_mm(x, x, 1.0, 1.0)  ->  TypeError: scaled_mm: argument scale2 must be a tensor, not the number 1
ops.scaled_mm(i, i, z, z)  ->  UserError: and dtype int64_t is no floating-point matrix; cast it, or use matmul
ops.sdpfa_fwd(x, x, x)  ->  UserError: sdpfa_fwd: the query has the axes [batches, heads, queries, numbers], four or
ops.sdpfa_fwd(x)  ->  TypeError: sdpfa_fwd: argument key (Tensor) is missing
ops.sdpfa_fwd(heads, heads, heads, dropout_p=2.0)  ->  UserError: sdpfa_fwd: dropout_p must be between 0 and 1, got 2
ops.sdpfa_fwd(heads, heads, fd.define_tensor([-1] * 4, True, DataType.Half))  ->  UserError: and dtype __half; its
ops.sdpfa_fwd(heads, heads, heads, mask=x)  ->  UserError: and dtype float; its dtype has to be bool: cast it
ops.sdpfa_fwd(heads, heads, heads, is_causal="yes")  ->  TypeError: sdpfa_fwd: a str is no argument of operations;
ops.sdpfa_bwd(heads, heads, heads)  ->  TypeError: sdpfa_bwd: argument value (Tensor) is missing
ops.nv_block_quantize(x)  ->  NotImplementedError: nv_block_quantize: block-scaled formats need a Blackwell GPU and
ops.nv_grouped_block_quantize(x, n, n)  ->  NotImplementedError: nv_grouped_block_quantize: block-scaled formats need
ops.preprocess_grouped_matmul_input_sf(x, n, n)  ->  NotImplementedError: preprocess_grouped_matmul_input_sf:
ops.cutlass_nvfp4_grouped_mm(x, x)  ->  TypeError: cutlass_nvfp4_grouped_mm: argument scale1 (Tensor) is missing
# norms
ops.softmax(x, 2)  ->  UserError: softmax: Tried to access out of boundary index 2. total index: 2 axes in
ops.log_softmax(x, -3)  ->  UserError: log_softmax: Tried to access out of boundary index -3. total index: 2 axes in
ops.layer_norm(x)  ->  TypeError: layer_norm: argument norm_shape (list[int]) is missing
ops.layer_norm(x, [-1, -1, -1])  ->  UserError: cannot be normalised: it has 2, and at least one is needed
ops.layer_norm(x, "n")  ->  TypeError: layer_norm: a str is no argument of operations; they take tensors and scalars
ops.layer_norm(q, [4])  ->  UserError: layer_norm: the shape to normalise over has 4 where axis 1 of
ops.layer_norm(x, [3], x)  ->  UserError: has 2 axes; it must have the 1 normalised ones
ops.rms_norm(x, [-1, -1, -1])  ->  UserError: cannot be normalised: it has 2, and at least one is needed
ops.rms_norm(x, [3], v, "eps")  ->  TypeError: rms_norm: a str is no argument of operations; they take tensors and
ops.batch_norm(v)  ->  UserError: has 1 axes; at least 2 are needed (N, C
ops.batch_norm(x, training=False)  ->  UserError: batch_norm: outside training running_mean and running_var are needed
ops.batch_norm(x, x)  ->  UserError: has 2 axes; it must have one, the channels
ops.batch_norm(x, None, None, v, None)  ->  UserError: batch_norm: running_mean and running_var are given together or
ops.instance_norm(v)  ->  UserError: has 1 axes; at least 3 are needed (N, C, …
ops.gelu(x, 1)  ->  TypeError: gelu: takes at most 1 arguments (arg) but more were given
ops.leaky_relu(x, x)  ->  TypeError: leaky_relu: argument negative_slope must be a scalar or a number, not a tensor
ops.softplus(x, "beta")  ->  TypeError: softplus: a str is no argument of operations; they take tensors and scalars
ops.layer_norm_backward(x, x, [3])  ->  TypeError: layer_norm_backward: argument mean (Tensor) is missing
ops.softmax_backward(x, v)  ->  UserError: has 1; they must have one shape
ops.bitcast(i, DataType.ComplexDouble)  ->  UserError: of type int64_t cannot be read as std::complex<double>:
ops.linear(x, z)  ->  UserError: linear: the weight has the axes [out, in] or [in], got
ops.softmax(c, 5)  ->  UserError: has dtype std::complex<float>; a tensor of real numbers is needed
ops.rms_norm_backward(x, x, [3])  ->  TypeError: rms_norm_backward: argument invstd (Tensor) is missing
ops.batch_norm(x, momentum="a")  ->  TypeError: batch_norm: a str is no argument of operations; they take tensors and
ops.embedding_fwd(n, x, max_norm=x)  ->  TypeError: embedding_fwd: argument max_norm must be a scalar or a number,
ops.uniform(0.0, 1.0, [2], rng_seed=1.5, rng_offset=0)  ->  UserError: uniform: seed and offset must be integer
"""
