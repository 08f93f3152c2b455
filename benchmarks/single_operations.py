"""Single operations on about a million numbers by torch.compile beside eager, on the CPU; slowest beside eager first.

    PYTHONPATH=build/python python benchmarks/single_operations.py [NAME …]

One thread; milliseconds of the processor, the least of five calls in turns.
"""

import sys
import time
import warnings

import torch
from torch.nn import functional as F


def operations():
    """name → (function, its arguments)."""
    torch.manual_seed(0)
    x, y, images = torch.randn(1024, 1024), torch.randn(1024, 1024), torch.randn(8, 16, 64, 64)
    table, rows = torch.randn(20000, 64), torch.randint(0, 20000, (100000,))
    one_around = (1, 1, 1, 1)
    return {
        "rows x[i]": (lambda t, i: t[i] * 2, table, rows),
        "index_select": (lambda t, i: torch.index_select(t, 0, i) * 2, table, rows),
        "embedding": (lambda t, i: F.embedding(i, t) * 2, table, rows),
        "erfinv": (lambda a: torch.erfinv(a * 0.2), x),
        "atan2": (torch.atan2, x, y),
        "lgamma": (lambda a: torch.lgamma(a.abs() + 1), x),
        "fmod": (lambda a: torch.fmod(a, 0.7), x),
        "floor_divide": (torch.floor_divide, x, y),
        "remainder": (lambda a: torch.remainder(a, 0.7), x),
        "unfold": (lambda a: F.unfold(a, 3) * 2, images),
        "replicated": (lambda a: F.pad(a, one_around, mode="replicate") * 2, images),
        "reflected": (lambda a: F.pad(a, (3, 3, 3, 3), mode="reflect") * 2, images),
        "around": (lambda a: F.pad(a, one_around, mode="circular") * 2, images),
        "bilinear": (lambda a: F.interpolate(a, scale_factor=2, mode="bilinear") * 2, images),
        "flip of rows": (lambda a: a.flip(1) + 1, x),
        "tril": (lambda a: torch.tril(a) * 2, x),
        "softmax": (lambda a: a.softmax(1), x),
        "sums of rows": (lambda a: (a * 2).sum(1), x),
        "transposed": (lambda a: a + a.t(), x),
    }


def compared(function, arguments):
    compiled = torch.compile(function, backend="nvfuser")
    for call in (compiled, function, compiled):
        call(*arguments)
    times = {"eager": [], "ours": []}
    for _ in range(5):
        for name, call in (("eager", function), ("ours", compiled)):
            begin = time.process_time()
            call(*arguments)
            times[name].append(time.process_time() - begin)
    return min(times["eager"]) * 1e3, min(times["ours"]) * 1e3


def main():
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    found = []
    for name, (function, *arguments) in operations().items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            torch._dynamo.reset()
            found.append((name, *compared(function, arguments)))
    for name, eager, ours in sorted(found, key=lambda each: each[1] / each[2]):
        print(f"{name:16} eager {eager:8.3f}  ours {ours:8.3f}  {eager / ours:5.2f}")


if __name__ == "__main__":
    main()
