"""Schedules by hand in the module nvfuser: subclasses of FusionDefinition with definition(self) and schedule(self)."""

import pytest

torch = pytest.importorskip("torch")

import nvfuser  # noqa: E402
from nvfuser import FusionDefinition, LoadStoreOpType, MemoryType, ParallelType, SchedulerType  # noqa: E402
from tested_device import DEVICE  # noqa: E402


def random(*shape):
    return torch.testing.make_tensor(shape, dtype=torch.float32, device=DEVICE, low=-2, high=2)


class Counted(FusionDefinition):
    """Counts how often it is defined and scheduled."""

    def __init__(self, shape=(-1, -1)):
        super().__init__()
        self.shape = list(shape)
        self.definitions = self.schedules = 0

    def definition(self):
        self.definitions += 1
        self.t0 = self.define_tensor(shape=self.shape, contiguity=True)
        self.t1 = self.ops.exp(self.t0)
        self.t2 = self.ops.sum(self.t1, dims=[1])
        self.add_output(self.t2)

    def schedule(self):
        self.schedules += 1


def scheduled(by, *shape):
    """The sums of exponentials, with this schedule. Registers of a GPU hold tensors of known sizes alone."""

    class Sums(Counted):
        def schedule(self):
            self.schedules += 1
            by(self, self.sched)

    return Sums(*[shape] if shape else [])


def check(fd, *shape):
    x = random(*shape)
    (out,) = fd.execute([x])
    torch.testing.assert_close(out, x.exp().sum(1), rtol=1e-4, atol=1e-4)
    return fd


def test_without_a_schedule_the_library_schedules():
    class Defined(FusionDefinition):
        def definition(self):
            self.add_output(self.ops.relu(self.define_tensor(2)))

    fd = Defined()
    x = random(3, 4)
    assert torch.equal(fd.execute([x])[0], x.relu())
    assert fd.id() is not None and torch.equal(fd.execute([x])[0], x.relu())
    assert "relu" in Defined().fusion_ir() and "relu" in Defined().cuda_code_for([x])
    assert "nvfuser_fusion_id" in Defined().repro_script_for([x])


def test_one_schedule_for_each_form_of_the_inputs():
    fd = Counted()
    for shape in ((3, 5), (3, 5), (4, 5), (3, 5)):
        check(fd, *shape)
    assert fd.schedules == 2 and fd.definitions == 3  # one is the fusion's own
    x = random(5, 3).t()
    with pytest.raises(nvfuser.UserError, match="contiguous"):
        fd.execute([x])
    kept = fd.t2
    check(fd, 3, 5)
    assert fd.t2 is kept


def test_numbers_that_are_no_sizes_share_a_schedule():
    class Scaled(Counted):
        def definition(self):
            self.t0 = self.define_tensor(shape=[-1], contiguity=True)
            self.scale, self.shift = self.define_scalar(None, nvfuser.DataType.Double), self.define_vector(1)
            self.add_output(self.t0 * self.scale + self.shift[0])

    fd = Scaled()
    x = random(5)
    for scale, shift in ((0.5, 1), (2.5, 1), (2.5, 2)):
        torch.testing.assert_close(fd.execute([x, scale, [shift]])[0], x * scale + shift, check_dtype=False)
    assert fd.schedules == 2


