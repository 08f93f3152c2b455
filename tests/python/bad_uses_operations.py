"""Bad calls of pointwise operations, reductions and scans. test_bad_uses.py says how to read it."""

USES = r"""
# pointwise
ops.neg()  ->  TypeError: neg: argument arg (Tensor | Scalar | number) is missing
ops.neg(x, x)  ->  TypeError: neg: takes at most 1 arguments (arg) but more were given
ops.neg(None)  ->  TypeError: neg: argument arg (Tensor | Scalar | number) must not be None
ops.neg("x")  ->  TypeError: neg: a str is no argument of operations; they take tensors and scalars of the fusion,
ops.neg([1.0])  ->  TypeError: neg: argument arg must be a tensor, a scalar or a number, not a list
ops.neg(other)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that this
ops.neg(old_x)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that this
ops.neg(torch.ones(2))  ->  TypeError: neg: a Tensor is no argument of operations; they take tensors and scalars of
ops.neg(numpy.ones(2))  ->  TypeError: neg: a ndarray is no argument of operations; they take tensors and scalars of
ops.neg(DataType.Float)  ->  TypeError: neg: argument arg must be a tensor, a scalar or a number, not a dtype
ops.neg(2**70)  ->  UserError: neg: 1180591620717411303424 is an integer beyond 64 bits; pass one between -2^63 and
ops.neg(x, nonsense=1)  ->  TypeError: neg: there is no parameter "nonsense"; there are arg
ops.neg(arg=x, x=x)  ->  TypeError: neg: there is no parameter "x"; there are arg
ops.neg(fd)  ->  TypeError: neg: a FusionDefinition is no argument of operations; they take tensors and scalars of
ops.neg(x.axis(0))  ->  UserError: is neither an input nor a result of an operation of this fusion
ops.add(x)  ->  TypeError: add: argument rhs (Tensor | Scalar | number) is missing
ops.add(x, x, x)  ->  TypeError: add: takes at most 2 arguments (lhs, rhs) but more were given
ops.add(x, None)  ->  TypeError: add: argument rhs (Tensor | Scalar | number) must not be None
ops.add(x, "1")  ->  TypeError: add: a str is no argument of operations; they take tensors and scalars of the fusion,
ops.add(x, other)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that
ops.add(x, old_x)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that
ops.add(x, [1.0])  ->  TypeError: add: argument rhs must be a tensor, a scalar or a number, not a list
ops.add(x, torch.ones(()))  ->  TypeError: add: a Tensor is no argument of operations; they take tensors and scalars
ops.add(x, -(2**64))  ->  UserError: add: -18446744073709551616 is an integer beyond 64 bits; pass one between -2^63
ops.add(q, fd.define_tensor([2, 4], True))  ->  UserError: add: sizes of corresponding axes do not agree: 3 and 4;
ops.mul(cube, fd.define_tensor([5, 4], True))  ->  UserError: mul: sizes of corresponding axes do not agree: 3 and 5;
ops.add(lhs=x, lhs_=x)  ->  TypeError: add: there is no parameter "lhs_"; there are lhs, rhs
ops.lt(c, c)  ->  UserError: lt: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.gt(c, x)  ->  UserError: gt: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.bitwise_and(x, x)  ->  UserError: bitwise_and: Integer or boolean input is required for bitwise_and but found
ops.bitwise_or(x, 1)  ->  UserError: bitwise_or: Integer or boolean input is required for bitwise_or but found float;
ops.bitwise_xor(i, x)  ->  UserError: bitwise_xor: Integer or boolean input is required for bitwise_xor but found
ops.bitwise_not(x)  ->  UserError: bitwise_not: Integer or boolean input is required for bitwise_not but found float;
ops.bitwise_left_shift(x, 1)  ->  UserError: bitwise_left_shift: input must have integral type, but got float; cast
ops.bitwise_left_shift(b, b)  ->  UserError: bitwise_left_shift: input must have integral type, but got bool; cast
ops.bitwise_right_shift(i, 1.5)  ->  UserError: bitwise_right_shift: input must have integral type, but got double;
ops.logical_right_shift(x, i)  ->  UserError: logical_right_shift: input must have integral type, but got float; cast
ops.gcd(x, x)  ->  UserError: gcd: input must have integral type, but got float; cast the operands first
ops.gcd(b, b)  ->  UserError: gcd: input must have integral type, but got bool; cast the operands first
ops.nextafter(i, i)  ->  UserError: nextafter: Promoted type must be single or double precision float but found
ops.nextafter(c, c)  ->  UserError: nextafter: Promoted type must be single or double precision float but found
ops.fmod(c, c)  ->  UserError: fmod: not defined for operands of type std::complex<float>; it takes integer,
ops.mod(c, c)  ->  UserError: mod: not defined for operands of type std::complex<float>; it takes integer,
ops.remainder(c, x)  ->  UserError: remainder: not defined for operands of type std::complex<float>; it takes
ops.atan2(c, c)  ->  UserError: atan2: not defined for operands of type std::complex<float>; it takes floating-point
ops.maximum(c, x)  ->  UserError: maximum: not defined for operands of type std::complex<float>; it takes bool,
ops.minimum(c, 1.0)  ->  UserError: minimum: not defined for operands of type std::complex<float>; it takes bool,
ops.imag(x)  ->  UserError: has type float; imag not supported for non-complex tensors and scalars
ops.complex(x, fd.define_tensor([-1, -1], True, DataType.Double))  ->  UserError: complex: real and imaginary part
ops.complex(i, i)  ->  UserError: complex: the parts must be of type float or double, got int64_t; cast them first
ops.complex(x, 1.0)  ->  UserError: complex: real and imaginary part must have the same type, got float and double;
ops.ceil(c)  ->  UserError: ceil: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.floor(c)  ->  UserError: floor: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.relu(c)  ->  UserError: relu: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.sign(c)  ->  UserError: sign: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.erf(c)  ->  UserError: erf: not defined for operands of type std::complex<float>; it takes floating-point
ops.lgamma(c)  ->  UserError: lgamma: not defined for operands of type std::complex<float>; it takes floating-point
ops.frac(i)  ->  UserError: frac: not defined for operands of type int64_t; it takes floating-point operands, so cast
ops.silu(i)  ->  UserError: silu: not defined for operands of type int64_t; it takes floating-point, complex
ops.rand_like(i)  ->  UserError: rand_like: Random distributions only create floating point types! dtype int64_t is
ops.randn_like(b)  ->  UserError: randn_like: Random distributions only create floating point types! dtype bool is
ops.rand_like(2.0)  ->  TypeError: rand_like: argument arg must be a tensor, not the number 2
ops.rand_like(c)  ->  UserError: rand_like: Random distributions only create floating point types! dtype
ops.isneginf(c)  ->  UserError: isneginf: not defined for operands of type std::complex<float>; it takes bool,
ops.signbit(c)  ->  UserError: signbit: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.where(x, x, x)  ->  UserError: where: Condition should be of DataType Bool, not float; compare it with something
ops.where(b, x)  ->  TypeError: where: argument b (Tensor | Scalar | number) is missing
ops.where(b, x, "a")  ->  TypeError: where: a str is no argument of operations; they take tensors and scalars of the
ops.where(1, x, x)  ->  UserError: where: Condition should be of DataType Bool, not int64_t; compare it with
ops.where(b, x, other)  ->  UserError: belongs to another fusion than the one that is being defined; use the values
ops.where(b, q, fd.define_tensor([3, 3], True))  ->  UserError: where: sizes of corresponding axes do not agree: 2
ops.lerp(x, x)  ->  TypeError: lerp: argument weight (Tensor | Scalar | number) is missing
ops.lerp(x, x, "w")  ->  TypeError: lerp: a str is no argument of operations; they take tensors and scalars of the
ops.lerp(b, b, None)  ->  TypeError: lerp: argument weight (Tensor | Scalar | number) must not be None
ops.addcmul(x, x)  ->  TypeError: addcmul: argument c (Tensor | Scalar | number) is missing
ops.addcmul(x, x, x, x)  ->  TypeError: addcmul: argument value must be a scalar or a number, not a tensor
ops.clamp()  ->  TypeError: clamp: argument arg (Tensor | Scalar | number) is missing
ops.clamp(x, x, x)  ->  TypeError: clamp: argument max must be a scalar or a number, not a tensor
ops.clamp(c, 0.0, 1.0)  ->  UserError: clamp: not defined for operands of type std::complex<float>; it takes bool,
ops.clamp(x, "low")  ->  TypeError: clamp: a str is no argument of operations; they take tensors and scalars of the
ops.threshold(x, x, 1.0)  ->  TypeError: threshold: argument thresh must be a scalar or a number, not a tensor
ops.threshold(x, 1.0)  ->  TypeError: threshold: argument value (Scalar | number) is missing
ops.threshold(c, 1.0, 1.0)  ->  UserError: threshold: not defined for operands of type std::complex<float>; it takes
ops.cast(x)  ->  TypeError: cast: argument dtype (DataType) is missing
ops.cast(x, "float")  ->  TypeError: cast: a str is no argument of operations; they take tensors and scalars of the
ops.cast(x, torch.float16)  ->  TypeError: cast: a dtype is no argument of operations; they take tensors and scalars
ops.cast(x, 3)  ->  TypeError: cast: argument dtype must be a DataType, not the integer 3
ops.cast(x, DataType.Null)  ->  UserError: cast: the data type to cast to is missing
ops.cast(x, DataType.Float4_e2m1fn)  ->  NotImplementedError: DataType.Float4_e2m1fn: block-scaled formats need a
ops.cast(x, DataType.Float8_e8m0fnu)  ->  NotImplementedError: DataType.Float8_e8m0fnu: block-scaled formats need a
ops.bitcast(x, DataType.Double)  ->  UserError: of type float cannot be read as double: BitCast only works for types
ops.bitcast(x, DataType.Null)  ->  UserError: of type float cannot be read as null: BitCast only works for types of
# reductions and scans
ops.sum()  ->  TypeError: sum: argument arg (Tensor) is missing
ops.sum(2.0)  ->  TypeError: sum: argument arg must be a tensor, not the number 2
ops.sum(s)  ->  TypeError: sum: argument arg must be a tensor, not a scalar
ops.sum(x, [])  ->  UserError: No reduction axis specified: the list of axes is empty; leave it out for all axes
ops.sum(x, 2)  ->  UserError: sum: Tried to access out of boundary index 2. total index: 2 axes in
ops.sum(x, -3)  ->  UserError: sum: Tried to access out of boundary index -3. total index: 2 axes in
ops.sum(x, [0, 0])  ->  UserError: sum: axis 0 is given twice; name each axis once
ops.sum(x, [0, -2])  ->  UserError: sum: axis 0 is given twice; name each axis once
ops.sum(x, [0, 1, 2])  ->  UserError: sum: Tried to access out of boundary index 2. total index: 2 axes in
ops.sum(x, 1.5)  ->  TypeError: sum: argument axes must be a list of integers, not the number 1.5
ops.sum(x, "1")  ->  TypeError: sum: a str is no argument of operations; they take tensors and scalars of the fusion,
ops.sum(x, [None])  ->  TypeError: sum: argument axes must be a list of integers, not a list
ops.sum(x, [0], 2.5)  ->  TypeError: sum: argument keepdim must be a bool, not the number 2.5
ops.sum(x, [0], True, "Float")  ->  TypeError: sum: a str is no argument of operations; they take tensors and scalars
ops.sum(x, [0], True, DataType.Null, 1)  ->  TypeError: sum: takes at most 4 arguments (arg, axes, keepdim, dtype)
ops.sum(x, axes=[0], dims=[1])  ->  TypeError: sum: argument axes was given twice
ops.sum(x, [0], keepdims=True)  ->  TypeError: sum: there is no parameter "keepdims"; there are arg, axes, keepdim,
ops.sum(other)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that this
ops.sum(x, 2**62)  ->  UserError: sum: Tried to access out of boundary index 4611686018427387904. total index: 2 axes in
ops.prod(x, 7)  ->  UserError: prod: Tried to access out of boundary index 7. total index: 2 axes in
ops.max(x, [0], False, DataType.Float)  ->  UserError: max: A dtype other than Null is not currently supported, got
ops.max(c)  ->  UserError: max: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.min(c, [0])  ->  UserError: min: not defined for operands of type std::complex<float>; it takes bool, integer,
ops.min(x, [9])  ->  UserError: min: Tried to access out of boundary index 9. total index: 2 axes in
ops.mean(x, 4)  ->  UserError: mean: Tried to access out of boundary index 4. total index: 2 axes in
ops.var(x, [3])  ->  UserError: variance: Tried to access out of boundary index 3. total index: 2 axes in
ops.var(x, [0], -1)  ->  UserError: variance: correction must be non-negative, but got -1
ops.var(x, [0], 1.5)  ->  TypeError: var: argument correction must be an integer, not the number 1.5
ops.var_mean(h)  ->  UserError: variance_mean: variance_mean is not supported for __half please upcast to float
ops.var_mean(x, [0], -2)  ->  UserError: variance_mean: correction must be non-negative, but got -2
ops.welford(z)  ->  UserError: has no axes, so there is none to reduce
ops.welford(i)  ->  UserError: welford: not supported for int64_t
ops.welford(x, [5])  ->  UserError: welford: Tried to access out of boundary index 5. total index: 2 axes in
ops.welford(c)  ->  UserError: welford: not supported for std::complex<float>
ops.cumsum(x)  ->  TypeError: cumsum: argument dim (int) is missing
ops.cumsum(x, 2)  ->  UserError: cumsum: Tried to access out of boundary index 2. total index: 2 axes in T
ops.cumsum(x, "0")  ->  TypeError: cumsum: a str is no argument of operations; they take tensors and scalars of the
ops.cumsum(x, 0, "init")  ->  TypeError: cumsum: a str is no argument of operations; they take tensors and scalars of
ops.cumsum(x, 0, x)  ->  TypeError: cumsum: argument init must be a scalar or a number, not a tensor
ops.cumprod(x, -3)  ->  UserError: cumprod: Tried to access out of boundary index -3. total index: 2 axes in T
ops.cummax(c, 0)  ->  UserError: has dtype std::complex<float>; a tensor of real numbers is needed
ops.cummin(x, None)  ->  TypeError: cummin: argument dim (int) must not be None
ops.argsort(x)  ->  TypeError: argsort: argument dim (int) is missing
ops.argsort(x, 2)  ->  UserError: argsort: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
ops.argsort(c, 0)  ->  UserError: has dtype std::complex<float>; a tensor of real numbers is needed
ops.topk(x)  ->  TypeError: topk: argument k (Scalar | number) is missing
ops.topk(x, 1.5)  ->  UserError: topk: k is an integer scalar, got 1.5 for
ops.topk(x, -1)  ->  UserError: topk: k = -1 elements of axis 1 of
ops.topk(x, 1, 2)  ->  UserError: topk: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
ops.topk(c, 1)  ->  UserError: has dtype std::complex<float>; a tensor of real numbers is needed
ops.topk(x, x)  ->  TypeError: topk: argument k must be a scalar or a number, not a tensor
ops.topk(q, 5)  ->  UserError: are asked for, which has extent 3; k lies between 0 and that
"""
