"""Bad definitions: tensors, scalars, outputs, contexts; the module nvfuser. test_bad_uses.py says how to read it."""

USES = r"""
# tensors
fd.define_tensor([-2])  ->  UserError: define_tensor: The value -2 at index 0 was neither symbolic(-1),
fd.define_tensor([4, -1, -7])  ->  UserError: define_tensor: The value -7 at index 2 was neither symbolic(-1),
fd.define_tensor([2, 2], [True] * 3)  ->  UserError: define_tensor: Length of contiguity argument (3) must match that
fd.define_tensor([2, 2], [True])  ->  UserError: define_tensor: Length of contiguity argument (1) must match that of
fd.define_tensor([2, 2], True, stride_order=[0, 0])  ->  UserError: TensorViewBuilder: duplicated stride_order
fd.define_tensor([2, 2], True, stride_order=[0, 2])  ->  UserError: TensorViewBuilder: stride_order argument is out
fd.define_tensor([2, 2], True, stride_order=[-3, 0])  ->  UserError: TensorViewBuilder: stride_order argument is out
fd.define_tensor([2, 2], True, stride_order=[0])  ->  UserError: TensorViewBuilder: stride_order has 1 entries for 2
fd.define_tensor([2, 2], True, stride_order=[0, 1, 2])  ->  UserError: TensorViewBuilder: stride_order has 3 entries
fd.define_tensor([2, 2], [True, True], stride_order="01")  ->  TypeError: define_tensor(): incompatible function
fd.define_tensor(sizes=[2], strides=[-1])  ->  UserError: define_tensor: axis 0 has size 2 and stride -1;
fd.define_tensor(sizes=[-3], strides=[1])  ->  UserError: define_tensor: axis 0 has size -3 and stride 1;
fd.define_tensor(sizes=[2, 3], strides=[1])  ->  UserError: define_tensor: sizes has 2 entries, but
fd.define_tensor(sizes=[2, 3], strides=None)  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor(sizes=[2, 3])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([2], is_cpu=True)  ->  UserError: define_tensor: is_cpu is for a CPU scalar, a tensor without axes,
fd.define_tensor("x")  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor(["x"])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([1.5])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([None])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor(None)  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor({"a": 1})  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([2**70])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([torch.ones(2)])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor(torch.ones(2))  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([float("nan")])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([2**40, 2**40])  ->  UserError: TensorViewBuilder: a tensor of sizes [1099511627776, 1099511627776]
fd.define_tensor([-1], ["yes"])  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([-1], [True], "float")  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([-1], [True], torch.float32)  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([-1], [True], None)  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([-1], [True], DataType.Null)  ->  TypeError: define_tensor needs a dtype other than Null
fd.define_tensor([-1], [True], DataType.Index)  ->  TypeError: define_tensor needs a dtype other than Index
fd.define_tensor([-1], [True], DataType.Float4_e2m1fn)  ->  NotImplementedError: DataType.Float4_e2m1fn: block-scaled
fd.define_tensor([-1], [True], DataType.Float4_e2m1fn_x2)  ->  NotImplementedError: DataType.Float4_e2m1fn_x2:
fd.define_tensor([-1], [True], DataType.Float8_e8m0fnu)  ->  NotImplementedError: DataType.Float8_e8m0fnu:
fd.define_tensor()  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor([-1], [True], DataType.Float, False, [0], 7)  ->  TypeError: define_tensor(): incompatible function
fd.define_tensor([-1], color="red")  ->  TypeError: define_tensor(): incompatible function arguments
fd.define_tensor(shape=[-1], shapes=[-1])  ->  TypeError: define_tensor(): incompatible function arguments
nvf.compute_tensor_descriptor([2, 3], [1])  ->  UserError: compute_tensor_descriptor: sizes has 2 entries, but
nvf.compute_tensor_descriptor([2, -3], [3, 1])  ->  UserError: compute_tensor_descriptor: axis 1 has size -3 and
nvf.compute_tensor_descriptor([2, 3], [-3, 1])  ->  UserError: compute_tensor_descriptor: axis 0 has size 2 and
nvf.compute_tensor_descriptor(2, 3)  ->  TypeError: compute_tensor_descriptor(): incompatible function arguments
nvf.compute_tensor_descriptor([2.5], [1])  ->  TypeError: compute_tensor_descriptor(): incompatible function arguments
fd.from_pytorch(torch.empty(2, device="meta"))  ->  ValueError: Found unsupported device meta, only scalar CPU or
fd.from_pytorch(torch.ones(2, dtype=torch.uint8))  ->  KeyError: there is no DataType for torch.uint8; there are
fd.from_pytorch("tensor")  ->  TypeError: from_pytorch: a torch.Tensor is needed, not a str
fd.from_pytorch(None)  ->  TypeError: from_pytorch: a torch.Tensor is needed, not a NoneType
fd.from_pytorch(numpy.ones(2))  ->  TypeError: from_pytorch: a torch.Tensor is needed, not a ndarray
fd.from_pytorch(sparse)  ->  ValueError: from_pytorch: the tensor's layout is torch.sparse_coo, which has no strides;
# scalars
fd.define_scalar(1j, DataType.Double)  ->  UserError: define_scalar: Scalar value (0,1) is not compatible with the
fd.define_scalar(1j, DataType.Int)  ->  UserError: define_scalar: Scalar value (0,1) is not compatible with the
fd.define_scalar("x")  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex, not a str
fd.define_scalar([1])  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex, not a list
fd.define_scalar(2**70)  ->  UserError: define_scalar: 1180591620717411303424 is an integer beyond 64 bits; pass one
fd.define_scalar(-(2**63) - 1)  ->  UserError: define_scalar: -9223372036854775809 is an integer beyond 64 bits; pass
fd.define_scalar(2**40, DataType.Int32)  ->  UserError: define_scalar: Scalar value 1099511627776 is not compatible
fd.define_scalar(1.5, DataType.Int)  ->  UserError: define_scalar: Scalar value 1.5 is not compatible with the
fd.define_scalar(float("nan"), DataType.Int)  ->  UserError: define_scalar: Scalar value nan is not compatible with
fd.define_scalar(float("inf"), DataType.Int)  ->  UserError: define_scalar: Scalar value inf is not compatible with
fd.define_scalar(-1, DataType.UInt64)  ->  UserError: define_scalar: Scalar value -1 is not compatible with the
fd.define_scalar(1, "int")  ->  TypeError: define_scalar(): incompatible function arguments
fd.define_scalar(1, torch.int64)  ->  TypeError: define_scalar(): incompatible function arguments
fd.define_scalar(1, DataType.Null)  ->  TypeError: define_scalar needs a dtype other than Null
fd.define_scalar(DataType.Null)  ->  TypeError: define_scalar needs a dtype other than Null
fd.define_scalar(DataType.Float4_e2m1fn)  ->  NotImplementedError: DataType.Float4_e2m1fn: block-scaled formats need
fd.define_scalar(1.0, DataType.Float8_e8m0fnu)  ->  NotImplementedError: DataType.Float8_e8m0fnu: block-scaled
fd.define_scalar(torch.float32)  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex,
fd.define_scalar(torch.ones(()))  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex,
fd.define_scalar(x)  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex, not a
fd.define_scalar(1, DataType.Int, 3)  ->  TypeError: define_scalar(): incompatible function arguments
fd.define_scalar(1, kind=DataType.Int)  ->  TypeError: define_scalar(): incompatible function arguments
fd.define_vector(-1)  ->  TypeError: define_vector: the number of scalars must be an int of at least 0, not -1
fd.define_vector("x")  ->  TypeError: define_vector: the number of scalars must be an int of at least 0, not 'x'
fd.define_vector(1.5)  ->  TypeError: define_vector: the number of scalars must be an int of at least 0, not 1.5
fd.define_vector(None)  ->  TypeError: define_vector: the number of scalars must be an int of at least 0, not None
# outputs
fd.add_output(3)  ->  TypeError: add_output: a TensorView or a Val is needed, not a int
fd.add_output(None)  ->  TypeError: add_output: a TensorView or a Val is needed, not a NoneType
fd.add_output("x")  ->  TypeError: add_output: a TensorView or a Val is needed, not a str
fd.add_output([x])  ->  TypeError: add_output: a TensorView or a Val is needed, not a list
fd.add_output(torch.ones(2))  ->  TypeError: add_output: a TensorView or a Val is needed, not a Tensor
fd.add_output(fd)  ->  TypeError: add_output: a TensorView or a Val is needed, not a FusionDefinition
fd.add_output(s)  ->  UserError: is a scalar; make a tensor of it with ops.full([], value, dtype
fd.add_output(fd.define_scalar(1.0))  ->  UserError: Non-TensorView outputs are not supported at this point, but 1.0
fd.add_output(x.axis(0))  ->  UserError: Non-TensorView outputs are not supported at this point, but
fd.add_output(other)  ->  UserError: belongs to another fusion; use the values that this one's definition made
fd.add_output(old_x)  ->  TypeError: add_output: a TensorView or a Val is needed, not a Tensor
fd.add_output()  ->  TypeError: FusionDefinition.add_output() missing 1 required positional argument: 'output'
fd.add_output(x, other)  ->  UserError: belongs to another fusion; use the values that this one's definition made
fd.add_output(x, 3)  ->  TypeError: add_output: a TensorView or a Val is needed, not a int
fd.add_output(x, "alias")  ->  TypeError: add_output: a TensorView or a Val is needed, not a str
fd.add_output(x, s)  ->  UserError: is not an input tensor; an output can only reuse the storage of an input
fd.add_output(x, neg_x)  ->  UserError: is not an input tensor; an output can only reuse the storage of an input
fd.add_output(neg_x, alias_input=v)  ->  UserError: whose storage it is to reuse, has 1
fd.add_output(half_x, alias_input=x)  ->  UserError: dtypes __half and float differ
fd.add_output(neg_x, x, x)  ->  TypeError: FusionDefinition.add_output() takes from 2 to 3 positional arguments but 4
fd.add_output(neg_x, alias=x)  ->  TypeError: FusionDefinition.add_output() got an unexpected keyword argument 'alias'
fd.fusion.add_input(x)  ->  UserError: is registered already; an input is added once
fd.fusion.add_input(neg_x)  ->  UserError: is computed by neg; an input is made with define_tensor or define_scalar
fd.fusion.add_input(other)  ->  UserError: belongs to another fusion; use the values that this one's definition made
fd.fusion.add_input(3)  ->  TypeError: add_input: a TensorView or a Val is needed, not a int
fd.fusion.add_output(3)  ->  TypeError: add_output: a TensorView or a Val is needed, not a int
# contexts
undefined().define_tensor([-1])  ->  UserError: define_tensor: the fusion is not being defined; use `with
undefined().define_scalar(1.0)  ->  UserError: define_scalar: the fusion is not being defined; use `with
undefined().define_vector(2)  ->  UserError: define_scalar: the fusion is not being defined; use `with
undefined().add_output(x)  ->  UserError: add_output: the fusion is not being defined; use `with FusionDefinition()
undefined().from_pytorch(torch.ones(2))  ->  UserError: from_pytorch: the fusion is not being defined; use `with
undefined().execute([])  ->  NotImplementedError: Fusion does not exist! Use `with FusionDefinition() as fd: ...` to
undefined().manual_execute([])  ->  NotImplementedError: Fusion does not exist! Use `with FusionDefinition() as fd:
undefined().validate([])  ->  NotImplementedError: Fusion does not exist! Use `with FusionDefinition() as fd: ...` to
undefined().manual_validate([])  ->  NotImplementedError: Fusion does not exist! Use `with FusionDefinition() as fd:
undefined().explain()  ->  AssertionError: explain: execute the fusion first; what is done depends on the inputs
undefined().last_repro_script()  ->  AssertionError: fd.last_repro_script() cannot provide a repro because
undefined().__exit__(None, None, None)  ->  UserError: __exit__: the fusion is not being defined; use `with
enter_twice()  ->  UserError: FusionDefinition: it is being defined already; leave its `with` block first
define_after_the_end()  ->  UserError: define_tensor: the fusion is not being defined; use `with FusionDefinition()
operate_after_the_end()  ->  UserError: belongs to another fusion than the one that is being defined; use the values
add_output_after_the_end()  ->  UserError: add_output: the fusion is not being defined; use `with FusionDefinition()
FusionDefinition(1)  ->  TypeError: FusionDefinition.__init__() takes 1 positional argument but 2 were given
nvf.FusionGuard(None)  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionGuard("x")  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionGuard(fd)  ->  TypeError: __init__(): incompatible function arguments
nvf.Fusion(3)  ->  TypeError: __init__(): incompatible function arguments
nvf.translate_fusion(None)  ->  TypeError: translate_fusion(): incompatible function arguments
nvf.translate_fusion(fd)  ->  TypeError: translate_fusion(): incompatible function arguments
nvf.TensorView()  ->  TypeError: nvfuser._C.direct.TensorView: no constructor defined!
nvf.Val()  ->  TypeError: nvfuser._C.direct.Val: no constructor defined!
nvf.IterDomain()  ->  TypeError: nvfuser._C.direct.IterDomain: no constructor defined!
empty().execute([torch.ones(2)])  ->  NotImplementedError: Fusion is empty!
empty().manual_execute([torch.ones(2)])  ->  NotImplementedError: Fusion is empty!
nvf.DataType.Int128  ->  AttributeError: Int128
nvf.ops.som  ->  AttributeError: module 'nvfuser._C.direct.ops' has no attribute 'som'
nvf.schedule.som  ->  AttributeError: module 'nvfuser._C.direct.schedule' has no attribute 'som'
nvf.DataType(99)  ->  ValueError: 99 is not a valid DataType
fd.define_tensor([-1] * 2000)  ->  UserError: define_tensor: a tensor of 2000 axes was asked for, but there are at
add_no_input()  ->  UserError: is registered already; an input is added once
fd.from_pytorch(torch.ones(2, dtype=torch.uint16))  ->  KeyError: there is no DataType for torch.uint16; there are
nvf.LruFusionCache(2)(empty)()  ->  NotImplementedError: Fusion is empty!
# the module nvfuser
nvfuser.Fusion("x")  ->  TypeError: __new__(): incompatible function arguments
nvfuser.Fusion(-1)  ->  UserError: Fusion: there is no fusion with id -1; known ids are 0 to {id}
nvfuser.Fusion(10**9)  ->  UserError: Fusion: there is no fusion with id 1000000000; known ids are 0 to {id}
nvfuser.Fusion(1.5)  ->  TypeError: __new__(): incompatible function arguments
nvfuser.Fusion(None)  ->  TypeError: __new__(): incompatible function arguments
nvfuser.Fusion(0, 1)  ->  TypeError: __new__(): incompatible function arguments
nvfuser.Fusion().execute([])  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to
nvfuser.Fusion().id()  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to define
nvfuser.Fusion().definition()  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:`
nvfuser.Fusion().print()  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to
nvfuser.Fusion().kernels()  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to
nvfuser.Fusion().explain()  ->  UserError: the fusion is not defined; use `with FusionDefinition(fusion) as fd:` to
defined_old().explain(html="/nowhere/page.html")  ->  FileNotFoundError: No such file or directory:
nvfuser.FusionDefinition(10**9)  ->  UserError: Fusion: there is no fusion with id 1000000000; known ids are 0 to {id}
nvfuser.FusionDefinition(id=-1)  ->  UserError: Fusion: there is no fusion with id -1; known ids are 0 to {id}
nvfuser.FusionDefinition(nvfuser.Fusion(), id=0)  ->  TypeError: FusionDefinition: takes a Fusion or an id, not both
nvfuser.FusionDefinition("x")  ->  TypeError: FusionDefinition: takes nothing, a nvfuser.Fusion to define, or the id of
nvfuser.FusionDefinition(fd)  ->  TypeError: FusionDefinition: takes nothing, a nvfuser.Fusion to define, or the id of
nvfuser.FusionDefinition(nvf.Fusion())  ->  TypeError: FusionDefinition: takes nothing, a nvfuser.Fusion to define, or
nvfuser.FusionDefinition(nvfuser.Fusion()).define_tensor(1)  ->  UserError: the fusion is not being defined; use
nvfuser.FusionDefinition(nvfuser.Fusion()).define_scalar()  ->  UserError: the fusion is not being defined; use `with
nvfuser.FusionDefinition(nvfuser.Fusion()).define_constant(1)  ->  UserError: the fusion is not being defined; use
nvfuser.FusionDefinition(nvfuser.Fusion()).add_output(old_x)  ->  UserError: the fusion is not being defined; use
nvfuser.FusionDefinition(nvfuser.Fusion()).ops.neg(old_x)  ->  UserError: the fusion is not being defined; use `with
nvfuser.FusionDefinition(old_fusion).__enter__()  ->  UserError: FusionDefinition: the fusion is being defined already
nvfuser.FusionDefinition(ran).__enter__()  ->  UserError: FusionDefinition: fusion {id} is defined already; make a new
old_without_outputs().execute([torch.ones(2)])  ->  UserError: execute: fusion {id} has no outputs; name them with
old.define_tensor(-1)  ->  TypeError: define_tensor: a tensor cannot have -1 axes
old.define_tensor(2.5)  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor("two")  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor()  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor(2, "Float")  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor(2, torch.float32)  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor(2, DataType.Null)  ->  TypeError: define_tensor needs a dtype other than Null
old.define_tensor(2, DataType.Float4_e2m1fn)  ->  NotImplementedError: DataType.Float4_e2m1fn: block-scaled formats
old.define_tensor(symbolic_sizes=[-1, -1], contiguous=[True])  ->  UserError: define_tensor: symbolic_sizes has 2
old.define_tensor(symbolic_sizes=[-1, -2], contiguous=[True, True])  ->  UserError: define_tensor: the size -2 of
old.define_tensor(symbolic_sizes=[-1, "a"], contiguous=[True, True])  ->  TypeError: define_tensor(): incompatible
old.define_tensor(symbolic_sizes=[-1])  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor(symbolic_sizes=-1, contiguous=True)  ->  TypeError: define_tensor(): incompatible function arguments
old.define_tensor(sizes=[2, 3], strides=[1])  ->  UserError: define_tensor: sizes has 2 entries, but strides has 1
old.define_tensor(sizes=[2, 3], strides=[-3, 1])  ->  UserError: define_tensor: axis 0 has size 2 and stride -3;
old.define_tensor(sizes=[2, 3], contiguous=[True, True])  ->  TypeError: define_tensor(): incompatible function
old.define_tensor(sizes=[2, -3], strides=[3, 1])  ->  UserError: define_tensor: axis 1 has size -3 and stride 1;
old.define_scalar("Int")  ->  TypeError: define_scalar: a constant is a bool, an int, a float or a complex, not a str
old.define_scalar(DataType.Null)  ->  TypeError: define_scalar needs a dtype other than Null
old.define_constant("x")  ->  TypeError: define_constant: a constant is a bool, an int, a float or a complex, not a
old.define_constant(None)  ->  TypeError: define_constant(): incompatible function arguments
old.define_constant([1.0])  ->  TypeError: define_constant: a constant is a bool, an int, a float or a complex, not a
old.define_constant(2**70)  ->  UserError: define_constant: 1180591620717411303424 is an integer beyond 64 bits; pass
old.define_constant()  ->  TypeError: FusionDefinition.define_constant() missing 1 required positional argument
old.define_constant(old_x)  ->  TypeError: define_constant: a constant is a bool, an int, a float or a complex, not a
old.define_constant(numpy.ones(2))  ->  TypeError: define_constant: a constant is a bool, an int, a float or a
old.add_output(3)  ->  TypeError: add_output: an output is a tensor or a scalar of the fusion
old.add_output(None)  ->  TypeError: add_output(): incompatible function arguments
old.add_output("x")  ->  TypeError: add_output: a str is no argument of operations; they take tensors and scalars of
old.add_output(x)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that
old.add_output(old_other)  ->  UserError: belongs to another fusion than the one that is being defined; use the
old.add_output()  ->  TypeError: FusionDefinition.add_output() missing 1 required positional argument: 'output'
old.add_output(old_x, 3)  ->  TypeError: add_output: an input is updated by a Tensor, not a int
old.ops.som(old_x)  ->  AttributeError: Operators' object has no attribute 'som'
old.ops.neg()  ->  TypeError: neg: argument arg (Tensor | Scalar | number) is missing
old.ops.neg(old_x, old_x)  ->  TypeError: neg: takes at most 1 arguments (arg) but more were given
old.ops.neg("x")  ->  TypeError: neg: a str is no argument of operations; they take tensors and scalars of the
old.ops.neg(torch.ones(2))  ->  TypeError: neg: a Tensor is no argument of operations; they take tensors and scalars
old.ops.neg(x)  ->  UserError: belongs to another fusion than the one that is being defined; use the values that this
old.ops.neg(old_other)  ->  UserError: belongs to another fusion than the one that is being defined; use the values
old.ops.add(old_x)  ->  TypeError: add: argument rhs (Tensor | Scalar | number) is missing
old.ops.add(old_x, [1.0])  ->  TypeError: add: argument rhs must be a tensor, a scalar or a number, not a list
old.ops.sum(2.0)  ->  TypeError: sum: argument arg must be a tensor, not the number 2
old.ops.sum(old_x, "axes")  ->  TypeError: sum: a str is no argument of operations; they take tensors and scalars of
old.ops.sum(old_x, axs=1)  ->  TypeError: sum: there is no parameter "axs"; there are arg, axes, keepdim, dtype
old.ops.sum(old_x, 5)  ->  UserError: sum: Tried to access out of boundary index 5. total index: 2 axes in
old.ops.sum(old_x, [0, 0])  ->  UserError: sum: axis 0 is given twice; name each axis once
old.ops.sum(old_x, [])  ->  UserError: No reduction axis specified: the list of axes is empty; leave it out for all
old.ops.sum(old_x, arg=old_x)  ->  TypeError: sum: argument arg was given twice
old.ops.sum(old_x, [0], False, 3)  ->  TypeError: sum: argument dtype must be a DataType, not the integer 3
old.ops.cast(old_x, "Half")  ->  TypeError: cast: a str is no argument of operations; they take tensors and scalars
old.ops.cast(old_x)  ->  TypeError: cast: argument dtype (DataType) is missing
old.ops.cast(old_x, DataType.Null)  ->  UserError: cast: the data type to cast to is missing
old.ops.bitwise_and(old_x, old_x)  ->  UserError: bitwise_and: Integer or boolean input is required for bitwise_and
ran.execute()  ->  TypeError: execute(): incompatible function arguments
ran.execute(None)  ->  TypeError: execute(): incompatible function arguments
ran.execute(3)  ->  TypeError: execute(): incompatible function arguments
ran.execute("xy")  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a str
ran.execute(torch.ones(2))  ->  TypeError: execute(): incompatible function arguments
ran.execute({"a": 1})  ->  TypeError: execute(): incompatible function arguments
ran.execute([])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The fusion has 1
ran.execute([torch.ones(2)] * 2)  ->  UserError: KernelArgumentHolder contains more arguments than kernel's input.
ran.execute([1.0])  ->  UserError: to be an at::Tensor but got scalar 1.0
ran.execute(["x"])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a str
ran.execute([None])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a NoneType
ran.execute([object()])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a
ran.execute([torch.ones(2).half()])  ->  UserError: to be bound to a tensor of dtype float, but got a tensor of dtype
ran.execute([torch.ones(2, 2)])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 2
ran.execute([torch.ones(())])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 0
ran.execute([torch.empty(2, device="meta")])  ->  UserError: execute: input 0 cannot be read: Cannot pack tensors on
ran.execute([sparse])  ->  UserError: execute: input 0 cannot be read: its layout is torch.sparse_coo, which has
ran.execute([2**70])  ->  UserError: execute: input 0 is an integer beyond 64 bits; pass one between -2^63 and 2^63 -
ran.execute([[]])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The fusion has 1
nvfuser.FusionDefinition(nvfuser.Fusion()).__exit__(None, None, None)  ->  UserError: the fusion is not being
old.define_tensor(5000)  ->  UserError: define_tensor: a tensor of 5000 axes was asked for, but there are at most
old.define_scalar(DataType.Float4_e2m1fn)  ->  NotImplementedError: DataType.Float4_e2m1fn: block-scaled formats need
old.define_scalar(DataType.Index)  ->  TypeError: define_scalar needs a dtype other than Index
old.define_tensor(2, DataType.Index)  ->  TypeError: define_tensor needs a dtype other than Index
defined_old().explain(html=3)  ->  TypeError: explain: html must be a path, not a int
ran.execute([torch.ones(2).to(torch.complex64)])  ->  UserError: to be bound to a tensor of dtype float, but got a
"""
