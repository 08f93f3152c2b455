import torch
from nvfuser import DataType, FusionDefinition, MemoryType, ParallelType

inputs = [torch.randn(10, 130, device="cuda"), torch.randn(10, 130, device="cuda")]


class Reduction(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.s0 = self.define_scalar(3.0, dtype=DataType.Double)
        self.t2 = self.ops.add(self.t0, self.t1)
        self.t3 = self.ops.mul(self.t2, self.s0)
        self.t4 = self.ops.sum(self.t3, dims=[-1], keepdim=False, dtype=DataType.Float)
        self.add_output(self.t4)

    def schedule(self):
        cache_after_t0 = self.sched.cache_after(self.t0)
        self.sched.set_memory_type(cache_after_t0, MemoryType.shared)
        self.sched.cache_before(self.t4)
        reduction_tvs = list(filter(self.sched.is_reduction, self.sched.tensors()))
        assert len(reduction_tvs) == 1
        self.sched.split(reduction_tvs[0], dim=-1, factor=32)
        rfactor_tvs = [self.sched.rfactor(tv, dims=[-1]) for tv in reduction_tvs]
        self.sched.transform_like(rfactor_tvs[0])
        self.sched.parallelize(rfactor_tvs[0], axis=0, parallel_type=ParallelType.grid_x)
        self.sched.parallelize(rfactor_tvs[0], axis=1, parallel_type=ParallelType.block_x)
        self.sched.parallelize_like(rfactor_tvs[0])
        self.sched.inline_most()


fd = Reduction()
outputs = fd.execute(inputs)