PRIMITIVES = {
    "split": lambda fd, sched: sched.split(fd.t2, 0, 2),
    "outer split by name": lambda fd, sched: sched.split(fd.t2, dim=1, factor=2, inner_split=False),
    "merge": lambda fd, sched: sched.merge(fd.t1, dim=0),
    "reorder": lambda fd, sched: sched.reorder(fd.t2, {0: -1}),
    "parallelize": lambda fd, sched: sched.parallelize(fd.t2, axis=0, parallel_type=ParallelType.grid_x),
    "cache": lambda fd, sched: (sched.cache_after(fd.t0), sched.cache_before(fd.t2, LoadStoreOpType.set)),
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives(name):
    fd = check(scheduled(PRIMITIVES[name], 7, 9), 7, 9)
    assert fd.schedules == 1


def test_a_whole_schedule():
    seen = {}

    def by(fd, sched):
        copy = sched.cache_after(fd.t0)
        sched.set_memory_type(copy, MemoryType.shared)
        sched.split(fd.t2, -1, 8)
        partial = sched.reduction_factor(fd.t2, [-1])
        assert isinstance(partial, nvfuser.Tensor) and partial in sched.tensors()
        sched.transform_like(partial)
        sched.parallelize(partial, 0, ParallelType.grid_x)
        sched.parallelize(partial, 1, ParallelType.block_x)
        sched.parallelize_like(partial)
        sched.inline_most()
        seen["reductions"] = [tv for tv in sched.tensors() if sched.is_reduction(tv)]
        seen["text"] = sched.to_string(fd.t2)
        seen["loops"] = sched.num_dims(partial)
        seen["ir"] = sched.user_schedule_ir()

    fd = check(scheduled(by), 6, 50)
    assert len(seen["reductions"]) == 2 and "blockIdx.x" in seen["text"] and seen["loops"] == 3
    assert "threadIdx.x" in seen["ir"] and "threadIdx.x" in fd.last_scheduled_fusion_ir()
    assert "bid_x" in fd.last_cuda_code() and "bid_x" in fd.cuda_code_for([random(6, 50)])
    assert "blockIdx.x" in fd.scheduled_fusion_ir_for([random(6, 50)])
    assert fd.schedules == 1


def test_selected_tensors():
    def by(fd, sched):
        sched.split(fd.t1, 0, 2)
        sched.transform_like(fd.t1, selected_tensors=[fd.t2])
        sched.parallelize(fd.t1, 0, ParallelType.grid_x)
        sched.parallelize_like(fd.t1, -1, [fd.t2], {ParallelType.grid_x}, propagate_padding=False)
        sched.inline_at(fd.t2, 1, best_effort=True, selected_tensors=[fd.t1])
        assert "blockIdx.x" in sched.to_string(fd.t2)

    check(scheduled(by, 6, 5), 6, 5)

    def from_the_end(fd, sched):
        sched.split(fd.t2, 1, 4)
        sched.bounded_transform_like(fd.t2, -1, [fd.t0])
        sched.inline_like(fd.t2, 1)
        assert sched.num_dims(fd.t1) == 3

    check(scheduled(from_the_end), 6, 5)


def test_the_library_s_schedulers():
    seen = {}

    def by(fd, sched):
        seen["can"] = [sched.can_schedule(kind) for kind in (SchedulerType.reduction, SchedulerType.pointwise)]
        seen["fit"] = sched.find_compatible_schedulers()
        sched.schedule(SchedulerType.reduction)

    check(scheduled(by), 6, 5)
    assert seen["can"][0] == (True, "") and not seen["can"][1][0] and seen["can"][1][1]
    assert seen["fit"][0] == SchedulerType.reduction

    def by_parameters(fd, sched):
        seen["parameters"] = sched.compute_reduction_heuristics()
        sched.schedule()

    check(scheduled(by_parameters), 6, 5)
    assert seen["parameters"].scheduler_type == SchedulerType.reduction


def test_without_its_schedule():
    """override_user_schedule: as if there were none."""
    fd = Counted()
    x = random(3, 5)
    (out,) = fd.execute([x], override_user_schedule=True)
    torch.testing.assert_close(out, x.exp().sum(1))
    assert fd.schedules == 0 and fd.last_cuda_code(override_user_schedule=True)
    with pytest.raises(nvfuser.UserError, match="not executed yet with its schedule"):
        fd.last_cuda_code()
    check(fd, 3, 5)
    assert fd.schedules == 1
    assert fd.cuda_code_for([x], override_user_schedule=True) and fd.last_scheduled_fusion_ir(
        override_user_schedule=True
    )


def test_profile_and_validation():
    fd = Counted()
    x = random(3, 5)
    fd.execute([x], profile=True)
    (kernel,) = fd.profile().kernel_profiles
    assert kernel.time_ms >= 0
    fd.validate([x])
    fd.validate([x], [x.exp().sum(1)])


def test_an_error_in_a_schedule_leaves_the_definition():
    troubles = [True]

    def by(fd, sched):
        if troubles:
            sched.split(fd.t2, 5, 2)

    fd = scheduled(by)
    with pytest.raises(nvfuser.UserError, match="split: axis 5 is outside"):
        fd.execute([random(2, 3)])
    troubles.clear()
    check(fd, 2, 3)
    with pytest.raises(nvfuser.UserError, match=r"sched.split: no schedule is being made"):
        fd.sched.split(fd.t2, 0, 2)


WRONG = """
sched.split(fd.s, 0, 2)  ->  TypeError: sched.split: a Tensor of the fusion is needed, not a Scalar
sched.split(3, 0, 2)  ->  TypeError: sched.split: a Tensor of the fusion is needed, not a int
sched.split(fd.first, 0, 2)  ->  UserError: sched.split: T0 belongs to another definition; keep the tensors of
sched.split(fd.t0, 0, 0)  ->  UserError: split
sched.merge(fd.t0, 1)  ->  UserError: merge: axis 2 is outside
sched.rfactor(fd.t0, [0])  ->  UserError: rFactor: T0 is computed by nothing, which is no reduction
sched.parallelize(fd.t1, 0, "x")  ->  TypeError: parallelize(): incompatible function arguments
sched.transform_like(fd.t1, [3])  ->  TypeError: sched.transform_like: a Tensor of the fusion is needed, not a int
sched.schedule()  ->  UserError: sched.schedule: name a scheduler, as in schedule(SchedulerType.pointwise)
sched.schedule(SchedulerType.matmul)  ->  UserError: schedule
sched.compute_pointwise_heuristics()  ->  UserError: compute_heuristics: scheduler pointwise does not take the fusion
fd.ops.neg(fd.t0)  ->  UserError: the fusion is not being defined
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_wrong_schedules_are_answered(line):
    expression, answer = line.split("  ->  ")
    kind, _, words = answer.partition(": ")

    class Wrong(Counted):
        def definition(self):
            super().definition()
            self.s = self.t0.size(0)
            self.first = getattr(self, "first", self.t0)

        def schedule(self):
            eval(expression, {"fd": self, "sched": self.sched, "SchedulerType": SchedulerType})

    with pytest.raises(Exception) as caught:
        Wrong().execute([random(2, 3)])
    raised = caught.value
    assert kind in {each.__name__ for each in type(raised).__mro__}, repr(raised)
    assert words.strip() in str(raised) and "internal" not in str(raised).lower(), repr(raised)


def test_a_schedule_needs_a_definition():
    class Scheduled(FusionDefinition):
        def schedule(self):
            pass

    with Scheduled() as fd:
        fd.add_output(fd.ops.neg(fd.define_tensor(1)))
    with pytest.raises(nvfuser.UserError, match=r"schedule\(self\), but no definition\(self\); it needs both"):
        fd.execute([random(2)])
    with pytest.raises(NotImplementedError, match=r"Fusion does not exist"):
        FusionDefinition().execute([])
    for method in (FusionDefinition().definition, FusionDefinition().schedule):
        with pytest.raises(NotImplementedError, match="subclass"):
            method()
