"""Rows of few elements on one thread of the CPU: half a million numbers, by torch.compile beside eager and Inductor.

    PYTHONPATH=build/python python benchmarks/short_rows.py [--lengths 3 10 16 33] [--only softmax]

Prints milliseconds and `ratio`, the time of the better of eager and Inductor over ours; `copy` is x + 1, written over
an older result.
"""

import argparse
import time

import nvfuser.dynamo  # noqa: F401  (the backend)
import torch

ELEMENTS = 1 << 19
F = torch.nn.functional
PROGRAMS = {
    "RMS norm": lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "softmax": lambda x: torch.softmax(x, -1),
    "unit rows": lambda x: F.normalize(x, dim=-1),
    "gate by level": lambda x: x * torch.sigmoid(5 * torch.log10(x.square().mean(-1, keepdim=True) + 1e-8) + 15),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "mean of log softmax": lambda x: -torch.log_softmax(x, -1).mean(-1),
}


def milliseconds(function, *args, **options):
    for _ in range(5):
        function(*args, **options)
    times = []
    for _ in range(30):
        begin = time.perf_counter()
        function(*args, **options)
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 4] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="*", default=[2, 3, 4, 6, 8, 10, 12, 16, 21, 32, 33, 50, 64, 256])
    parser.add_argument("--only", default="", help="programs whose names have this text")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("length,program,eager ms,inductor ms,nvfuser ms,copy ms,ratio")
    for length in arguments.lengths:
        x = torch.randn(ELEMENTS // length, length)
        copy = milliseconds(torch.add, x, 1, out=torch.empty_like(x))
        for name, program in PROGRAMS.items():
            if arguments.only in name:
                report(length, name, program, x, copy)


def report(length, name, program, x, copy):
    torch._dynamo.reset()
    with torch.no_grad():
        eager = milliseconds(program, x)
        inductor = milliseconds(torch.compile(program, backend="inductor"), x)
        ours = milliseconds(torch.compile(program, backend="nvfuser"), x)
    ratio = min(eager, inductor) / ours
    print(f"{length},{name},{eager:.3f},{inductor:.3f},{ours:.3f},{copy:.3f},{ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
