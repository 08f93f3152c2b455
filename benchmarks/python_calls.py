"""What a warm call costs the host: `mul` of two small tensors, one output, beside PyTorch's and NumPy's own x * y.

PYTHONPATH=build/python python benchmarks/python_calls.py

Microseconds of one thread, the best of many short rounds, all rows in turns, so that what else runs on the machine
disturbs few. On a GPU a call ends when its kernel is queued.
"""

import argparse
import time

import numpy as np
import nvfuser
import nvfuser_direct
import torch


def direct():
    with nvfuser_direct.FusionDefinition() as fd:
        fd.add_output(fd.ops.mul(fd.define_tensor([-1], [True]), fd.define_tensor([-1], [True])))
    return fd


def documented():
    fusion = nvfuser.Fusion()
    with nvfuser.FusionDefinition(fusion) as fd:
        fd.add_output(fd.ops.mul(fd.define_tensor(1), fd.define_tensor(1)))
    return fusion


def rows(device, size):
    fd, fusion = direct(), documented()
    x, y = torch.randn(size, device=device), torch.randn(size, device=device)
    table = {
        "nvfuser_direct: fd.execute([x, y])": lambda: fd.execute([x, y]),
        "nvfuser: fusion.execute([x, y])": lambda: fusion.execute([x, y]),
        "PyTorch: x * y": lambda: x * y,
    }
    if device == "cpu":
        a, b = x.numpy(), y.numpy()
        table["nvfuser_direct: fd.execute([x, y]), NumPy"] = lambda: fd.execute([a, b])
        table["NumPy: x * y"] = lambda: a * b
    return table


def measure(calls, rounds, count):
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        for _ in range(100):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(count):
                call()
            best[name] = min(best[name], (time.perf_counter() - begin) / count)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--size", type=int, default=16, help="elements of each tensor")
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    times = measure(rows(arguments.device, arguments.size), arguments.rounds, 200)
    eager = times["PyTorch: x * y"]
    print(f"{arguments.device}, {arguments.size} elements, PyTorch {torch.__version__}, NumPy {np.__version__}")
    for name, seconds in times.items():
        print(f"{name:45} {seconds * 1e6:7.2f} us {seconds / eager:6.2f} of PyTorch's")


if __name__ == "__main__":
    main()
