"""Bad arguments of compiled fusions, bad uses of executors and caches. test_bad_uses.py says how to read it."""

USES = r"""
# inputs
neg.execute()  ->  TypeError: FusionDefinition.execute() missing 1 required positional argument: 'inputs'
neg.execute(3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
neg.execute("xy")  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a str
neg.execute(None)  ->  TypeError: execute(): incompatible function arguments
neg.execute({"a": 1})  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a dict
neg.execute({1})  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a set
neg.execute(torch.ones(2))  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a Tensor
neg.execute(numpy.ones(2, dtype=numpy.float32))  ->  TypeError: execute: inputs must be a list of tensors and
neg.execute([])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The fusion has 1
neg.execute([torch.ones(2), 1.0])  ->  UserError: KernelArgumentHolder contains more arguments than kernel's input.
neg.execute([1.0])  ->  UserError: to be an at::Tensor but got scalar 1.0
neg.execute([True])  ->  UserError: to be an at::Tensor but got scalar true
neg.execute(["x"])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a str
neg.execute([None])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a NoneType
neg.execute([object()])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a
neg.execute([b"ab"])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a bytes
neg.execute([torch.float32])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a
neg.execute([lambda: 1])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a
neg.execute([{"a": 1}])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number, but a dict
neg.execute([[[torch.ones(2)]]])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number,
neg.execute([torch.ones(2, dtype=torch.float64)])  ->  UserError: to be bound to a tensor of dtype float, but got a
neg.execute([torch.ones(2, dtype=torch.half)])  ->  UserError: to be bound to a tensor of dtype float, but got a
neg.execute([torch.ones(2, dtype=torch.int64)])  ->  UserError: to be bound to a tensor of dtype float, but got a
neg.execute([torch.ones(2, dtype=torch.complex64)])  ->  UserError: to be bound to a tensor of dtype float, but got a
neg.execute([torch.ones(2, 2)])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 2
neg.execute([torch.ones(())])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 0
neg.execute([torch.ones(6)[::2]])  ->  UserError: is declared contiguous and needs stride 1, but has 2
neg.execute([torch.ones(1).expand(4)])  ->  UserError: is declared contiguous and needs stride 1, but has 0
neg.execute([torch.empty(2, device="meta")])  ->  UserError: execute: input 0 cannot be read: Cannot pack tensors on
neg.execute([sparse])  ->  UserError: execute: input 0 cannot be read: its layout is torch.sparse_coo, which has
neg.execute([fake])  ->  UserError: execute: input 0 is a FakeTensor, a torch.Tensor whose operations are its own and
neg.execute([quantized])  ->  UserError: execute: input 0 cannot be read: QUInt/QInt types are not supported by dlpack
neg.execute([numpy.ones(2)])  ->  UserError: to be bound to a tensor of dtype float, but got a tensor of dtype double
neg.execute([numpy.ones(2, dtype="U1")])  ->  UserError: execute: input 0, a ndarray, cannot be read: DLPack only
neg.execute([numpy.array(["a", None], dtype=object)])  ->  UserError: execute: input 0, a ndarray, cannot be read:
neg.execute([numpy.ones(2, dtype="datetime64[s]")])  ->  UserError: execute: input 0, a ndarray, cannot be read:
neg.execute([numpy.ones(2, dtype=">f4")])  ->  UserError: execute: input 0, a ndarray, cannot be read: DLPack only
neg.execute([numpy.ones(4, dtype=numpy.float32)[::-1]])  ->  UserError: is declared contiguous and needs stride 1,
neg.execute([2**70])  ->  UserError: execute: input 0 is an integer beyond 64 bits; pass one between -2^63 and 2^63 -
neg.execute([BrokenDlpack()])  ->  UserError: execute: input 0, a BrokenDlpack, cannot be read: PyCapsule_GetPointer
neg.execute([WrongDlpack()])  ->  UserError: execute: input 0, a WrongDlpack, cannot be read: its __dlpack_device__
neg.execute([RaisingDlpack()])  ->  UserError: execute: input 0, a RaisingDlpack, cannot be read: this tensor is not
neg.execute([torch.ones(2)], device="moon")  ->  UserError: execute: there is no device "moon"; devices are "cpu",
neg.execute([torch.ones(2)], device=250)  ->  UserError: execute: CUDA device 250 cannot be used: no CUDA driver:
neg.execute([torch.ones(2)], device=-1)  ->  UserError: execute: CUDA device -1 cannot be used: there is no such
neg.execute([torch.ones(2)], device=1.5)  ->  UserError: execute: there is no device "1.5"; devices are "cpu",
neg.execute([torch.ones(2)], device=[0])  ->  UserError: execute: there is no device "[0]"; devices are "cpu",
neg.execute([torch.ones(2)], device=torch.device("meta"))  ->  UserError: execute: there is no device "meta"; devices
neg.execute([torch.ones(2)], _enable_options=["nonsense"])  ->  UserError: Unrecognized enable_option: nonsense;
neg.execute([torch.ones(2)], _disable_options=["nonsense"])  ->  UserError: Unrecognized disable_option: nonsense;
neg.execute([torch.ones(2)], _enable_options="fuse_matmul")  ->  UserError: Unrecognized enable_option: f;
neg.execute([torch.ones(2)], _enable_options=[1])  ->  TypeError: execute(): incompatible function arguments
neg.execute([torch.ones(2)], profile=True)  ->  TypeError: FusionDefinition.execute() got an unexpected keyword
neg.execute([torch.ones(2)], None)  ->  TypeError: FusionDefinition.execute() takes 2 positional arguments but 3 were
neg.fec.execute([torch.ones(2)], device="moon")  ->  UserError: execute: there is no device "moon"; devices are
scaled.execute([torch.ones(2), "2"])  ->  TypeError: execute: input 1 is neither a tensor with __dlpack__ nor a
scaled.execute([torch.ones(2), None])  ->  TypeError: execute: input 1 is neither a tensor with __dlpack__ nor a
scaled.execute([torch.ones(2), 1j])  ->  UserError: Scalar value (0,1) is not compatible with the expected data type:
scaled.execute([torch.ones(2), torch.ones(2)])  ->  UserError: to be a scalar but got float tensor of rank 1
scaled.execute([torch.ones(2), torch.ones(())])  ->  UserError: to be a scalar but got float tensor of rank 0
scaled.execute([torch.ones(2), 2**64])  ->  UserError: execute: input 1 is an integer beyond 64 bits; pass one
scaled.execute([torch.ones(2)])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The
scaled.execute([2.0, torch.ones(2)])  ->  UserError: to be an at::Tensor but got scalar 2.0
counted.execute([1.5])  ->  UserError: Scalar value 1.5 is not compatible with the expected data type: int64_t.
counted.execute([-1])  ->  UserError: would have -1 elements; a size must not be negative, so check the scalars and
counted.execute([2**62])  ->  UserError: of sizes [4611686018427387904] has more bytes than 2^63 - 1, which no index
counted.execute([1j])  ->  UserError: Scalar value (0,1) is not compatible with the expected data type: int64_t.
counted.execute([float("nan")])  ->  UserError: Scalar value nan is not compatible with the expected data type:
counted.execute([True, True])  ->  UserError: KernelArgumentHolder contains more arguments than kernel's input. The
pair.execute([torch.ones(2), torch.ones(3)])  ->  UserError: which evaluated to 3) as 2: the inputs' sizes do not
pair.execute([torch.ones(2), numpy.ones(2, dtype=numpy.float32)])  ->  UserError: execute: input 1 is a tensor of
pair.execute([numpy.ones(2, dtype=numpy.float32), torch.ones(2)])  ->  UserError: execute: input 1 is a tensor of
pair.execute([torch.ones(2), torch.empty(2, device="meta")])  ->  UserError: execute: input 1 cannot be read: Cannot
pair.execute([torch.ones(2), Foreign()])  ->  UserError: execute: input 1 is a tensor of bad_use_world, but those
fixed.execute([torch.ones(2, 4)])  ->  UserError: Tried to bind to a constant value: 3 as 4
fixed.execute([torch.ones(3, 2)])  ->  UserError: Tried to bind to a constant value: 2 as 3
fixed.execute([torch.ones(3, 3).t()[:2]])  ->  UserError: is declared contiguous and needs stride 1, but has 3
strided.execute([torch.ones(4, 4).t()])  ->  UserError: is declared contiguous and needs stride 1, but has 4
expanded.execute([torch.ones(3)])  ->  UserError: Tried to bind to a constant value: 4 as 3
expanded.execute([torch.ones(4)])  ->  UserError: but found stride 1; an expanded dimension has stride 0
reshaped.execute([torch.ones(5)])  ->  UserError: [5] of T0 to [2, 3] gives 6 elements, but there are 5; pass
divided.execute([4, 0])  ->  UserError: is 0; pass sizes and scalars that divide
updated.execute([read_only])  ->  UserError: execute: the fusion writes to input 0, but it is read-only
indexed.execute([torch.ones(3), torch.tensor([0.0])])  ->  UserError: to be bound to a tensor of dtype int64_t, but
indexed.execute([torch.ones(3), torch.tensor([0, 3])])  ->  IndexRangeError: index_select: index 3 is out of range for
indexed.execute([torch.ones(3), torch.tensor([-1])])  ->  IndexRangeError: index_select: index -1 is out of range for
indexed.execute([numpy.float32([1, 2, 3]), numpy.array([3])])  ->  IndexRangeError: index_select: index 3 is out of
gathered.execute([torch.ones(3), torch.tensor([1, 3])])  ->  IndexRangeError: gather: index 3 is out of range for
gathered.execute([torch.ones(3), torch.tensor([-4, 1])])  ->  IndexRangeError: gather: index -4 is out of range for
taken.execute([torch.ones(3), torch.tensor([0, 2, 5])])  ->  IndexRangeError: index 5 is out of range for
selected.execute([torch.ones(3, 2), 3])  ->  IndexRangeError: select: index 3 is out of range for
selected.execute([torch.ones(3, 2), -4])  ->  IndexRangeError: is out of range for
embedded.execute([torch.ones(3, 2), torch.tensor([0, 7])])  ->  IndexRangeError: index 7 is out of range for
scattered.execute([torch.ones(3), torch.tensor([0, 3, 1])])  ->  IndexRangeError: scatter: index 3 is out of range for
products.execute([torch.ones(2, 3), torch.ones(4, 2)])  ->  UserError: axis 1 of T0 has size 3 and axis 0 of T1 has
topped.execute([torch.ones(3), 5])  ->  UserError: dim = 0, largest ); it lies between 0 and that
topped.execute([torch.ones(3), -1])  ->  UserError: would have -1 elements; a size must not be negative, so check the
half_out.execute([numpy.ones(2, dtype=numpy.float32)])  ->  UserError: execute: an output has dtype __bfloat, which
neg.explain(inputs=[torch.ones(2, 2)], html="/nowhere/x")  ->  UserError: to be bound to a tensor of rank 1, but got
neg.explain(html="/nowhere/page.html")  ->  FileNotFoundError: No such file or directory:
neg.explain(html=3)  ->  TypeError: explain: html must be a path, not a int
neg.last_repro_script()  ->  AssertionError: fd.last_repro_script() cannot provide a repro because fd.execute(inputs,
neg.repro_script_for(3)  ->  TypeError: repro_script_for: inputs must be a list of tensors and numbers, not a int
neg.validate([torch.ones(2)], [torch.ones(2)])  ->  AssertionError: output 0: Tensor-likes are not close!
neg.validate([torch.ones(2)], [])  ->  AssertionError: validate: 1 outputs, but 0 reference outputs
neg.validate([torch.ones(2)], [torch.ones(3)])  ->  AssertionError: output 0: The values for attribute 'shape' do not
neg.validate([torch.ones(2)], [torch.ones(2).double()])  ->  AssertionError: output 0: The values for attribute
neg.validate([torch.ones(2)], 3)  ->  TypeError: validate: reference_outputs must be a list of tensors, not a int
neg.validate(3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
neg.manual_execute([torch.ones(2)])  ->  AssertionError: FusionExecutorCache already exists! Use execute() to execute
by_hand().execute([torch.ones(2, 2)])  ->  AssertionError: KernelExecutor already exists! Use manual_execute() to
nvf.validate_with_auto_inferred_outputs(neg.fusion, [torch.ones(2)], [torch.ones(2)])  ->  UserError: is wrong in 2 of
nvf.validate_with_auto_inferred_outputs(neg.fusion, [], [torch.ones(2)])  ->  UserError: the fusion has 1 outputs,
nvf.validate_with_auto_inferred_outputs(neg.fusion, [torch.ones(2)], [])  ->  UserError: KernelArgumentHolder
nvf.validate_with_auto_inferred_outputs(None, [], [])  ->  TypeError: validate_with_auto_inferred_outputs():
nvf.get_val_tolerances(neg.fusion, [])  ->  UserError: KernelArgumentHolder contains less argument than kernel's
nvf.get_val_tolerances(neg, [torch.ones(2)])  ->  TypeError: get_val_tolerances(): incompatible function arguments
# executors and caches
nvf.FusionExecutorCache()  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionExecutorCache(None)  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionExecutorCache(neg)  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionExecutorCache(neg.fusion, "id")  ->  TypeError: __init__(): incompatible function arguments
nvf.FusionExecutorCache(neg.fusion).get_most_recent_scheduled_ir()  ->  UserError: get_most_recent_scheduled_ir:
nvf.FusionExecutorCache(neg.fusion).explain()  ->  UserError: explain: the fusion was not executed yet; what is done
nvf.FusionExecutorCache(neg.fusion).describe()  ->  UserError: describe: nothing has run yet; run the fusion first,
neg.fec.describe([torch.ones(2, 2)])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 2
neg.fec.is_compiled(3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
neg.fec.get_cuda_kernel([])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The
neg.fec.get_cuda_kernel([torch.ones(2, 2)])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of
neg.fec.get_scheduled_ir(["x"])  ->  TypeError: execute: input 0 is neither a tensor with __dlpack__ nor a number,
nvf.KernelExecutor("x")  ->  TypeError: __init__(): incompatible function arguments
nvf.KernelExecutor().run([torch.ones(2)])  ->  UserError: KernelExecutor: run: there is no kernel yet; call compile
nvf.KernelExecutor().compile(None)  ->  TypeError: compile(): incompatible function arguments
nvf.KernelExecutor().compile(fd)  ->  TypeError: compile(): incompatible function arguments
nvf.KernelExecutor().compile(product_fusion())  ->  UserError: KernelExecutor does not support the Fusion provided.
nvf.KernelExecutor().compile(neg.fusion, [torch.ones(2)], "launch")  ->  TypeError: compile(): incompatible function
nvf.KernelExecutor().compile(neg.fusion, [], None, None, "pointwise")  ->  TypeError: incompatible function arguments
compiled().run([])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The fusion has 1
compiled().run([torch.ones(2, 2)])  ->  UserError: to be bound to a tensor of rank 1, but got a tensor of rank 2
compiled().run([torch.ones(2).double()])  ->  UserError: to be bound to a tensor of dtype float, but got a tensor of
compiled().run([torch.ones(2)], "launch")  ->  TypeError: run(): incompatible function arguments
nvf.LRUCache()  ->  TypeError: __init__(): incompatible function arguments
nvf.LRUCache(0)  ->  UserError: LRUCache: max_fusions must be greater than 0, got 0
nvf.LRUCache(-1)  ->  UserError: LRUCache: max_fusions must be greater than 0, got -1
nvf.LRUCache("x")  ->  TypeError: __init__(): incompatible function arguments
nvf.LRUCache(1.5)  ->  TypeError: __init__(): incompatible function arguments
nvf.LRUCache(2).cache_compile(None)  ->  TypeError: cache_compile(): incompatible function arguments
nvf.LRUCache(2).cache_compile(neg)  ->  TypeError: cache_compile(): incompatible function arguments
nvf.LruFusionCache(0)  ->  UserError: LRUCache: max_fusions must be greater than 0, got 0
nvf.LruFusionCache()(lambda: 3)()  ->  TypeError: LruFusionCache: <lambda> gives a int, not a FusionDefinition
nvf.LruFusionCache()(lambda: None)()  ->  TypeError: LruFusionCache: <lambda> gives a NoneType, not a FusionDefinition
nvf.PythonProfiler().profile  ->  RuntimeError: PythonProfiler: no fusion was executed in the block
profile_nothing()  ->  RuntimeError: PythonProfiler: no fusion was executed in the block
nvf.get_fusion_profile() if forget_profiles() else None  ->  RuntimeError: get_fusion_profile: there is none; execute
nvf.CompileParams(index_type="int")  ->  TypeError: __init__(): incompatible function arguments
nvf.CompileParams(index_type=DataType.Float)  ->  UserError: CompileParams: index_type must be DataType.Int or
nvf.CompileParams(maxrregcount="many")  ->  TypeError: __init__(): incompatible function arguments
nvf.CompileParams(device="moon")  ->  UserError: CompileParams: there is no device "moon"; devices are "cpu",
nvf.CompileParams(1)  ->  TypeError: __init__(): incompatible function arguments
setattr(nvf.CompileParams(), "index_type", DataType.Double)  ->  UserError: CompileParams: index_type must be
setattr(nvf.LaunchParams(), "bdimx", "x")  ->  TypeError: (): incompatible function arguments
setattr(nvf.LaunchParams(), "bdimw", 1)  ->  AttributeError: LaunchParams' object has no attribute 'bdimw'
setattr(nvf.PointwiseParams(), "vectorization_factor", "wide")  ->  TypeError: (): incompatible function arguments
# what is not there
nvf.multidevice.DeviceMesh([])  ->  UserError: DeviceMesh: a mesh has at least one device
nvf.multidevice.DeviceMesh([0, 0])  ->  UserError: DeviceMesh: device 0 is there twice
nvf.multidevice.DeviceMesh([0, 1], [3])  ->  UserError: DeviceMesh: 2 devices do not fill a mesh of sizes [3]
nvf.multidevice.Sharding()  ->  TypeError: missing 1 required positional argument: 'tensor'
nvf.multidevice.MultiDeviceExecutor(neg.fusion, None)  ->  RuntimeError: Communicator: torch.distributed is not
nvf.multidevice.Communicator.instance()  ->  RuntimeError: Communicator: torch.distributed is not initialised; call
nvf.multidevice.thread_communicators(0)  ->  UserError: threadCommunicators: there is at least one device, got 0
nvf.multidevice.shard_tensor(torch.ones(2), x)  ->  RuntimeError: Communicator: torch.distributed is not initialised;
nvf.execute_with_dtensors(neg, [])  ->  ValueError: execute_with_dtensors: DTensors of one device mesh are needed
nvf.nvf_cutlass.grouped_mm()  ->  NotImplementedError: nvf_cutlass.grouped_mm: kernels for Blackwell GPUs (sm_100)
nvf.nvf_cutlass.nvfp4_scaled_mm(torch.ones(2))  ->  NotImplementedError: nvf_cutlass.nvfp4_scaled_mm: kernels for
nvf.nvf_cutlass.mxfp8_scaled_mm()  ->  NotImplementedError: nvf_cutlass.mxfp8_scaled_mm: kernels for Blackwell GPUs
pytorch_utils.torch_dtype_to_nvfuser_dtype(torch.uint8)  ->  KeyError: there is no DataType for torch.uint8; there
pytorch_utils.torch_dtype_to_nvfuser_dtype("float")  ->  KeyError: there is no DataType for float; there are those
pytorch_utils.python_scalar_to_nvfuser_dtype("x")  ->  KeyError: there is no DataType for <class 'str'>; there are
pytorch_utils.python_scalar_to_nvfuser_dtype(None)  ->  KeyError: there is no DataType for <class 'NoneType'>; there
updated.execute([torch.ones(1).expand(3)])  ->  UserError: is declared contiguous and needs stride 1, but has 0
nvf.HeuristicParams()  ->  TypeError: nvfuser._C.direct.HeuristicParams: no constructor defined!
neg.fec.get_cuda_kernel(3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
neg.fec.execute()  ->  TypeError: execute(): incompatible function arguments
compiled().run(3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
compiled().compile(neg.fusion, 3)  ->  TypeError: execute: inputs must be a list of tensors and numbers, not a int
neg.execute([torch.ones(2)], save_repro_inputs=True, device="tpu")  ->  UserError: execute: there is no device "tpu";
scaled.validate([torch.ones(2)])  ->  UserError: KernelArgumentHolder contains less argument than kernel's input. The
pair.repro_script_for(torch.ones(2))  ->  TypeError: repro_script_for: inputs must be a list of tensors and numbers,
"""
