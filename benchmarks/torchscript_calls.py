"""What a fusion costs TorchScript: a scripted function whose body is one fusion, beside a scripted identity.

PYTHONPATH=build/python python benchmarks/torchscript_calls.py

The kernel is empty or next to it (0 or 16 elements), so what a call costs beyond the identity is the guard, the group
and the output's memory. Microseconds of one thread, all rows in turns in one process: the least and the median of many
short rounds, so that what else runs on the machine disturbs few.
"""

import argparse
import statistics
import time

import torch


@torch.jit.script
def identity(x):
    return x


@torch.jit.script
def eager_one(x):
    return x + 1.0


def fused(x):
    return (x + 1.0).relu()


def fused_two(x, y):
    return (x * y + 1.0).relu()


def measure(calls, rounds, count):
    """Seconds of one call: for each row, those of all rounds."""
    for call in calls.values():
        for _ in range(200):
            call()
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            repeat = range(count)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in repeat:
                call()
            times[name].append((time.perf_counter() - begin) / count)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    empty, few = torch.rand(0, device=arguments.device), torch.rand(16, device=arguments.device)
    one, two = torch.jit.script(fused), torch.jit.script(fused_two)
    with torch.jit.fuser("fuser2"):
        for _ in range(4):
            for x in (empty, few):
                one(x), two(x, x)
        graphs = str(one.graph_for(few)) + str(two.graph_for(few, few))
    assert graphs.count("= prim::CudaFusionGroup") >= 2, f"not fused:\n{graphs}"
    calls = {
        "identity": lambda: identity(few),
        "x + 1, unfused": lambda: eager_one(few),
        "fusion, no elements": lambda: one(empty),
        "fusion, 16 elements": lambda: one(few),
        "fusion of two inputs, 16 elements": lambda: two(few, few),
    }
    times = measure(calls, arguments.rounds, 200)
    print(f"{arguments.device}, PyTorch {torch.__version__}; microseconds, in brackets those beyond the identity")
    print(f"{'':36} {'least':>16} {'median':>16}")
    base = times["identity"]
    for name, of_rounds in times.items():
        cells = ""
        for reduce in (min, statistics.median):
            own = reduce(of_rounds) * 1e6
            cells += f" {own:7.2f} ({own - reduce(base) * 1e6:5.2f})"
        print(f"{name:36}{cells}")


if __name__ == "__main__":
    main()
