"""The families of family_programs.py and family_rows.py, with no schedule given, against PyTorch in float64.

On the CPU at some small sizes, each family in one dtype (families.cpp has more); NVFUSER_TEST_DEVICE=cuda runs all
sizes, up to 2048 x 131072, on the first GPU.
"""

import family_rows  # noqa: F401 (adds to the table)
import pytest
import torch
from family_programs import FAMILIES, FLOAT, LABELS, MASK
from nvfuser_direct import DataType, FusionDefinition
from tested_device import DEVICE, ON_GPU

DTYPES = {torch.float32: DataType.Float, torch.bfloat16: DataType.BFloat16, torch.float16: DataType.Half}
OTHERS = {
    FLOAT: (torch.float32, DataType.Float),
    LABELS: (torch.int64, DataType.Int),
    MASK: (torch.bool, DataType.Bool),
}
BATCHES = (1, 16, 2048) if ON_GPU else (1, 16)
HIDDEN = (1, 31, 768, 4096, 4098, 5121, 36864, 131072) if ON_GPU else (1, 31, 4098)
EPS = torch.finfo(torch.float32).eps
OF_ELEMENT, OF_ALL = 16 * EPS, 64 * EPS  # what is lost in Float, of an element and of all elements' root mean square


def make(family, dtype, batch, hidden):
    """The fusion, for sizes that are not known to it."""
    with FusionDefinition() as fd:
        tensors = []
        for given in family.inputs(batch, hidden):
            kind = OTHERS[given.what][1] if given.what else DTYPES[dtype]
            sizes = [1 if size == 1 and axis == 1 and given.what else -1 for axis, size in enumerate(given.sizes)]
            tensor = fd.define_tensor(
                shape=sizes, contiguity=[None if size == 1 else True for size in sizes], dtype=kind
            )
            widen = not family.raw and not given.what and dtype != torch.float32
            tensors.append(fd.ops.cast(tensor, DataType.Float) if widen else tensor)
        for result in family.define(fd.ops, *tensors):
            cast = not family.raw and result.dtype() == DataType.Float and dtype != torch.float32
            fd.add_output(fd.ops.cast(result, DTYPES[dtype]) if cast else result)
    return fd


def draw(given, dtype):
    if given.what == LABELS:
        return torch.randint(given.below, given.sizes, device=DEVICE)
    if given.what == MASK:
        return torch.rand(given.sizes, device=DEVICE) < 0.75
    return torch.randn(given.sizes, device=DEVICE, dtype=OTHERS[given.what][0] if given.what else dtype)


def check(where, result, expected, floor):
    assert result.shape == expected.shape, where
    if result.dtype == torch.bool:
        return
    info = torch.finfo(result.dtype)
    few = expected.numel() < 1000  # which may all be small by chance
    size = max(expected.square().mean().sqrt().item(), 1.0 if few else floor)
    bound = expected.abs().mul_(info.eps + OF_ELEMENT).add_(OF_ALL * size + info.smallest_normal * info.eps)
    error = (result.double() - expected).abs_()
    worst = (error / bound).max().item()
    assert worst <= 1, f"{where}: an error of {worst:.3g} times what is allowed, {error.max().item():.3g} at most"


def cases():
    for i, family in enumerate(FAMILIES):
        for dtype in list(DTYPES) if ON_GPU else [list(DTYPES)[i % len(DTYPES)]]:
            yield pytest.param(family, dtype, id=f"{family.name}, {dtype}")


@pytest.mark.parametrize(("family", "dtype"), list(cases()))
def test_family(family, dtype):
    torch.manual_seed(11)
    for hidden in HIDDEN:
        fd = make(family, dtype, BATCHES[-1], hidden)
        for batch in BATCHES:
            inputs = [draw(given, dtype) for given in family.inputs(batch, hidden)]
            results = fd.execute(inputs)
            exact = [value.double() if value.is_floating_point() else value for value in inputs]
            expected = family.formula(*([results] if family.from_results else []), *exact)
            for i, (result, value) in enumerate(zip(results, expected, strict=True)):
                check(f"{family.name}, {batch} x {hidden}, result {i}", result, value, family.floor)
            del inputs, results, exact, expected, result, value
    if ON_GPU:
        torch.cuda.empty_cache()  # gigabytes, which a process beside this one may want
