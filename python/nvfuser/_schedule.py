"""Schedules written by hand: `schedule(self)` of a subclass of FusionDefinition, by the primitives of `self.sched`."""

from nvfuser._C import Tensor, UserError, direct
from nvfuser._C.direct import CacheOp, LoadStoreOpType, SchedulerType

_HOW = "schedules are written in schedule(self) of a subclass of FusionDefinition, which execute() calls"


class SchedOperators:
    """`fd.sched`: what schedules the fusion. The tensors are those that definition(self) kept as attributes of self."""

    def __init__(self):
        self._scheduled = None

    def _open(self, what):
        if self._scheduled is None:
            raise UserError(f"sched.{what}: no schedule is being made; {_HOW}")
        return self._scheduled

    def _node(self, what, tensor):
        scheduled = self._open(what)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"sched.{what}: a Tensor of the fusion is needed, not a {type(tensor).__name__}")
        if not scheduled.owns(tensor):
            raise UserError(
                f"sched.{what}: {tensor!r} belongs to another definition; keep the tensors of definition(self) as "
                "attributes of self, and use those"
            )
        return tensor.node

    def _nodes(self, what, tensors):
        return [self._node(what, tensor) for tensor in tensors]

    def _value(self, node):
        return self._scheduled.fusion.value_of(node)

    # One tensor -----------------------------------------------------------------------------------

    def split(self, arg, dim, factor, inner_split=True):
        """Cuts an axis in two; `factor` is the extent of the inner one (or of the outer one)."""
        self._node("split", arg).split(dim, factor, inner_split)

    def merge(self, arg, dim):
        """Makes one axis of this one and the next."""
        self._node("merge", arg).merge(dim)

    def reorder(self, arg, old2new):
        """Moves axes: {old position: new position}."""
        self._node("reorder", arg).reorder(old2new)

    def reduction_factor(self, arg, dims):
        """Reduces these axes first, into a new tensor, which is given, and which `arg` then reads."""
        return self._value(self._node("reduction_factor", arg).rfactor(dims))

    def rfactor(self, arg, dims):
        """reduction_factor by nvFuser's other name."""
        return self._value(self._node("rfactor", arg).rfactor(dims))

    def parallelize(self, arg, axis, parallel_type):
        """Binds an axis of the tensor's loops."""
        self._node("parallelize", arg).axis(axis).parallelize(parallel_type)

    def cache_after(self, arg, op_type=LoadStoreOpType.set, cache_op=CacheOp.unspecified):
        """A copy of the tensor, which its readers then read."""
        return self._value(self._node("cache_after", arg).cache_after(op_type, cache_op))

    def cache_before(self, arg, op_type=LoadStoreOpType.set):
        """A tensor computed in this one's place, and copied to it."""
        return self._value(self._node("cache_before", arg).cache_before(op_type))

    def set_memory_type(self, arg, memory_type):
        self._node("set_memory_type", arg).set_memory_type(memory_type)

    def set_allocation_as_loop(self, arg):
        """The tensor lies in memory in the order of its loops."""
        node = self._node("set_allocation_as_loop", arg)
        node.set_allocation_domain(node.get_loop_domain(), True)

    # Several tensors ------------------------------------------------------------------------------

    def transform_like(self, arg, selected_tensors=()):
        """Gives all tensors (or those selected) the loops of this one."""
        node = self._node("transform_like", arg)
        direct.schedule.transform_like(node, self._nodes("transform_like", selected_tensors))

    def parallelize_like(
        self, arg, pos=-1, selected_tensors=(), selected_parallel_types=frozenset(), propagate_padding=True
    ):
        """Binds the loops of all tensors as this one's first pos are bound."""
        node, selected = self._node("parallelize_like", arg), self._nodes("parallelize_like", selected_tensors)
        direct.schedule.parallelize_like(node, pos, selected, set(selected_parallel_types), propagate_padding)

    def inline_most(self, selected_tensors=()):
        """Places every tensor as far inside its readers' loops as possible."""
        selected = self._nodes("inline_most", selected_tensors)
        with direct.FusionGuard(self._open("inline_most").graph):
            direct.schedule.inline_most(selected)

    def inline_at(self, arg, pos=-1, best_effort=False, selected_tensors=()):
        """Places every tensor inside the loops that correspond to this one's first pos."""
        node, selected = self._node("inline_at", arg), self._nodes("inline_at", selected_tensors)
        direct.schedule.inline_at(node, pos, best_effort, selected)

    inline_like = inline_at

    def bounded_transform_backward(self, arg, pos, selected_tensors, propagate_parallel_type=False):
        """Gives the tensors from those selected down to this one the loops of its first pos."""
        node, to = self._node("bounded_transform_backward", arg), self._nodes("bounded_transform", selected_tensors)
        direct.schedule.bounded_transform_backward(node, pos, to, propagate_parallel_type)

    bounded_transform_like = bounded_transform_backward

    # Looking --------------------------------------------------------------------------------------

    def tensors(self):
        """All tensors of the fusion, also those that the schedule has made."""
        return [self._value(node) for node in self._open("tensors").graph.vals() if node.is_tensor()]

    def is_reduction(self, arg):
        """Whether an axis of the tensor is reduced."""
        return any(axis.is_reduction() for axis in self._node("is_reduction", arg).get_loop_domain())

    def num_dims(self, arg):
        """The number of the tensor's loops."""
        return len(self._node("num_dims", arg).get_loop_domain())

    def to_string(self, arg):
        """The tensor with its axes, and how they are bound."""
        return str(self._node("to_string", arg))

    def user_schedule_ir(self):
        """The fusion as it is scheduled so far."""
        return str(self._open("user_schedule_ir").graph)

    # The library's schedulers ---------------------------------------------------------------------

    def can_schedule(self, scheduler_type):
        """(True, "") if the scheduler takes the fusion for these inputs, else (False, why not)."""
        scheduled = self._open("can_schedule")
        return direct.schedule.can_schedule(scheduled.graph, scheduler_type, scheduled.inputs)

    def find_compatible_schedulers(self):
        """The schedulers that take the fusion for these inputs, best first."""
        scheduled = self._open("find_compatible_schedulers")
        return direct.schedule.find_compatible_schedulers(scheduled.graph, scheduled.inputs)

    def compute_heuristics(self, scheduler_type):
        """What the scheduler would do: parameters that may be changed before schedule()."""
        scheduled = self._open("compute_heuristics")
        scheduled.parameters = direct.schedule.compute_heuristics(scheduled.graph, scheduler_type, scheduled.inputs)
        return scheduled.parameters

    def compute_pointwise_heuristics(self):
        return self.compute_heuristics(SchedulerType.pointwise)

    def compute_reduction_heuristics(self):
        return self.compute_heuristics(SchedulerType.reduction)

    def schedule(self, scheduler_type=None):
        """Schedules the fusion by the library's scheduler; without one, by the parameters computed before."""
        scheduled = self._open("schedule")
        if scheduler_type is not None:
            parameters = direct.schedule.schedule(scheduled.graph, scheduler_type, scheduled.inputs)
        elif scheduled.parameters is not None:
            parameters = scheduled.parameters
            direct.schedule.schedule(scheduled.graph, parameters.scheduler_type, parameters)
        else:
            raise UserError("sched.schedule: name a scheduler, as in schedule(SchedulerType.pointwise)")
        scheduled.applied = parameters


