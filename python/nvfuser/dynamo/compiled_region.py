"""One region at run time: its Fusion, and PyTorch's own operations where that fails."""

import inspect
import threading
import weakref
from functools import partial

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from nvfuser._C import PartialUpdateError, direct

from .definition import UndefinedOperation, define
from .fallback import falls_back, leave
from .layout import is_dense, order_of
from .operators import meta

_EXECUTORS = weakref.WeakValueDictionary()  # by definition and exactness: equal regions share kernels
_LOCK = threading.Lock()


class _Executor:
    """Holds what runs a definition; alive while a region uses it.

    Its kernels are called nvfuser_ID_1, nvfuser_ID_2, …, where ID is of the definition: profilers tell regions apart,
    and the names, which are in the kernels' texts, are the same in each process.
    """

    def __init__(self, fusion, exactly):
        self.fusion_id = hash(fusion) % 1_000_000
        self.cache = direct.FusionExecutorCache(fusion, self.fusion_id)
        self.cache.let_caller_fall_back()
        if exactly:
            self.cache.compute_exactly()


def _executor_of(fusion, exactly):
    with _LOCK:
        found = _EXECUTORS.get((fusion, exactly))
        if found is None:
            found = _EXECUTORS[(fusion, exactly)] = _Executor(fusion, exactly)
        return found


class CompiledRegion:
    """Called with the list of its inputs, gives the list of its outputs."""

    def __init__(self, region, name, exactly=False):
        self.region, self.name = region, name
        self._updated = [region.inputs.index(argument) for argument in region.updates]
        self.failure = None
        self.executor = None
        self.repeats = None  # (executor's cache, strides of axes of one element) that a plan can call by itself
        try:
            self.executor = _executor_of(define(region, exactly), exactly)
            execute = self.executor.cache.execute
            strides = _strides_of_ones(region.outputs)
            if not any(_is_on(meta(node), region.device) for node in region.inputs):
                execute = partial(execute, device=region.device)  # nothing else says where it runs
            else:
                self.repeats = self.executor.cache, [(i, *one) for i, ones in strides.items() for one in ones]
            self._execute = partial(_execute_laid_out, execute, strides) if strides else execute
        except UndefinedOperation:
            raise  # a smaller part than the region: it is cut again without it
        except Exception as error:
            self._fail("it cannot be defined", error)

    def __call__(self, inputs):
        if self.failure is not None:
            return self._by_pytorch(inputs)
        try:
            outputs = self._execute(inputs)
            if self._updated:
                note_updates([inputs[position] for position in self._updated])
            return outputs
        except PartialUpdateError:
            raise  # PyTorch would update some arguments twice
        except Exception as error:
            if (turned := self._as_traced(inputs)) is not None:
                return self(turned)
            # Wrong inputs are wrong for PyTorch, too: it says so in its words, and the region stays what it is.
            outputs = self._by_pytorch(inputs) if falls_back() else None
            self._fail("its fusion failed", error)
            return outputs

    def _as_traced(self, inputs):
        """The inputs with copies of those that do not lie in memory as they were traced; None if all do, or one that is
        written does not. (Of some of PyTorch's operations tracing says a wrong layout: gradients of paddings.)"""
        found = list(inputs)
        for position, (node, tensor) in enumerate(zip(self.region.inputs, inputs, strict=True)):
            traced = meta(node)
            if not isinstance(traced, torch.Tensor) or not is_dense(traced, statically_known_true):
                continue
            order, _ = order_of(traced.shape, traced.stride(), statically_known_true)
            back = [order.index(axis) for axis in range(len(order))]
            found[position] = tensor.permute(order).contiguous().permute(back)
        turned = {i for i, x in enumerate(inputs) if found[i] is not x and found[i].data_ptr() != x.data_ptr()}
        return found if turned and turned.isdisjoint(self._updated) else None

    def _fail(self, what, error):
        operations = ", ".join(dict.fromkeys(name_of(node) for node in self.region.nodes[:12]))
        self.failure = leave(f"{self.name} ({operations})", what, error)

    def _by_pytorch(self, inputs):
        """Operation by operation, as the graph says."""
        values = dict(zip(self.region.inputs, inputs, strict=True))
        for node in [*self.region.outputs, *self.region.updates.values()]:
            _interpret(node, values)
        for target, node in self.region.updates.items():
            values[target].copy_(values[node])
        return [values[node] for node in self.region.outputs]

    def kernels(self):
        """How the last call of the fusion was cut into kernels: their number; None before the first call."""
        try:
            report = self.executor.cache.report()
        except RuntimeError:
            return None
        return sum(line.startswith("kernel ") for line in report.splitlines())

    def explain(self):
        """Text about the last call: the definition, how it was cut into kernels and why, and the kernels."""
        return self.executor.cache.explain()


def _strides_of_ones(outputs):
    """Position of an output: its axes of one element, of which a fusion knows no strides, and their strides."""
    found = {}
    for position, node in enumerate(outputs):
        value = meta(node)
        ones = [axis for axis, size in enumerate(value.shape) if isinstance(size, int) and size == 1]
        strides = [(axis, value.stride(axis)) for axis in ones if isinstance(value.stride(axis), int)]
        if strides:
            found[position] = strides
    return found


def _execute_laid_out(execute, strides, inputs):
    """Axes of one element of outputs get the strides that PyTorch gives them."""
    outputs = execute(inputs)
    for position, wanted in strides.items():
        output = outputs[position]
        found = output.stride()
        if any(found[axis] != stride for axis, stride in wanted):
            output.as_strided_(output.shape, [dict(wanted).get(axis, stride) for axis, stride in enumerate(found)])
    return outputs


def note_updates(tensors):
    """To autograd, as PyTorch's own operations in place do. (PyTorch before 2.5 takes one at a time.)"""
    for tensor in tensors if _ONE_AT_A_TIME else [tensors]:
        torch.autograd.graph.increment_version(tensor)


_ONE_AT_A_TIME = torch.__version__.startswith("2.4.")


def _is_on(value, device):
    return isinstance(value, torch.Tensor) and value.device == device


def name_of(node):
    """Of an operation, as ATen has it; of a function of this package, its own."""
    if inspect.isfunction(node.target):
        return node.target.__name__
    return str(getattr(node.target, "overloadpacket", node.target)).removeprefix("aten.")


def _interpret(node, values):
    pending = [node]
    while pending:
        current = pending[-1]
        if current in values:
            pending.pop()
            continue
        known = meta(current)
        if isinstance(known, bool | int | float):
            values[current] = known
            continue
        missing = [source for source in current.all_input_nodes if source not in values]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        args, kwargs = torch.fx.node.map_arg((current.args, current.kwargs), values.__getitem__)
        values[current] = current.target(*args, **kwargs)
