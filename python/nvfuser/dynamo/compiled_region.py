"""One region at run time: its Fusion, and PyTorch's own operations where that fails."""

import os
import threading
import warnings
import weakref
import zlib
from functools import partial

import torch

from nvfuser._C import direct

from .definition import define
from .operators import meta

_EXECUTORS = weakref.WeakValueDictionary()  # by definition: equal regions share kernels
_LOCK = threading.Lock()
_WARNED = set()


class _Executor:
    """Holds what runs a definition; alive while a region uses it.

    Its kernels are called nvfuser_ID_1, nvfuser_ID_2, …, where ID is of the definition's text: profilers tell
    regions apart, and the names, which are in the kernels' texts, are the same in each process.
    """

    def __init__(self, fusion, text):
        self.text = text
        self.fusion_id = zlib.crc32(text.encode()) % 1_000_000
        self.cache = direct.FusionExecutorCache(fusion, self.fusion_id)


def _executor_of(fusion, text):
    with _LOCK:
        found = _EXECUTORS.get(text)
        if found is None:
            found = _EXECUTORS[text] = _Executor(fusion, text)
        return found


def falls_back():
    """NVFUSER_DISABLE=fallback makes every failure an error."""
    names = ",".join(os.environ.get(prefix + "NVFUSER_DISABLE", "") for prefix in ("", "PYTORCH_"))
    older = any(os.environ.get(prefix + "NVFUSER_DISABLE_FALLBACK", "0") == "1" for prefix in ("", "PYTORCH_"))
    return "fallback" not in [name.strip() for name in names.split(",")] and not older


class CompiledRegion:
    """Called with the list of its inputs, gives the list of its outputs."""

    def __init__(self, region, name):
        self.region, self.name = region, name
        self.failure = None
        self.executor = None
        try:
            fusion, text, stretched = define(region.inputs, region.outputs, region.device)
            self.executor = _executor_of(fusion, text)
            execute = self.executor.cache.execute
            if not any(_is_on(meta(node), region.device) for node in region.inputs):
                execute = partial(execute, device=region.device)  # nothing else says where it runs
            self._execute = partial(_execute_stretched, execute, stretched) if stretched else execute
        except Exception as error:
            self._fail("it cannot be defined", error)

    def __call__(self, inputs):
        if self.failure is not None:
            return self._by_pytorch(inputs)
        try:
            return self._execute(inputs)
        except RuntimeError as error:
            self._fail("its fusion failed", error)
            return self._by_pytorch(inputs)

    def _fail(self, what, error):
        if not falls_back():
            raise error
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        self.failure = f"{what}: {first}"
        if first not in _WARNED:
            _WARNED.add(first)
            operations = ", ".join(dict.fromkeys(name_of(node) for node in self.region.nodes[:12]))
            warnings.warn(
                f"nvfuser: {self.name} ({operations}) is left to PyTorch, because {self.failure}\n"
                "  help: NVFUSER_DISABLE=fallback makes this an error",
                stacklevel=2,
            )

    def _by_pytorch(self, inputs):
        """Operation by operation, as the graph says."""
        values = dict(zip(self.region.inputs, inputs, strict=True))
        for node in self.region.outputs:
            _interpret(node, values)
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


def _execute_stretched(execute, stretched, inputs):
    """Outputs that repeat themselves get memory of their own, as PyTorch's would have."""
    outputs = execute(inputs)
    for position, order in stretched.items():
        back = sorted(range(len(order)), key=order.__getitem__)
        outputs[position] = outputs[position].permute(order).contiguous().permute(back)
    return outputs


def _is_on(value, device):
    return isinstance(value, torch.Tensor) and value.device == device


def name_of(node):
    """Of an operation, as ATen has it."""
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
