"""What a compiled graph costs the host: programs so small that calls, not elements, take the time.

    PYTHONPATH=build/python python benchmarks/host_of_graphs.py [--only TEXT] [--without-inductor] [--rounds N]

Each program runs in eager PyTorch, with Inductor and with this backend, in turns in one process on one thread of the
CPU; times are medians of calls. "calls" are operations of PyTorch that a call enters from outside (the events of
`torch.profiler` that are in no other), "views" those of them that compute nothing.
"""

import argparse
import statistics
import time
import warnings

import torch
from gpt2 import GPT2
from torch import nn
from torch.nn import functional as F

VIEWS = ("view", "permute", "transpose", "t", "expand", "slice", "select", "squeeze", "unsqueeze", "split")
VIEWS += ("as_strided", "alias", "detach", "reshape", "_reshape_alias", "_unsafe_view", "split_with_sizes")


def gpt2():
    return GPT2(layers=6, width=64, heads=4, vocabulary=128, places=64, tied=False)


def gpt2_forward():
    return gpt2(), (torch.randint(0, 128, (1, 8)),)


def gpt2_trained():
    model = gpt2()
    return (lambda tokens: F.cross_entropy(model(tokens).view(-1, 128), tokens.view(-1))), (
        torch.randint(0, 128, (1, 8)),
    )


def mlp():
    net = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64))))
    return (lambda x: net(x).sum()), (torch.randn(4, 64),)


class Decoding(nn.Module):
    """One token of attention with a cache of keys and values, which it writes in place."""

    def __init__(self, width=64, heads=4, length=32):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(1, heads, length, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, length, width // heads))

    def forward(self, x, place, mask):
        parts = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (part.view(1, 1, self.heads, -1).transpose(1, 2) for part in parts)
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v)
        mixed = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        return x + self.out(mixed.transpose(1, 2).reshape(1, 1, -1))


def decoding():
    mask = torch.arange(32)[None, :] <= 5
    return Decoding(), (torch.randn(1, 1, 64), torch.tensor([5]), mask)


# name: (what makes the function and its inputs, whether gradients are wanted)
PROGRAMS = {
    "GPT-2, 6 layers of width 64, 8 tokens, forward": (gpt2_forward, False),
    "the same GPT-2, trained": (gpt2_trained, True),
    "MLP, 4 layers of width 64, forward": (mlp, False),
    "the same MLP, trained": (mlp, True),
    "one decoding step, width 64": (decoding, False),
}


def step_of(make, backend, trained):
    torch.manual_seed(0)
    function, inputs = make()
    if backend != "eager":
        function = torch.compile(function, backend=backend)

    def call():
        if trained:
            function(*inputs).backward()
        else:
            with torch.no_grad():
                function(*inputs)

    return call


def entered(call):
    """(operations of PyTorch that a call enters, how many of these are views)"""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    names = []
    for event in profile.events():
        outer = event.cpu_parent
        while outer is not None and not outer.name.startswith("aten::"):
            outer = outer.cpu_parent
        if event.name.startswith("aten::") and outer is None:
            names.append(event.name.removeprefix("aten::"))
    return len(names), sum(name in VIEWS for name in names)


def measure(calls, rounds):
    """Median microseconds of each, in turns."""
    times = {backend: [] for backend in calls}
    for call in calls.values():
        for _ in range(5):
            call()
    for _ in range(rounds):
        for backend, call in calls.items():
            for _ in range(10):
                begin = time.perf_counter()
                call()
                times[backend].append(time.perf_counter() - begin)
    return {backend: statistics.median(of_backend) * 1e6 for backend, of_backend in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="programs whose names have this text")
    parser.add_argument("--without-inductor", action="store_true")
    parser.add_argument("--rounds", type=int, default=60, help="of 10 calls each")
    options = parser.parse_args()
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    backends = ("eager", "nvfuser") if options.without_inductor else ("eager", "inductor", "nvfuser")
    print("| program | " + " | ".join(f"{b}, µs | calls (views)" for b in backends) + " |")
    print("|---" * (1 + 2 * len(backends)) + "|")
    for name, (make, trained) in PROGRAMS.items():
        if options.only not in name:
            continue
        torch._dynamo.reset()
        calls = {backend: step_of(make, backend, trained) for backend in backends}
        times = measure(calls, options.rounds)
        cells = [f"{times[b]:.0f} | {'{} ({})'.format(*entered(calls[b]))}" for b in backends]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
