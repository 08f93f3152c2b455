"""Circular pads as joins, before a graph is traced.

    pad(x, (2, 1), mode="circular")      cat([x[..., -2:], x, x[..., :1]], -1)

PyTorch's writes parts of new memory one after the other, each of which would be a kernel and a copy.
"""

import torch

_PADS = (torch.nn.functional.pad, torch._C._nn.pad)


def join_circular_pads(graph):
    """Changes a graph of Dynamo's, where widths are known numbers, and no wider than the tensor (of changing sizes that
    is checked before each call)."""
    for node in graph.nodes:
        if node.op != "call_function" or node.target not in _PADS:
            continue
        given = dict(zip(("input", "pad", "mode", "value"), node.args, strict=False)) | node.kwargs
        if given.get("mode") == "circular" and _suits(given["input"], given["pad"]):
            node.target, node.args, node.kwargs = _joined, (given["input"], list(given["pad"])), {}


def _suits(x, widths):
    x = x.meta.get("example_value") if isinstance(x, torch.fx.Node) else None
    if not isinstance(x, torch.Tensor) or not all(isinstance(width, int) for width in widths):
        return False
    sizes = [size for size in reversed(x.shape) for _ in range(2)]  # innermost first, for both sides
    return all(width >= 0 and bool(width <= size) for size, width in zip(sizes, widths, strict=False))


def _joined(x, widths):
    for axis, (left, right) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        dim, size = x.dim() - 1 - axis, x.shape[x.dim() - 1 - axis]
        parts = [x.narrow(dim, size - left, left)] * (left > 0) + [x] + [x.narrow(dim, 0, right)] * (right > 0)
        x = torch.cat(parts, dim)
    return x
