"""A transformer whose element-wise, normalisation and softmax regions run as fusions, on the CPU.

    python examples/python/model_regions.py [--steps 150]

It trains a small language model on the text of this file with PyTorch alone, so that its weights are not random, then
runs it twice: eagerly, and with each region between the matrix products as one fusion. It prints how far the two are
apart, how many kernels each region is, and writes what was done with one of them to model_regions.html.
"""

import argparse
import time
from pathlib import Path

import torch
from nvfuser_direct import DataType, FusionDefinition

WIDTH, HEADS, LAYERS, CONTEXT = 128, 4, 2, 96


REGIONS = []


class Region:
    """A function of Float tensors as a fusion: `define(fd, *tensors)` gives its outputs. One definition serves all
    sizes; another memory layout of the arguments is another one."""

    def __init__(self, define):
        self.name = define.__name__
        self.define = define
        self.fusions = {}
        REGIONS.append(self)

    def __call__(self, *tensors):
        key = tuple((x.dim(), x.is_contiguous()) for x in tensors)
        if key not in self.fusions:
            with FusionDefinition() as fd:
                inputs = [fd.define_tensor([-1] * x.dim(), x.is_contiguous(), DataType.Float) for x in tensors]
                for output in self.define(fd, *inputs):
                    fd.add_output(output)
            self.fusions[key] = fd
        outputs = self.fusions[key].execute(tensors)
        return outputs[0] if len(outputs) == 1 else outputs


@Region
def add_and_norm(fd, x, branch, weight, bias):
    """The residual stream with a branch added, and its layer norm."""
    total = fd.ops.add(x, branch)
    return total, fd.ops.layer_norm(total, [WIDTH], weight, bias)[0]


@Region
def norm(fd, x, weight, bias):
    return (fd.ops.layer_norm(x, [WIDTH], weight, bias)[0],)


@Region
def causal_softmax(fd, scores):
    """softmax(scores / sqrt(width of a head)), each row over itself and what is before it."""
    batch, heads, rows, columns = scores.shape()
    row = fd.ops.broadcast_in_dim(fd.ops.iota(rows), [batch, heads, rows, columns], [2])
    column = fd.ops.broadcast_in_dim(fd.ops.iota(columns), [batch, heads, rows, columns], [3])
    scaled = fd.ops.mul(scores, (WIDTH // HEADS) ** -0.5)
    return (fd.ops.softmax(fd.ops.where(fd.ops.le(column, row), scaled, float("-inf")), -1),)


@Region
def gelu_of_sum(fd, product, bias):
    """gelu(product + bias), of a linear layer whose bias was left out."""
    return (fd.ops.cast(fd.ops.gelu(fd.ops.add(product, bias)), DataType.Float),)


@Region
def log_probabilities(fd, logits):
    return (fd.ops.log_softmax(logits, -1),)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention = torch.nn.LayerNorm(WIDTH)
        self.before_mlp = torch.nn.LayerNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.down = torch.nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, x):
        batch, length, _ = x.shape
        return (part.reshape(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))

    def joined(self, weights, values):
        return self.out((weights @ values).transpose(1, 2).flatten(2))

    def forward(self, x):
        q, k, v = self.heads(self.before_attention(x))
        scores = q @ k.mT * (WIDTH // HEADS) ** -0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        x = x + self.joined(scores.masked_fill(hidden, -torch.inf).softmax(-1), v)
        return x + self.down(torch.nn.functional.gelu(self.up(self.before_mlp(x))))

    def fused(self, x):
        """The same; only the matrix products are PyTorch's."""
        q, k, v = self.heads(norm(x, self.before_attention.weight, self.before_attention.bias))
        attended = self.joined(causal_softmax(q @ k.mT), v)
        x, normed = add_and_norm(x, attended, self.before_mlp.weight, self.before_mlp.bias)
        return x + self.down(gelu_of_sum(normed @ self.up.weight.T, self.up.bias))


class Model(torch.nn.Module):
    def __init__(self, letters):
        super().__init__()
        self.letters = torch.nn.Embedding(letters, WIDTH)
        self.places = torch.nn.Embedding(CONTEXT, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = torch.nn.LayerNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, letters)

    def embedded(self, text):
        return self.letters(text) + self.places(torch.arange(text.shape[1]))

    def forward(self, text):
        x = self.embedded(text)
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x)).log_softmax(-1)

    def fused(self, text):
        x = self.embedded(text)
        for block in self.blocks:
            x = block.fused(x)
        return log_probabilities(self.head(norm(x, self.last.weight, self.last.bias)))


def trained(steps):
    """The model and the text that it has read, as numbers of letters."""
    torch.manual_seed(0)
    text = Path(__file__).read_text()
    letters = sorted(set(text))
    numbers = torch.tensor([letters.index(letter) for letter in text])
    model = Model(len(letters))
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    for step in range(steps):
        begins = torch.randint(0, len(numbers) - CONTEXT, (8,)).tolist()
        pieces = torch.stack([numbers[begin : begin + CONTEXT] for begin in begins])
        loss = torch.nn.functional.nll_loss(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0 or step + 1 == steps:
            print(f"step {step}: loss {loss.item():.3f}")
    return model.eval(), numbers


def milliseconds(function, repeats=20):
    function()
    begin = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - begin) / repeats * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150, help="of training")
    parser.add_argument("--html", default="model_regions.html", help="where to write the page about one region")
    arguments = parser.parse_args()
    model, numbers = trained(arguments.steps)
    worst = 0.0
    with torch.no_grad():
        for batch, length in ((1, CONTEXT), (4, 33), (3, 1), (2, 64)):
            text = numbers[: batch * length].reshape(batch, length)
            eager, fused = model(text), model.fused(text)
            torch.testing.assert_close(fused, eager, rtol=1e-4, atol=1e-4)
            worst = max(worst, (fused - eager).abs().max().item())
        print(f"largest difference of a log-probability, four shapes: {worst:.2e}")
        text = numbers[: 4 * CONTEXT].reshape(4, CONTEXT)
        print(
            f"eager {milliseconds(lambda: model(text)):.2f} ms, fused {milliseconds(lambda: model.fused(text)):.2f} ms"
        )
    for region in REGIONS:
        for fd in region.fusions.values():
            kernels = len(fd.fec.describe()["steps"])
            print(f"{region.name}: {kernels} kernel{'s' if kernels != 1 else ''}")
    next(iter(causal_softmax.fusions.values())).explain(html=arguments.html)
    print(f"how causal_softmax was run: {arguments.html}")


if __name__ == "__main__":
    main()
