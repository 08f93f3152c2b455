"""Products of vectors with three components, products of all but one number, and their gradients: values of eager, and
no kernel for each step."""

import pytest
import torch
from nvfuser.dynamo.backend import observing


def triple(a, b):
    c = torch.linalg.cross(a, b)
    return torch.linalg.cross(c / c.norm(dim=-1, keepdim=True), a)


PROGRAMS = {
    "along the last axis": (lambda a, b: torch.linalg.cross(a, b), (7, 3), (7, 3)),
    "along the first": (lambda a, b: torch.cross(a, b, dim=0), (3, 5), (3, 5)),
    "along one between": (lambda a, b: torch.linalg.cross(a, b, dim=-2), (4, 3, 5), (4, 3, 5)),
    "one against many": (lambda a, b: torch.linalg.cross(a, b), (1, 3), (6, 3)),
    "of a product": (triple, (9, 3), (9, 3)),
    "dihedral angles": (lambda a, b: (triple(a[1:], a[:-1]) * b[1:]).sum(-1).atan2(b[:-1].sum(-1)), (9, 3), (9, 3)),
    "areas": (lambda a, b: (a - b).clamp(min=-1).prod(-1), (11, 2), (11, 2)),
    "volumes, by rows": (lambda a, b: (a * b.prod(0, keepdim=True)).prod(0), (3, 11), (3, 11)),
    "running sums of four": (lambda a, b: (a * b).cumsum(-1).flip(-1) * b, (5, 4), (5, 4)),
}
DTYPES = (torch.float32, torch.bfloat16)


def inputs(shapes, dtype):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_eager(name, dtype):
    program, *shapes = PROGRAMS[name]
    given = inputs(shapes, dtype)
    compiled = torch.compile(program, backend="nvfuser")
    tolerance = 3e-2 if dtype is torch.bfloat16 else 1e-4
    got, wanted = compiled(*given), program(*given)
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)
    assert got.stride() == wanted.stride()
    slopes = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(2)).to(dtype)
    of_ours, of_eager = (torch.autograd.grad(y, given, slopes) for y in (got, wanted))
    for a, b in zip(of_ours, of_eager, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance * float(b.detach().abs().max() + 1))


def test_products_of_products_are_one_kernel():
    def volumes(a, b):
        return (torch.linalg.cross(torch.linalg.cross(a, b), a) * b).sum(-1)

    a, b = (x.detach() for x in inputs([(9, 3), (9, 3)], torch.float32))
    with observing() as seen:
        got = torch.compile(volumes, backend="nvfuser")(a, b)
    torch.testing.assert_close(got, volumes(a, b), rtol=1e-4, atol=1e-4)
    assert not seen.graphs[0].cut.reasons
    assert sum(region.kernels() for region in seen.graphs[0].regions) == 1
