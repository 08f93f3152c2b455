"""torch.compile with this backend beside eager PyTorch and Inductor: first call and per call, forward and backward.

    PYTHONPATH=build/python python benchmarks/torch_compile.py [--device cuda] [--case NAME …] [--json FILE]

Each case and backend runs in a process of its own, so first calls are those of a new process; the caches of compiled
kernels on the disk are empty (Inductor's and ours). Times per call are medians of at least 20 calls.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BACKENDS = ("eager", "inductor", "nvfuser")


def cases(device):
    """name → (module or function, inputs, whether gradients are wanted); sizes follow the device."""
    import torch
    from gpt2 import GPT2
    from torch import nn
    from torch.nn import functional as F

    big = device == "cuda"
    rows, width = (16384, 4096) if big else (512, 1024)
    dtype = torch.bfloat16 if big else torch.float32

    def random(*shape, grad=False):
        return torch.randn(*shape, device=device, dtype=dtype, requires_grad=grad)

    def module(net):
        return net.to(device=device, dtype=dtype)

    bias = random(width, grad=True)
    vocabulary, model_width, layers = (50257, 768, 12) if big else (2000, 256, 4)
    batch, length = (8, 1024) if big else (2, 128)

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = GPT2(layers, model_width, model_width // 64, vocabulary, length, tied=True)

        def forward(self, tokens):
            return F.cross_entropy(self.model(tokens).view(-1, vocabulary).float(), tokens.view(-1))

    tokens = torch.randint(0, vocabulary, (batch, length), device=device)
    return {
        "pointwise, 16 numbers": (lambda x, y: torch.relu(x * y + 0.1), (random(16), random(16)), False),
        "bias + gelu": (lambda x, b: F.gelu(x + b), (random(rows, width), bias.detach()), False),
        "bias + gelu, trained": (lambda x, b: F.gelu(x + b), (random(rows, width, grad=True), bias), True),
        "layer norm, trained": (module(nn.LayerNorm(width)), (random(rows, width, grad=True),), True),
        "rms norm + silu gate": (
            lambda x, g, w: F.rms_norm(x, (width,), w) * F.silu(g),
            (random(rows, width), random(rows, width), random(width)),
            False,
        ),
        "softmax, trained": (lambda x: F.softmax(x * 0.5, -1), (random(rows, width, grad=True),), True),
        "cross entropy, trained": (
            lambda x, t: F.cross_entropy(x.float(), t),
            (random(rows // 4, width, grad=True), torch.randint(0, width, (rows // 4,), device=device)),
            True,
        ),
        "group norm + silu, trained": (
            module(nn.Sequential(nn.GroupNorm(8, 64), nn.SiLU())),
            (random(8, 64, 32, 32, grad=True),),
            True,
        ),
        "MLP, trained": (
            module(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width))),
            (random(rows, width, grad=True),),
            True,
        ),
        "GPT-2, inference": (module(Loss()).eval(), (tokens,), False),
        "GPT-2, trained": (module(Loss()), (tokens,), True),
    }


def measure(name, backend, device):
    """{"first_s": …, "call_us": …} of one case with one backend, in this process."""
    import torch

    torch.manual_seed(0)
    function, inputs, trained = cases(device)[name]
    if backend == "nvfuser":
        import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path
    if backend != "eager":
        function = torch.compile(function, backend=backend)

    def call():
        if not trained:
            with torch.no_grad():
                return function(*inputs)
        result = function(*inputs)
        (result if result.dim() == 0 else result.sum()).backward()
        return result

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    begin = time.perf_counter()
    call()
    wait()
    first = time.perf_counter() - begin
    times = []
    for _ in range(5):
        call()
    wait()
    begin = time.perf_counter()
    while len(times) < 20 or (time.perf_counter() - begin < 1.0 and len(times) < 2000):
        start = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - start)
    return {"first_s": first, "call_us": statistics.median(times) * 1e6}


def run_apart(name, backend, device):
    with tempfile.TemporaryDirectory(prefix="caches-") as folder:
        caches = {"NVFUSER_CACHE_DIR": f"{folder}/ours", "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor"}
        command = [sys.executable, "-W", "ignore", __file__, "--one", name, backend, "--device", device]
        done = subprocess.run(command, env={**os.environ, **caches}, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no words"])[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def cell(result, key, scale):
    return "failed" if "error" in result else f"{result[key] * scale:,.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--case", nargs="*", help="names of cases; all unless given")
    parser.add_argument("--json", help="where to write the numbers")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one, arguments.device)))
        return
    names = arguments.case or list(cases(arguments.device))
    results = {}
    print("| case | first call, s: Inductor | nvfuser | per call, ms: eager | Inductor | nvfuser | nvfuser / best |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        found = results[name] = {backend: run_apart(name, backend, arguments.device) for backend in BACKENDS}
        eager, inductor, ours = (found[backend] for backend in BACKENDS)
        best = min(result.get("call_us", float("inf")) for result in (eager, inductor))
        ratio = f"{best / ours['call_us']:.2f} ×" if "call_us" in ours else ""  # noqa: RUF001
        firsts = [cell(inductor, "first_s", 1), cell(ours, "first_s", 1)]
        calls = [cell(result, "call_us", 1e-3) for result in (eager, inductor, ours)]
        print("| " + " | ".join([name, *firsts, *calls, ratio]) + " |", flush=True)
        for backend, result in found.items():
            if "error" in result:
                print(f"  {backend}: {result['error']}", file=sys.stderr)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"device": arguments.device, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
