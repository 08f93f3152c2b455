"""Definitions in the module nvfuser, and what they are run with."""

import os
import sys

import torch
from nvfuser import FusionDefinition
from tested_device import DEVICE


def defined(define):
    with FusionDefinition() as fd:
        define(fd)
    return fd


def run(define, *inputs):
    return defined(define).execute(list(inputs))


def random(*shape, dtype=torch.float32):
    return torch.testing.make_tensor(shape, dtype=dtype, device=DEVICE, low=-3, high=3)


def negation(fd, factor=1.0):
    t0 = fd.define_tensor(shape=[-1, -1], contiguity=[True, True])
    fd.add_output(fd.ops.mul(t0, -factor))


def environment(**more):
    """Of a program that imports what the tests import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), **more}
