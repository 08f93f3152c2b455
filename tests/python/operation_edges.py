"""Operands at the edges: extreme values, and shapes that are empty, without axes, odd, or laid out otherwise."""

import torch
from nvf import TORCH_DTYPES
from operation_dtypes import BOOL, COMPLEX, INTEGERS

SHAPES = ((7, 3, 5), (1, 1, 1), (3, 0, 2), (0, 0, 0), (1, 13, 1), (2, 1, 131), (11, 17, 2))
LAYOUTS = ("dense", "transposed", "every second", "from the middle", "expanded")


def extremes(dtype, domain):
    """The dtype's ends and what is special between them, in the domain (operation_dtypes.sample)."""
    theirs = TORCH_DTYPES[dtype]
    if dtype in BOOL:
        return [1.0] if domain == "positive" else [0.0, 1.0]
    if dtype in INTEGERS:
        ends = torch.iinfo(theirs)
        if domain == "small":
            return [0, 1, 3, min(ends.bits - 1, 6)]
        if domain == "positive":
            return [1, 2, 3, ends.max - 1, ends.max]
        around = [ends.min, ends.min + 1, 0, 1, 2, ends.max - 1, ends.max]
        return [value for value in (*around, -1, -2) if value >= ends.min]
    ends = torch.finfo(theirs)
    inner = [1.0, ends.eps, ends.tiny, 0.5, 2.0, 3.0]
    if domain in ("positive", "small"):
        return [0.5, 1.0, 2.0, 3.0, ends.tiny] if domain == "positive" else [0.5, 1.0, 2.0, 3.0]
    finite = [*inner, *(-value for value in inner), 0.0, -0.0]
    if domain == "finite":
        return finite
    return [*finite, ends.max, ends.min, float("nan"), float("inf"), float("-inf")]


def operand(dtype, domain, position, shape, seed):
    """Random values of the domain with its extremes among them."""
    theirs = TORCH_DTYPES[dtype]
    generator = torch.Generator().manual_seed(1000 * seed + 10 * int(dtype) + position)
    special = extremes(dtype, domain)
    count = 1
    for size in shape:
        count *= size
    picked = torch.randint(0, len(special), (count,), generator=generator).tolist()
    if dtype in COMPLEX:
        values = torch.randn(count, generator=generator, dtype=torch.complex128)
        return values.to(theirs).reshape(shape)
    if dtype in INTEGERS:
        values = torch.tensor([special[i] for i in picked], dtype=theirs)
        return values.reshape(shape)
    values = torch.randn(count, generator=generator, dtype=torch.float64)
    values = values.abs() + 0.25 if domain in ("positive", "small") else values
    chosen = torch.tensor([special[i] for i in picked], dtype=torch.float64)
    values = torch.where(torch.rand(count, generator=generator) < 0.6, chosen, values)
    values = (values != 0).double() if dtype in BOOL else values
    return values.to(theirs).reshape(shape)


def laid_out(tensor, layout):
    """The same elements in another place in memory."""
    if tensor.dim() == 0 or tensor.numel() == 0 or layout == "dense":
        return tensor
    if layout == "transposed":
        order = list(reversed(range(tensor.dim())))
        return tensor.permute(order).contiguous().permute(order)
    if layout == "every second":
        return tensor.new_zeros((*tensor.shape, 2))[..., 1].copy_(tensor)
    if layout == "from the middle":
        rows, *others = tensor.shape
        return tensor.new_zeros((3 * rows, *others))[rows : 2 * rows].copy_(tensor)
    return tensor[:1].expand(tensor.shape)  # other elements: what is expected is computed from them
