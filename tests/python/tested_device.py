"""The device of tests that run on any: NVFUSER_TEST_DEVICE=cuda (or gpu) is the first GPU, else it is the CPU."""

import contextlib
import os

import torch


def _device():
    known = {"cpu": "cpu", "cuda": "cuda", "gpu": "cuda"}
    given = os.environ.get("NVFUSER_TEST_DEVICE", "cpu")
    assert given in known, f"NVFUSER_TEST_DEVICE is {given}; known: {', '.join(known)}"
    assert known[given] == "cpu" or torch.cuda.is_available(), f"NVFUSER_TEST_DEVICE is {given}, but there is no GPU"
    return known[given]


DEVICE = _device()
ON_GPU = DEVICE == "cuda"


def tensors_there():
    """While it lasts, PyTorch's factories and modules make tensors on that device."""
    return torch.device(DEVICE) if ON_GPU else contextlib.nullcontext()
