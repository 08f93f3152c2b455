"""Compiling a graph's regions together, in the background, before the first of them is called.

The calls come one after the other, and each would wait for its own kernels; compilers take several at a time. Tracing
goes on meanwhile. What is compiled wrongly or in vain is no harm: a call compiles what it does not find.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import torch

from nvfuser._C import direct

from .definition import DTYPES
from .layout import hint
from .operators import meta

_pool = ThreadPoolExecutor(1, thread_name_prefix="nvfuser-compile")


def compile_ahead(regions):
    """Starts it for these compiled regions; gives the futures."""
    if any(os.environ.get(prefix + "NVFUSER_DUMP") for prefix in ("", "PYTORCH_")):
        return []  # dumps are printed in the order of the calls
    calls = {}  # device: {what tells calls apart: (executor, inputs)}
    for compiled in regions:
        if compiled.executor is None:
            continue  # left to PyTorch
        inputs = [_described(meta(node)) for node in compiled.region.inputs]
        if None not in inputs:
            of_device = calls.setdefault(compiled.region.device, {})
            of_device[(id(compiled.executor), str(inputs))] = (compiled.executor.cache, inputs)
    # Executors are alive for as long as they wait: the list has them.
    return [_pool.submit(direct.compile_ahead, list(each.values()), device) for device, each in calls.items()]


def _described(value):
    """The number, or (sizes, strides, dtype); None where it is known at run time alone."""
    if isinstance(value, torch.Tensor):
        sizes, strides = _numbers(value.shape), _numbers(value.stride())
        return None if None in sizes + strides else (sizes, strides, DTYPES[value.dtype])
    if isinstance(value, torch.SymFloat | torch.SymBool):
        return 1.0 if isinstance(value, torch.SymFloat) else True
    return _number(value)


def _numbers(values):
    return [_number(value) for value in values]


def _number(value):
    if not isinstance(value, torch.SymInt):
        return value
    return hint(value) if value.node.has_hint() else None