class Scheduled:
    """A definition that is scheduled for inputs like these, and then its kernel."""

    def __init__(self, fusion, inputs):
        self.fusion = fusion  # the frontend's, which stays in the midst of its definition
        self.graph = fusion.graph()
        self.inputs = inputs
        self.parameters = None  # computed last
        self.applied = None
        self._on_cpu = all(str(getattr(each, "device", "cpu")) == "cpu" for each in inputs)
        self._kernel = direct.KernelExecutor()

    def owns(self, tensor):
        return self.fusion.owns(tensor)

    def compile(self):
        self._kernel.compile(self.graph, self.inputs, *self._launch(), *self._scheduler())
        self.inputs = None  # they need not be kept

    def run(self, inputs):
        return self._kernel.run(inputs, *self._launch())

    def code(self):
        """Text of the kernel: CUDA C++, or C++ for tensors of the CPU."""
        return self.graph.print_kernel(direct.CompileParams(device="cpu") if self._on_cpu else direct.CompileParams())

    def _launch(self):
        return (self.applied.lparams, self.applied.cparams) if self.applied is not None else ()

    def _scheduler(self):
        return (self.applied.scheduler_type,) if self.applied is not None else ()


def call_form(inputs):
    """What a schedule depends on: sizes, strides, dtype and device of tensors, and integers, which may be sizes."""
    return tuple(_form_of(each) for each in inputs)


def _form_of(value):
    if hasattr(value, "shape"):
        return type(value), tuple(value.shape), _strides(value), str(value.dtype), str(getattr(value, "device", ""))
    if isinstance(value, (list, tuple)):
        return tuple(_form_of(each) for each in value)
    return (int, value) if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _strides(tensor):
    return tuple(tensor.stride()) if hasattr(tensor, "stride") else tuple(getattr(tensor, "strides", None) or ())
