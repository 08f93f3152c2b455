"""Many operations in one fusion, their results compared with tensors: one run of the compiler serves them all."""

import torch
from nvf import DTYPE_OF_TORCH, TORCH_DTYPES, DType, Failed, Fusion

# Relative and absolute tolerance of results, by the dtype that they are computed in or rounded to, the coarser one.
TOLERANCES = {
    torch.float64: (1e-10, 1e-12),
    torch.complex128: (1e-9, 1e-11),
    torch.float32: (3e-5, 3e-6),
    torch.complex64: (3e-4, 3e-5),
    torch.float16: (2e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float8_e4m3fn: (0.13, 2e-3),
    torch.float8_e5m2: (0.26, 2e-5),
}


def strided(tensor):
    """The same elements with gaps between them."""
    return tensor.new_zeros((*tensor.shape, 2))[..., 1].copy_(tensor) if tensor.dim() else tensor


class Batch:
    def __init__(self):
        self.fusion = Fusion()
        self.inputs = []
        self.expected = []  # (operation, tensor, tolerance or None)
        self.operation = "?"  # whose results are added

    def input(self, tensor):
        """A fusion input for it; every second one is not contiguous. Axes of size 1 are broadcast."""
        if len(self.inputs) % 2:
            tensor = strided(tensor)
        self.inputs.append(tensor)
        return self.fusion.tensor([1 if size == 1 else -1 for size in tensor.shape], DTYPE_OF_TORCH[tensor.dtype])

    def scalar(self, value, dtype):
        self.inputs.append(value)
        return self.fusion.scalar(dtype)

    def op(self, name, *arguments, **named):
        return self.fusion.op(name, *arguments, **named)

    def expect(self, value, tensor, tolerance=None):
        """Makes `value` an output that has to equal `tensor`, dtype and shape included."""
        dtype = DType.Int if value.dtype == DType.Index else value.dtype  # Index comes out as Int
        assert TORCH_DTYPES[dtype] == tensor.dtype, (
            f"{self.operation}: defined as {value.dtype.name}, PyTorch's is {tensor.dtype}"
        )
        self.fusion.output(value)
        self.expected.append((self.operation, tensor, tolerance))

    def run(self):
        """What differs, as lines of text."""
        troubles = []
        results = self.fusion.execute(*self.inputs)
        assert len(results) == len(self.expected)
        for result, (operation, expected, tolerance) in zip(results, self.expected, strict=True):
            difference = compare(result, expected, tolerance)
            if difference:
                troubles.append(f"{operation}: {difference}")
        return troubles


def compare(result, expected, tolerance=None):
    """None where they agree."""
    if result.dtype != expected.dtype:
        return f"dtype is {result.dtype}, expected {expected.dtype}"
    if result.shape != expected.shape:
        return f"shape is {tuple(result.shape)}, expected {tuple(expected.shape)}"
    exact = not (expected.is_floating_point() or expected.is_complex())
    rtol, atol = (0, 0) if exact else max(TOLERANCES[expected.dtype], tolerance or (0, 0))
    if expected.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        result, expected = result.float(), expected.float()
    try:
        torch.testing.assert_close(result, expected, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as error:
        mask = (
            torch.isclose(result, expected, rtol=rtol, atol=atol, equal_nan=True) if not exact else result == expected
        )
        at = (~mask).reshape(-1).nonzero().reshape(-1)[:3].tolist()
        flat_result, flat_expected = result.reshape(-1), expected.reshape(-1)
        pairs = ", ".join(f"[{i}] {flat_result[i].item()} != {flat_expected[i].item()}" for i in at)
        return f"{pairs}; {str(error).splitlines()[2] if len(str(error).splitlines()) > 2 else error}"
    return None


def run_cases(cases):
    """Runs (label, function of a Batch) in one fusion. Where that fails, one by one, so that errors have a name."""

    def define(batch, label, case):
        batch.operation = label
        try:
            case(batch)
        except (Failed, AssertionError) as error:
            return [f"{label}: {error}"]
        return []

    together = Batch()
    troubles = [trouble for label, case in cases for trouble in define(together, label, case)]
    if not together.expected:
        return troubles
    try:
        return troubles + together.run()
    except Failed as whole:
        troubles.append(f"all together: {str(whole)[:300]}")
    for label, case in cases:
        alone = Batch()
        define(alone, label, case)
        try:
            troubles += alone.run() if alone.expected else []
        except Failed as error:
            troubles.append(f"{label}: {str(error)[:2000]}")
    return troubles
