"""Wrong programs under torch.compile: PyTorch's error, none of ours, and what is called next is right."""

import re

import pytest
import torch
from bad_uses_compiled import uses
from compile_support import compiled, fresh  # noqa: F401
from torch.nn import functional as F

USES = list(dict.fromkeys(uses()))
BATCH = 20
NAMES = "x y w n u m h i j z e"


def tensors():
    torch.manual_seed(0)
    whole = torch.arange(24).view(4, 6)
    return {
        "x": torch.randn(4, 6), "y": torch.randn(3, 5), "w": torch.randn(6), "n": whole % 4,
        "u": torch.full((4, 6), 5, dtype=torch.uint8), "m": whole % 2 == 0, "h": torch.randn(4, 6).half(),
        "i": torch.tensor([0, 9, 1]), "j": torch.tensor([0, -9, 1]), "z": torch.zeros(4, 6, dtype=torch.int64),
        "e": torch.empty(0, 6),
    }  # fmt: skip


def error_of(function):
    try:
        function(**tensors())
    except Exception as error:
        return error
    return None


def wrong(use):
    """What is wrong with how an expression is refused; nothing if it is refused as by PyTorch."""
    function = eval(f"lambda {', '.join(NAMES.split())}: {use}", {"torch": torch, "F": F})
    theirs = error_of(function)
    if theirs is None:
        return "PyTorch takes it"
    ours = error_of(compiled(function))
    if ours is None:
        return "no error"
    text = f"{type(ours).__name__}: {ours}"
    if re.search(r"nvfuser|internal assert|InternalError|SystemError", text):
        return text
    return ""


@pytest.mark.parametrize("first", range(0, len(USES), BATCH))
def test_they_are_refused_as_by_pytorch(first):
    found = {use: wrong(use) for use in USES[first : first + BATCH]}
    assert not {use: text for use, text in found.items() if text}
    x, n = tensors()["x"], tensors()["n"]
    torch.testing.assert_close(compiled(lambda x, n: x[n[0]].sum(1) * 2)(x, n), x[n[0]].sum(1) * 2)


def test_there_are_enough():
    assert len(USES) >= 200
