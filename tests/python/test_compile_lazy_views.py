"""Lazily conjugated and negated tensors, whose memory says something else than they are, call after call."""

import pytest
import torch
from compile_support import compiled, fresh  # noqa: F401

PROGRAMS = {
    "a part of a conjugate": lambda z: z.conj().imag + 1,
    "both parts of a conjugate": lambda z: z.conj().imag * z.conj().real,
    "a view of a part of a conjugate": lambda z: z.conj().imag[1:].unsqueeze(0) + 1,
    "a part of the argument": lambda z: -z.imag * 2,
    "a view of the argument": lambda z: z.view(-1)[1:].imag + 1,
    "parts side by side": lambda z: torch.stack([z.imag, z.real]),
    "a running sum": lambda z: z[None].t().imag.cumsum(0),
    "written through a part": lambda z: z.imag.mul_(2),
}


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_call_gives_what_eager_gives(name, is_lazy):
    function = PROGRAMS[name]
    ours = compiled(function)
    for call in range(3):
        given = [torch.complex(torch.arange(3.0) + call, torch.arange(1.0, 4.0)) for _ in range(2)]
        mine, theirs = (z.conj() if is_lazy else z for z in given)
        torch.testing.assert_close(ours(mine).resolve_neg(), function(theirs).resolve_neg())
        torch.testing.assert_close(mine.resolve_conj(), theirs.resolve_conj())
