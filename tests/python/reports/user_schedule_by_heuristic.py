import torch
from nvfuser import FusionDefinition, SchedulerType

inputs = [torch.randn(64, 33, device="cuda"), torch.randn(64, 33, device="cuda")]


class Pointwise(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.from_pytorch(inputs[1])
        self.t2 = self.ops.add(self.t0, self.t1)
        self.t3 = self.ops.exp(self.t2)
        self.add_output(self.t3)

    def schedule(self):
        can_schedule, why = self.sched.can_schedule(SchedulerType.pointwise)
        assert can_schedule, why
        refused, why = self.sched.can_schedule(SchedulerType.reduction)
        assert not refused and why
        assert SchedulerType.pointwise in self.sched.find_compatible_schedulers()
        schedule_params = self.sched.compute_pointwise_heuristics()
        schedule_params.vectorization_factor = 1
        self.sched.schedule()


fd = Pointwise()
outputs = fd.execute(inputs)
