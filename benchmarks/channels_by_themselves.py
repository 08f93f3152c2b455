"""Convolutions of each channel by itself, with SiLU behind them, beside eager and Inductor, forward and trained.

    PYTHONPATH=build/python python benchmarks/channels_by_themselves.py [--device cuda]

Microseconds, medians of calls in turns. On a GPU its own time, with caches overwritten before each call; on the CPU one
thread by wall clock. `library`: this library with PyTorch's convolution.
"""

import argparse
import statistics
import time
import types
import warnings

import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path
import torch
from nvfuser.dynamo import decompositions
from torch.nn import functional as F

CASES = {  # batch, channels, sides, taps of a side
    "cpu": [
        (2, 3, (224, 224), 3),
        (2, 3, (224, 224), 5),
        (2, 32, (56, 56), 3),
        (2, 96, (56, 56), 3),
        (4, 64, (1000,), 4),
        (4, 1024, (128,), 4),
    ],
    "cuda": [
        (16, 3, (512, 512), 3),
        (16, 64, (112, 112), 3),
        (16, 256, (56, 56), 3),
        (8, 96, (56, 56), 5),
        (8, 1536, (2048,), 4),
        (4, 4096, (512,), 4),
    ],
}
BACKENDS = ("eager", "inductor", "library", "ours")
CALLS = 15


def program(x, weight, bias):
    """Causal along one axis, else of equal sizes."""
    taps = weight.shape[-1]
    if x.dim() == 3:
        return F.silu(F.conv1d(x, weight, bias, padding=taps - 1, groups=x.shape[1])[..., : x.shape[-1]])
    return F.silu(F.conv2d(x, weight, bias, padding=taps // 2, groups=x.shape[1]))


def calls_of(tensors, trained):
    """{backend: a call}, compiled."""
    fused = decompositions.depthwise, decompositions.depthwise_backward
    calls = {}
    torch._dynamo.reset()
    for backend in BACKENDS:
        both = (lambda *_: NotImplemented,) * 2 if backend == "library" else fused
        decompositions.depthwise, decompositions.depthwise_backward = both
        # Code of its own, since Dynamo keeps what it compiled by code and backend.
        function = types.FunctionType(program.__code__.replace(co_name=backend), globals())
        if backend != "eager":
            function = torch.compile(
                function, backend="inductor" if backend == "inductor" else "nvfuser", dynamic=False
            )
        given = [tensor.clone().requires_grad_(trained) for tensor in tensors]

        def call(function=function, given=given):
            result = function(*given)
            return torch.autograd.grad(result.square().sum(), given) if trained else result

        call()
        calls[backend] = call
    decompositions.depthwise, decompositions.depthwise_backward = fused
    return calls


def on_gpu(call):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.zeros(64 << 20, device="cuda")  # overwrites caches
    torch.cuda._sleep(200000)  # all that is timed is queued by then
    begin.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3


def on_cpu(call):
    begin = time.perf_counter()
    call()
    return (time.perf_counter() - begin) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=CASES)
    device = parser.parse_args().device
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    take = on_gpu if device == "cuda" else on_cpu
    print(f"{'':56}" + "".join(f"{backend:>10}" for backend in BACKENDS))
    for dtype in (torch.float32, torch.bfloat16) if device == "cuda" else (torch.float32,):
        for batch, channels, sides, taps in CASES[device]:
            shapes = (batch, channels, *sides), (channels, 1, *[taps] * len(sides)), (channels,)
            tensors = [torch.randn(shape, device=device, dtype=dtype) for shape in shapes]
            for trained in (False, True):
                times = {backend: [] for backend in BACKENDS}
                calls = calls_of(tensors, trained)
                for _ in range(CALLS):
                    for backend, call in calls.items():
                        times[backend].append(take(call))
                name = f"{batch} x {channels} x {' x '.join(map(str, sides))}, {taps} taps, {dtype}"
                found = "".join(f"{statistics.median(each):10.1f}" for each in times.values())
                print(f"{name + (', trained' if trained else ''):56}{found}", flush=True)


if __name__ == "__main__":
    main()
