"""Bad schedules. test_bad_uses.py says how to read it."""

USES = r"""
# transforms (tv: T1 of [i0, i1], loops [i0, i1]; total: its sum over axis 1)
tv.split(2, 4)  ->  UserError: split: axis 2 is outside the loop domain of
tv.split(-3, 4)  ->  UserError: split: axis -3 is outside the loop domain of
tv.split(0, 0)  ->  UserError: split: factor must be positive, got 0 for axis 0
tv.split(0, -2)  ->  UserError: split: factor must be positive, got -2 for axis 0
tv.split(0, 2.5)  ->  TypeError: split(): incompatible function arguments
tv.split(0, "4")  ->  TypeError: split(): incompatible function arguments
tv.split("a", 4)  ->  TypeError: split(): incompatible function arguments
tv.split(0)  ->  TypeError: split(): incompatible function arguments
tv.split(0, 4, "inner")  ->  TypeError: split(): incompatible function arguments
tv.split(0, x)  ->  TypeError: split(): incompatible function arguments
tv.split(0, 2**70)  ->  TypeError: split(): incompatible function arguments
tv.inner_split(5, 2)  ->  UserError: split: axis 5 is outside the loop domain of
tv.inner_split(0, 0)  ->  UserError: split: factor must be positive, got 0 for axis 0
tv.outer_split(5, 2)  ->  UserError: split: axis 5 is outside the loop domain of
tv.outer_split(0, 0)  ->  UserError: split: factor must be positive, got 0 for axis 0
tv.merge(0, 2)  ->  UserError: merge: axis 2 is outside the loop domain of
tv.merge(2)  ->  UserError: merge: axis 2 is outside the loop domain of
tv.merge(0, 0)  ->  UserError: cannot be merged with itself
tv.merge("a", 1)  ->  TypeError: merge(): incompatible function arguments
tv.merge(1)  ->  UserError: merge: axis 2 is outside the loop domain of
total.merge(0, 1)  ->  UserError: is no reduction but axis 1
tv.reorder({0: 2})  ->  UserError: reorder: axis 2 is outside the loop domain of
tv.reorder({2: 0})  ->  UserError: reorder: axis 2 is outside the loop domain of
tv.reorder({0: 1, 1: 1})  ->  UserError: are both moved to position 1
tv.reorder({"a": 0})  ->  TypeError: reorder(): incompatible function arguments
tv.reorder([1, 0])  ->  TypeError: reorder(): incompatible function arguments
tv.reorder(3)  ->  TypeError: reorder(): incompatible function arguments
tv.swizzle(0, 5)  ->  UserError: swizzle: axis 5 is outside the loop domain of
tv.swizzle(0, 0)  ->  UserError: cannot be swizzled with itself
tv.swizzle("a", 1)  ->  TypeError: swizzle(): incompatible function arguments
tv.swizzle1d(0, ParallelType.block_x)  ->  NotImplementedError: swizzle1d: it belongs to schedules over several
tv.axis(2)  ->  UserError: axis: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
tv.axis(-3)  ->  UserError: axis: Tried to access out of boundary index -3. total index: 2 axes (valid: -2 to 1
tv.axis("a")  ->  TypeError: axis(): incompatible function arguments
tv.axis(0).parallelize("threadIdx.x")  ->  TypeError: parallelize(): incompatible function arguments
tv.axis(0).parallelize(None)  ->  TypeError: parallelize(): incompatible function arguments
tv.axis(0).parallelize(ParallelType.stream)  ->  NotImplementedError: ParallelType.stream: loops over streams are not
bound().split(0, 4)  ->  UserError: is bound to threadIdx.x already
bound().merge(0, 1)  ->  UserError: is bound to threadIdx.x already
tv.rfactor([0])  ->  UserError: is computed by exp, which is no reduction
tv.rfactor([])  ->  UserError: is computed by exp, which is no reduction
total.rfactor([])  ->  UserError: rFactor: no axis of
total.rfactor([0])  ->  UserError: rFactor: axis 0
total.rfactor([1])  ->  UserError: were chosen, so nothing is left for the second step
total.rfactor([5])  ->  UserError: rFactor: axis 5 is outside the loop domain of
total.rfactor("a")  ->  TypeError: rfactor(): incompatible function arguments
total.rfactor([1, 1])  ->  UserError: rFactor: axis 1
tv.cache_before("set")  ->  TypeError: cache_before(): incompatible function arguments
x.cache_before()  ->  UserError: is an input of the Fusion and is not computed
tv.cache_before(nvf.LoadStoreOpType.load_matrix)  ->  NotImplementedError: LoadStoreOpType.load_matrix: fragments of
tv.cache_after("set")  ->  TypeError: cache_after(): incompatible function arguments
tv.cache_after(cached_uses=[3])  ->  TypeError: cache_after: cached_uses is a list of Exprs, of the tensor's uses
tv.set_memory_type("shared")  ->  TypeError: set_memory_type(): incompatible function arguments
tv.set_memory_type(nvf.MemoryType.tensor)  ->  NotImplementedError: MemoryType.tensor: tensor memory needs a
tv.set_memory_type(nvf.MemoryType.symmetric)  ->  NotImplementedError: MemoryType.symmetric: memory shared by several
x.set_memory_type(nvf.MemoryType.shared)  ->  UserError: is an input of the Fusion and stays in Global memory; shared
tv.set_allocation_domain([1], True)  ->  TypeError: set_allocation_domain: a list of IterDomains is needed
tv.set_allocation_domain(tv.get_loop_domain()[:1], True)  ->  UserError: is missing; the list names each of its axes
tv.set_allocation_domain(3, True)  ->  TypeError: set_allocation_domain(): incompatible function arguments
tv.set_allocation_domain(tv.get_loop_domain(), "yes")  ->  TypeError: set_allocation_domain(): incompatible function
tv.set_allocation_domain(x.get_loop_domain(), True)  ->  UserError: take them from its get_loop_domain or
tv.set_device_mesh([0])  ->  TypeError: set_device_mesh(): incompatible function arguments
tv.size(2)  ->  UserError: size: Tried to access out of boundary index 2. total index: 2 axes (valid: -2 to 1
tv.size("a")  ->  TypeError: size(): incompatible function arguments
tv.dtype(1)  ->  TypeError: dtype(): incompatible function arguments
tv.definition().input(3)  ->  IndexError: input: there is no 3; the expression has 1
tv.definition().output(-5)  ->  IndexError: output: there is no -5; the expression has 1
tv.definition().input("a")  ->  TypeError: input(): incompatible function arguments
tv.color  ->  AttributeError: TensorView' object has no attribute 'color'
s.split(0, 2)  ->  AttributeError: Val' object has no attribute 'split'
# on several tensors
sched.transform_like(None)  ->  TypeError: transform_like(): incompatible function arguments
sched.transform_like("x")  ->  TypeError: transform_like(): incompatible function arguments
sched.transform_like(s)  ->  TypeError: transform_like(): incompatible function arguments
sched.transform_like(tv, 3)  ->  TypeError: transform_like(): incompatible function arguments
sched.transform_like(tv, ["x"])  ->  TypeError: transform_like: a list of TensorViews is needed, but it has a str
sched.transform_like(tv, [s])  ->  TypeError: transform_like: a list of TensorViews is needed, but it has a Val
sched.transform_like(tv, [other])  ->  UserError: belongs to another fusion; choose among the tensors of one
sched.parallelize_like("x")  ->  TypeError: parallelize_like(): incompatible function arguments
sched.parallelize_like(tv, 7)  ->  UserError: parallelizeAllLike: position 7 is outside the loop domain of
sched.parallelize_like(tv, "a")  ->  TypeError: parallelize_like(): incompatible function arguments
sched.parallelize_like(tv, -1, [3])  ->  TypeError: parallelize_like: a list of TensorViews is needed, but it has a int
sched.parallelize_like(tv, -1, [], {"x"})  ->  TypeError: parallelize_like(): incompatible function arguments
sched.inline_most(3)  ->  TypeError: inline_most(): incompatible function arguments
sched.inline_most(["x"])  ->  TypeError: inline_most: a list of TensorViews is needed, but it has a str
sched.inline_at(tv, 9)  ->  UserError: inlineAllAt: position 9 is outside the loop domain of
sched.inline_at(tv, -9)  ->  UserError: inlineAllAt: position -9 is outside the loop domain of
sched.inline_at("x", 1)  ->  TypeError: inline_at(): incompatible function arguments
sched.inline_at()  ->  TypeError: inline_at(): incompatible function arguments
sched.bounded_transform_backward(tv, 1)  ->  TypeError: bounded_transform_backward(): incompatible function arguments
sched.bounded_transform_backward(tv, 1, [3])  ->  TypeError: a list of TensorViews is needed, but it has a int
sched.bounded_transform_backward(tv, 9, [x])  ->  UserError: BoundedDirectionalTransformPropagator
sched.warp_specialize(tv, 2, 1, ParallelType.grid_x)  ->  UserError: circularBuffer:
sched.warp_specialize(tv, 2, 1)  ->  TypeError: warp_specialize(): incompatible function arguments
sched.can_schedule(None, SchedulerType.pointwise, [])  ->  TypeError: can_schedule(): incompatible function arguments
sched.can_schedule(neg.fusion, "pointwise", [])  ->  TypeError: can_schedule(): incompatible function arguments
sched.can_schedule(neg.fusion, SchedulerType.pointwise, [])  ->  UserError: KernelArgumentHolder contains less
sched.can_schedule(neg.fusion, SchedulerType.pointwise, [torch.ones(2, 2)])  ->  UserError: to be bound to a tensor
sched.find_compatible_schedulers(neg.fusion, 3)  ->  TypeError: execute: inputs must be a list of tensors and
sched.find_compatible_schedulers(neg, [torch.ones(2)])  ->  TypeError: find_compatible_schedulers(): incompatible
sched.compute_heuristics(neg.fusion, SchedulerType.reduction, [torch.ones(2)])  ->  UserError: compute_heuristics:
sched.compute_heuristics(neg.fusion, SchedulerType.matmul, [torch.ones(2)])  ->  UserError: compute_heuristics:
sched.compute_heuristics(neg.fusion, SchedulerType.none, [torch.ones(2)])  ->  UserError: compute_heuristics:
sched.schedule(neg.fusion, SchedulerType.transpose, [torch.ones(2)])  ->  UserError: schedule: scheduler transpose
sched.schedule(neg.fusion, SchedulerType.reduction, pointwise_params())  ->  UserError: schedule: the parameters are
sched.schedule(neg.fusion, SchedulerType.pointwise, "params")  ->  TypeError: execute: inputs must be a list of
# the graph of axes
nvf.idm.IdModel(None)  ->  TypeError: __init__(): incompatible function arguments
nvf.idm.IdModel(neg)  ->  TypeError: __init__(): incompatible function arguments
nvf.idm.IdModel(neg.fusion).maybe_build_graph("exact")  ->  TypeError: maybe_build_graph(): incompatible function
graph().map_vals(3, 4)  ->  TypeError: map_vals: two IterDomains are needed
graph().disjoint_val_sets().strict_are_mapped(x, tv)  ->  TypeError: strict_are_mapped: two IterDomains are needed
graph().disjoint_val_sets().strict_are_mapped()  ->  TypeError: strict_are_mapped(): incompatible function arguments
# schedules that no kernel can carry out
launched(2048)  ->  UserError: run: LaunchParams ask for threadIdx.x of 2048, but the schedule needs 1
launched(-5)  ->  UserError: run: LaunchParams ask for threadIdx.x of -5, but the schedule needs 1
tv.cache_after(cached_uses=["x"])  ->  TypeError: cache_after: cached_uses is a list of Exprs, of the tensor's uses
bound().swizzle(0, 1)  ->  UserError: swizzle: axis 0 (ithreadIdx.x2{
lowered(lambda tv, r: [tv.axis(a).parallelize(block_x) for a in (0, 1)])  ->  UserError: uses threadIdx.x twice, for
lowered(lambda tv, r: tv.axis(0).parallelize(vectorize))  ->  UserError: cannot be vectorized: its
lowered(lambda tv, r: tv.split(1, 3).axis(2).parallelize(vectorize))  ->  UserError: lower: an axis bound to Vectorize
lowered(lambda tv, r: tv.split(1, 64).axis(2).parallelize(vectorize))  ->  UserError: lower: an axis bound to Vectorize
lowered(lambda tv, r: tv.axis(0).parallelize(tma))  ->  UserError: is computed by exp; only a copy
lowered(lambda tv, r: tv.axis(0).parallelize(mma))  ->  UserError: cannot be bound to MMA; device, block,
lowered(lambda tv, r: tv.axis(1).parallelize(block_x))  ->  UserError: is kept in registers, where
lowered(lambda tv, r: (tv.set_memory_type(local), tv.axis(0).parallelize(grid_x)))  ->  UserError: is kept in
lowered(lambda tv, r: (tv.set_memory_type(shared), tv.axis(0).parallelize(grid_x)))  ->  UserError: is kept in shared
lowered(lambda tv, r: r.split(0, 4).axis(1).parallelize(vectorize))  ->  UserError: is bound to Vectorize but is not the
lowered(lambda tv, r: r.axis(1).parallelize(vectorize))  ->  UserError: cannot be vectorized:
lowered(lambda tv, r: (sched.inline_most(), r.split(0, 4)))  ->  UserError: is a loop shared with
lowered(lambda tv, r: (sched.inline_most(), r.axis(0).parallelize(block_x), tv.reorder({0: 1})))  ->  UserError: is a
tv.cache_after(nvf.LoadStoreOpType.cp_async)  ->  UserError: cacheAfter: nothing that leads to an output reads
tv.split(0, factor=4, by=2)  ->  TypeError: split(): incompatible function arguments
total.axis(1).parallelize(ParallelType.unswitch, 3)  ->  TypeError: parallelize(): incompatible function arguments
sched.inline_most([s])  ->  TypeError: inline_most: a list of TensorViews is needed, but it has a Val
sched.transform_like(other, [tv])  ->  UserError: belongs to another fusion; choose among the tensors of one
sched.bounded_transform_backward(total, 1, [other])  ->  UserError: belongs to another fusion; choose among the
sched.parallelize_like(tv, -1, [other])  ->  UserError: belongs to another fusion; choose among the tensors of one
"""
