"""Dtypes of PyTorch and of the fusion, and what the GPU can do. Imports PyTorch."""

import functools
import gc

import torch
from nvfuser._C import DataType

_DTYPES = {
    torch.complex128: DataType.ComplexDouble,
    torch.complex64: DataType.ComplexFloat,
    torch.float64: DataType.Double,
    torch.float32: DataType.Float,
    torch.float16: DataType.Half,
    torch.bfloat16: DataType.BFloat16,
    torch.float8_e4m3fn: DataType.Float8_e4m3fn,
    torch.float8_e5m2: DataType.Float8_e5m2,
    torch.int64: DataType.Int,
    torch.int32: DataType.Int32,
    torch.bool: DataType.Bool,
    complex: DataType.ComplexDouble,
    float: DataType.Double,
    int: DataType.Int,
    bool: DataType.Bool,
}
for _name, _dtype in (("float8_e8m0fnu", "Float8_e8m0fnu"), ("float4_e2m1fn_x2", "Float4_e2m1fn_x2")):
    if hasattr(torch, _name):
        _DTYPES[getattr(torch, _name)] = getattr(DataType, _dtype)


def torch_dtype_to_nvfuser_dtype(dtype):
    """DataType of a torch.dtype or of a Python number's class; a KeyError if there is none."""
    if dtype not in _DTYPES:
        raise KeyError(f"there is no DataType for {dtype}; there are those of {', '.join(map(str, _DTYPES))}")
    return _DTYPES[dtype]


def nvfuser_dtype_to_torch_dtype(dtype):
    """torch.dtype of a DataType; a KeyError if there is none."""
    for of_torch, own in _DTYPES.items():
        if own == dtype and isinstance(of_torch, torch.dtype):
            return of_torch
    raise KeyError(f"there is no torch.dtype for {dtype}")


def python_scalar_to_nvfuser_dtype(scalar):
    """DataType of a Python number; a KeyError for anything else."""
    return torch_dtype_to_nvfuser_dtype(type(scalar))


def clear_cuda_cache():
    """Gives the memory back that PyTorch keeps for later tensors of the GPU; nothing without a GPU."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def retry_on_oom_or_skip_test(function):
    """Calls a test again after a cleared cache if the GPU's memory was full, and skips it if it still is."""

    @functools.wraps(function)
    def retried(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except torch.OutOfMemoryError:
            pass
        clear_cuda_cache()
        try:
            return function(*args, **kwargs)
        except torch.OutOfMemoryError as error:
            import pytest

            pytest.skip(f"out of memory on the GPU: {error}")

    return retried


def get_device_properties():
    """What the current GPU has, by nvFuser's names; None without a GPU."""
    if not torch.cuda.is_available():
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    clock = getattr(properties, "clock_rate", 0)
    memory_clock = getattr(properties, "memory_clock_rate", 0)
    bus_width = getattr(properties, "memory_bus_width", 0)
    return {
        "gpu_name": properties.name,
        "gpu_compute_capability_major": properties.major,
        "gpu_compute_capability_minor": properties.minor,
        "gpu_gmem_bytes": properties.total_memory,
        "gpu_sm_count": properties.multi_processor_count,
        "gpu_max_threads_per_block": getattr(properties, "max_threads_per_block", 1024),
        "gpu_smem_bytes_per_block": getattr(properties, "shared_memory_per_block", 0),
        "gpu_regs_per_block": getattr(properties, "regs_per_multiprocessor", 0),
        "gpu_clock_rate_khz": clock,
        "gpu_l2_bytes": getattr(properties, "L2_cache_size", 0),
        "gpu_mem_clock_khz": memory_clock,
        "gpu_mem_bus_width": bus_width,
        "gpu_max_threads_per_sm": properties.max_threads_per_multi_processor,
        "gpu_peak_bandwidth_gbps": 2 * bus_width * memory_clock / 8e6,
    }


DEVICE_PROPERTIES = get_device_properties()
