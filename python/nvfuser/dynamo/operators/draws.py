"""Random numbers that a kernel draws where they are read."""

import torch

from nvfuser._C import DataType, direct
from nvfuser._C.direct import ops

from ..drawn_numbers import dropout_mask
from .table import RULES, Rule


def _dropout_mask(scope, node, x, p, seed, offset, threads, width):
    shape = list(node.meta["val"].shape)
    numbers = ops.uniform_of_threads(shape, threads, width, scope.scalar(seed), scope.scalar(offset))
    keep = torch.tensor(1 - p, dtype=torch.float32).item()
    return ops.lt(numbers, direct.define_scalar(keep, DataType.Float))


RULES[dropout_mask] = Rule(_dropout_mask)
