"""How a tensor lies in memory, for define_tensor without a stride_order."""

from nvfuser._C import UserError


def compute_contiguity(sizes, strides):
    """Whether each axis is contiguous with that to its right; None for axes of one element and expanded ones."""
    if len(sizes) != len(strides):
        raise UserError(f"compute_contiguity: sizes has {len(sizes)} entries, but strides has {len(strides)}")
    contiguity = []
    expected = 1  # the stride that makes an axis contiguous with those to its right
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size < 0 or stride < 0:
            raise UserError(f"compute_contiguity: neither size {size} nor stride {stride} of an axis may be negative")
        if size == 1 or stride == 0:
            contiguity.append(None)
            continue
        contiguity.append(stride == expected)
        expected = stride * size
    return contiguity[::-1]
