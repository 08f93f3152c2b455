"""Flips, turned pictures, paddings by mode and each n-th element by torch.compile beside eager and Inductor, on one
thread of the CPU or on a GPU.

    PYTHONPATH=build/python python benchmarks/steps_and_turns.py [--device cuda] [--only flip]

Prints milliseconds and `ratio`, the time of the better of eager and Inductor over ours.
"""

import argparse
import time

import nvfuser.dynamo  # noqa: F401  (the backend)
import torch
import torch.nn.functional as F


def smoothed(rows):
    wide = F.pad(rows[None], (1, 1), mode="reflect")[0]
    return wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]


def edges(pictures):
    wide = F.pad(pictures, (1, 1, 1, 1), mode="replicate")
    across = wide[..., 1:-1, 2:] - wide[..., 1:-1, :-2]
    return across.abs() + (wide[..., 2:, 1:-1] - wide[..., :-2, 1:-1]).abs()


def haar(x):
    top, bottom = x[..., ::2, :], x[..., 1::2, :]
    return torch.stack([top[..., ::2] + bottom[..., ::2], top[..., 1::2] - bottom[..., 1::2]])


def quarters(x):
    return torch.stack([torch.rot90(x, k, (-2, -1)) for k in range(4)]) * 2


# Of pictures (8 x 3 x 256 x 256 floats), rows (64 x 16384 floats) or bytes (4 x 256 x 256 x 3).
PROGRAMS = {
    "flip of rows": ("pictures", lambda x: x.flip(-1) * 2),
    "flip both ways": ("pictures", lambda x: x.flip(-1, -2) * 2),
    "quarter turn": ("pictures", lambda x: torch.rot90(x, 1, (-2, -1)).contiguous() * 2),
    "four quarters": ("pictures", quarters),
    "mean of flips": ("pictures", lambda x: (x.sigmoid() + x.flip(-1).sigmoid() + x.flip(-2).sigmoid()) / 3),
    "a row beside its flip": ("pictures", lambda x: torch.cat([x, x.flip(-1)], -1).relu()),
    "reflected pictures": ("pictures", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect") * 2),
    "replicated pictures": ("pictures", lambda x: F.pad(x, (3, 3, 3, 3), mode="replicate") * 2),
    "edges": ("pictures", edges),
    "haar": ("pictures", haar),
    "transposed steps": ("pictures", lambda x: x[..., ::2].transpose(-1, -2).contiguous() * 2),
    "transposed part": ("pictures", lambda x: x[..., 3:-3, 5:-5].transpose(-1, -2).contiguous() * 2),
    "reflected rows": ("rows", lambda x: F.pad(x[None], (200, 200), mode="reflect") * 2),
    "smoothed rows": ("rows", smoothed),
    "transposed flip": ("rows", lambda x: x.flip(-1).t().contiguous() + 1),
    "each second": ("rows", lambda x: x[:, ::2] * x[:, 1::2]),
    "each third": ("rows", lambda x: x[:, ::3] * 2),
    "turned pairs": ("rows", lambda x: torch.stack([-x[:, 1::2].exp(), x[:, ::2].sin()], -1).flatten(1)),
    "flipped bytes": ("bytes", lambda x: x.flip(2).float() / 255),
    "flipped bytes, planes": ("bytes", lambda x: x.flip(2).permute(0, 3, 1, 2).contiguous().float() / 255),
    "part of bytes, planes": ("bytes", lambda x: x[:, 16:240, 16:240].permute(0, 3, 1, 2).contiguous().float() / 255),
}


def milliseconds(function, x):
    wait = torch.cuda.synchronize if x.is_cuda else lambda: None
    for _ in range(5):
        function(x)
    times = []
    for _ in range(30):
        wait()
        begin = time.perf_counter()
        function(x)
        wait()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 4] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--only", default="", help="programs whose names have this text")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    inputs = {
        "pictures": torch.randn(8, 3, 256, 256, device=arguments.device),
        "rows": torch.randn(64, 16384, device=arguments.device),
        "bytes": torch.randint(0, 255, (4, 256, 256, 3), dtype=torch.uint8, device=arguments.device),
    }
    print("program,eager ms,inductor ms,nvfuser ms,ratio")
    for name, (of, program) in PROGRAMS.items():
        if arguments.only in name:
            report(name, program, inputs[of])


def report(name, program, x):
    torch._dynamo.reset()
    eager = milliseconds(program, x)
    inductor = milliseconds(torch.compile(program, backend="inductor"), x)
    ours = milliseconds(torch.compile(program, backend="nvfuser"), x)
    print(f"{name},{eager:.3f},{inductor:.3f},{ours:.3f},{min(eager, inductor) / ours:.2f}", flush=True)


if __name__ == "__main__":
    main()
