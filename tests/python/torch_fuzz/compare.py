"""How a result is compared with eager's."""

import torch


def same_bits(ours, theirs):
    """Elements that are equal, bit by bit but for the bits of a NaN."""
    if not theirs.dtype.is_floating_point:
        return ours == theirs
    equal = (ours == theirs) & (ours.signbit() == theirs.signbit())
    return equal | (ours.isnan() & theirs.isnan())


def differences(ours, theirs, equal=same_bits):
    """What is wrong with `ours`, as text; empty if nothing is."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{ours.dtype} {tuple(ours.shape)} for {theirs.dtype} {tuple(theirs.shape)}"
    wrong = ~equal(ours, theirs)
    count = int(wrong.sum())
    if not count:
        return ""
    place = tuple(wrong.nonzero()[0].tolist())
    return f"{count} of {theirs.numel()} elements, at {place} {ours[place].item()!r} for {theirs[place].item()!r}"


def near(ours, theirs, least=0.0):
    """Elements that are equal within what fused arithmetic may come to, and within the `least` relative distance.
    (Eager has constants of float32 in some kernels
    of float64, such as the sixth of `hardsigmoid`'s gradient.)"""
    if theirs.is_complex():
        return near(torch.view_as_real(ours), torch.view_as_real(theirs), least).all(-1)
    if not theirs.dtype.is_floating_point:
        return ours == theirs
    loose = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 1e-3, torch.float64: 1e-7}[theirs.dtype]
    loose = max(loose, least)
    scale = theirs.double().nan_to_num(0, 0, 0).abs().max().item() if theirs.numel() else 0.0
    return torch.isclose(ours.double(), theirs.double(), rtol=loose, atol=loose * max(scale, 1e-3), equal_nan=True)
