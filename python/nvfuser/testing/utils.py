"""Helpers of tests, by nvFuser's names: a test case that runs a definition twice, and questions about the GPU."""

import itertools
import unittest
from copy import deepcopy

import torch

from nvfuser import DataType, FusionCache, FusionDefinition, clone


def _is_before(major):
    """Whether the GPU is older than this compute capability; without a GPU there is none that is too old."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability()[0] < major


def is_pre_volta():
    return _is_before(7)


def is_pre_ampere():
    return _is_before(8)


def is_pre_hopper():
    return _is_before(9)


def is_pre_blackwell():
    return _is_before(10)


def verify_stride_order(output_strides, stride_order):
    """An AssertionError unless the axes lie in memory in this order: stride_order[i] is 0 for the innermost."""
    by_place = sorted(range(len(stride_order)), key=lambda axis: stride_order[axis])
    strides = [output_strides[axis] for axis in by_place]
    assert all(inner <= outer for inner, outer in itertools.pairwise(strides)), (
        f"the strides {tuple(output_strides)} are not in the order {tuple(stride_order)}"
    )


def check_captured_python_definition(reference_outputs, fd, inputs, device=None):
    """Whether the definition's own text gives the same outputs, and the same strides."""
    again = FusionDefinition()
    clone(fd, again)
    outputs = again.execute(inputs, device=device)
    return len(outputs) == len(reference_outputs) and all(
        torch.allclose(output, reference, equal_nan=True)
        and output.dtype == reference.dtype
        and output.stride() == reference.stride()
        for output, reference in zip(outputs, reference_outputs, strict=True)
    )


def create_sdpa_rng_tensors():
    """Seed and offset as sdpfa_bwd takes them: on the GPU if there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.randint(0, 100, (2,), device=device).to(torch.uint64), torch.zeros((), device=device).to(torch.uint64)


def define_sdpa_rng_state(fd):
    """Inputs of the definition for create_sdpa_rng_tensors()."""
    seed = fd.define_tensor(shape=[2], contiguity=[True], dtype=DataType.UInt64)
    return seed, fd.define_tensor(shape=[], contiguity=[], dtype=DataType.UInt64)


class NVFuserTest(unittest.TestCase):
    """`exec_nvfuser` defines, runs, and compares with what the definition's text does."""

    def exec_nvfuser(self, fusion_func, inputs, *, new_fusion_expected=True, device=None, **kwargs):
        """(outputs, FusionDefinition). `fusion_func(fd)` defines; its definition is new to the cache if expected."""
        cache = FusionCache.get()
        before = cache.num_fusions()
        with FusionDefinition() as fd:
            fusion_func(fd)
        inputs_again = deepcopy(inputs)  # a fusion may write to its inputs
        outputs = fd.execute(inputs, device=device)
        self.assertEqual(cache.num_fusions() - before, int(new_fusion_expected))
        self.assertTrue(check_captured_python_definition(outputs, fd, inputs_again, device))
        return outputs, fd

    def assertEqual(self, first, second, msg=None):
        """Tensors, and lists of them, are compared by torch.testing."""
        values = (
            (*first, *second) if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)) else (first,)
        )
        if any(isinstance(value, torch.Tensor) for value in values):
            torch.testing.assert_close(first, second, equal_nan=True, msg=msg)
            return
        super().assertEqual(first, second, msg)
