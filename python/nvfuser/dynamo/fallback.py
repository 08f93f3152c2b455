"""What happens where this backend fails: PyTorch runs that part, and one warning says why.

Parts are, from small to large: a decomposition, an operation, a region, a graph. A failure is held against the smallest
part that can be named. Who is wrong shows in what PyTorch does with the same part: if it fails, too, its error is the
user's to read, and nothing is given up for later calls.
"""

import os
import warnings

_WARNED = set()


def falls_back():
    """NVFUSER_DISABLE=fallback makes every failure an error."""
    names = ",".join(os.environ.get(prefix + "NVFUSER_DISABLE", "") for prefix in ("", "PYTORCH_"))
    older = any(os.environ.get(prefix + "NVFUSER_DISABLE_FALLBACK", "0") == "1" for prefix in ("", "PYTORCH_"))
    return "fallback" not in [name.strip() for name in names.split(",")] and not older


class Failure(str):
    """Why a part is left to PyTorch, where that is for a failure."""


def leave(part, what, error):
    """Says that PyTorch runs `part`, once for each `error`; gives the reason. Without fallback it raises the error."""
    if not falls_back():
        raise error
    lines = str(error).strip().splitlines()
    first = lines[0] if lines else type(error).__name__
    reason = Failure(f"{what}: {first}")
    if first not in _WARNED:
        _WARNED.add(first)
        warnings.warn(
            f"nvfuser: {part} is left to PyTorch, because {reason}\n"
            "  help: NVFUSER_DISABLE=fallback makes this an error",
            stacklevel=3,
        )
    return reason


def guarded(name, decompose):
    """A decomposition whose failure leaves its operation whole."""

    def decomposed(*args, **kwargs):
        try:
            return decompose(*args, **kwargs)
        except Exception as error:
            leave(name, "its decomposition failed", error)
            return NotImplemented

    return decomposed
