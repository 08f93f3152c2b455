"""What exact numerics cost: programs compiled with and without, called in turns; best of many, microseconds.

PYTHONPATH=build/python python benchmarks/exact_numerics.py
"""

import time

import nvfuser.dynamo  # noqa: F401  (makes the backend known)
import torch
from torch.nn import functional as F

X = torch.randn(512, 1024)
PROGRAMS = {
    "x * 1.1 + y, then * 0.7 - x / 3, float32": (lambda x, y: (x * 1.1 + y) * 0.7 - x / 3, torch.float32),
    "the same, bfloat16": (lambda x, y: (x * 1.1 + y) * 0.7 - x / 3, torch.bfloat16),
    "gelu(x + y), float32": (lambda x, y: F.gelu(x + y), torch.float32),
    "silu(x) * y, bfloat16": (lambda x, y: F.silu(x) * y, torch.bfloat16),
    "sum of rows, float32": (lambda x, y: (x * y).sum(1), torch.float32),
    "sum of columns, float32": (lambda x, y: (x * y).sum(0), torch.float32),
    "softmax, float32": (lambda x, y: F.softmax(x, 1), torch.float32),
    "layer norm, float32": (lambda x, y: F.layer_norm(x, x.shape[1:]), torch.float32),
}


def best(function, *tensors, seconds=2.0):
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function(*tensors)
        least = min(least, time.perf_counter() - begin)
    return least * 1e6


def main():
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, 512 x 1024")
    print("| program | eager | compiled | exact | exact / compiled |\n|---|---|---|---|---|")
    for name, (program, dtype) in PROGRAMS.items():
        x, y = X.to(dtype), X.flip(0).to(dtype)
        torch._dynamo.reset()
        ways = [program]
        for exact in (False, True):
            ways.append(torch.compile(program, backend="nvfuser", options={"exact_numerics": exact}, dynamic=False))
            ways[-1](x, y)
        times = [min(best(way, x, y, seconds=0.7) for _ in range(3)) for way in ways]
        print(f"| {name} | {times[0]:.0f} | {times[1]:.0f} | {times[2]:.0f} | {times[2] / times[1]:.1f} |", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
