"""A step of decoding with a static cache: eager PyTorch, Inductor and this backend, one thread.

    PYTHONPATH=build/python python benchmarks/decoding.py [--layers 1 4] [--only eager nvfuser] [--positions]

Each layer writes one position of two caches of 1 x 8 x 2048 x 64 floats, in place, and attends to all of them. The
write is `cache[:, :, pos : pos + 1] = k` with a number, or `index_copy_` with a tensor of positions (`--positions`), as
transformers' StaticCache has it. Medians of calls in turns.
"""

import argparse
import statistics
import time

import nvfuser.dynamo  # noqa: F401  makes the backend known
import torch
import torch.nn.functional as F
from torch import nn

HEADS, LENGTH, HEAD = 8, 2048, 64
WIDTH = HEADS * HEAD


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Layer(nn.Module):
    def __init__(self, by_index):
        super().__init__()
        self.by_index = by_index
        self.norm, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.up, self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.zeros(1, HEADS, LENGTH, HEAD))
        self.register_buffer("values", torch.zeros(1, HEADS, LENGTH, HEAD))

    def forward(self, x, pos, cos, sin, mask):
        h = self.norm(x)
        q, k, v = (part(h).view(1, 1, HEADS, HEAD).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if self.by_index:
            self.keys.index_copy_(2, pos, k)
            self.values.index_copy_(2, pos, v)
        else:
            self.keys[:, :, pos : pos + 1] = k
            self.values[:, :, pos : pos + 1] = v
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(1, 1, WIDTH))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, layers, by_index):
        super().__init__()
        self.layers = nn.ModuleList(Layer(by_index) for _ in range(layers))

    def forward(self, x, pos, cos, sin, mask):
        for layer in self.layers:
            x = layer(x, pos, cos, sin, mask)
        return x


def caches(model):
    return [buffer.clone() for buffer in model.buffers()]


@torch.no_grad()
def measure(layers, by_index, which, calls):
    torch.manual_seed(0)
    models = {name: Decoder(layers, by_index).eval() for name in which}
    first = next(iter(models.values()))
    for model in models.values():
        model.load_state_dict(first.state_dict())
    x, cos, sin = torch.randn(1, 1, WIDTH), torch.randn(1, 1, 1, HEAD), torch.randn(1, 1, 1, HEAD)
    mask = torch.zeros(1, 1, 1, LENGTH)
    run, took, results = {}, {name: [] for name in which}, {}
    torch._dynamo.reset()
    for name, model in models.items():
        run[name] = model if name == "eager" else torch.compile(model, backend=name)
    for call in range(calls + 12):
        pos = torch.tensor([call % LENGTH]) if by_index else call % LENGTH
        for name, model in run.items():
            start = time.perf_counter()
            results[name] = model(x, pos, cos, sin, mask)
            if call >= 12:
                took[name].append(time.perf_counter() - start)
    for name in which[1:]:
        torch.testing.assert_close(results[name], results[which[0]], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(caches(models[name]), caches(models[which[0]]), rtol=1e-4, atol=1e-4)
    how = "index_copy_" if by_index else "slice"
    for name in which:
        print(f"{layers} layers, {how:11} {name:9} {statistics.median(took[name]) * 1e6:9.1f} us")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--only", nargs="+", default=["eager", "inductor", "nvfuser"])
    parser.add_argument("--positions", action="store_true")
    parser.add_argument("--calls", type=int, default=200)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for layers in given.layers:
        measure(layers, given.positions, given.only, given.calls)


if __name__ == "__main__":
    main()
