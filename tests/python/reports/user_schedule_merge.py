import torch
from nvfuser import FusionDefinition

inputs = [torch.randn(4, 4, 4, device="cuda")]


class MyScheduledFusion(FusionDefinition):
    def definition(self):
        self.t0 = self.from_pytorch(inputs[0])
        self.t1 = self.ops.relu(self.t0)
        self.add_output(self.t1)

    def schedule(self):
        self.sched.merge(self.t1, 1)


fd = MyScheduledFusion()
outputs = fd.execute(inputs)
