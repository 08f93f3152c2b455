"""Dtypes of PyTorch and of the fusion, and what the GPU can do: nvfuser_direct.pytorch_utils by an older name."""

from nvfuser_direct.pytorch_utils import (
    DEVICE_PROPERTIES,
    clear_cuda_cache,
    get_device_properties,
    python_scalar_to_nvfuser_dtype,
    retry_on_oom_or_skip_test,
    torch_dtype_to_nvfuser_dtype,
)

__all__ = [
    "DEVICE_PROPERTIES",
    "clear_cuda_cache",
    "get_device_properties",
    "patch_codegen_so",
    "python_scalar_to_nvfuser_dtype",
    "retry_on_oom_or_skip_test",
    "torch_dtype_to_nvfuser_dtype",
]


def patch_codegen_so():
    """Nothing: nvFuser replaced PyTorch's copy of itself by it, and PyTorch has had none since version 2.2."""
