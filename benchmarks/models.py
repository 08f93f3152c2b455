"""Eight models at small sizes on the CPU: eager PyTorch, Inductor and this backend in turns, in one process.

    PYTHONPATH=build/python python benchmarks/models.py [--only TEXT] [--threads N] [--seconds S] [--parts]

Models are those of the transformers library with few layers, but for GPT-2 (gpt2.py) and a mixer; times are medians of
calls in milliseconds: with one thread of the processor's time, which what else a machine does disturbs least. `--parts`
says, instead, what the plans of this backend call Python for.
"""

import argparse
import statistics
import time
import warnings

import torch
from gpt2 import GPT2
from torch import nn
from torch.nn import functional as F


class Mixer(nn.Module):
    """MLP-Mixer: patches of 16 x 16 of an image."""

    def __init__(self, layers=4, width=256, places=64):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "first": nn.LayerNorm(width),
                    "over_places": nn.Sequential(nn.Linear(places, 128), nn.GELU(), nn.Linear(128, places)),
                    "second": nn.LayerNorm(width),
                    "over_channels": nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
                }
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, 100)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = x + layer["over_places"](layer["first"](x).transpose(1, 2)).transpose(1, 2)
            x = x + layer["over_channels"](layer["second"](x))
        return self.head(x.mean(1))


class Classifier(nn.Module):
    """A vision model of transformers with a head."""

    def __init__(self, body, width):
        super().__init__()
        self.body, self.head = body, nn.Linear(width, 100)

    def forward(self, images):
        return self.head(self.body(images).pooler_output.flatten(1))


def _logits(model):
    return lambda *inputs: model(*inputs, use_cache=False).logits


def _seq2seq(model):
    return lambda tokens: model(input_ids=tokens, decoder_input_ids=tokens, use_cache=False).logits


def models():
    """name → what makes (module, function of its inputs, inputs)."""
    import transformers as hf

    def tokens():
        return (torch.randint(0, 1000, (2, 64)),)

    def images(size=128):
        return (torch.randn(2, 3, size, size),)

    def of(model, function, inputs):
        return model, function(model), inputs

    def bert():
        config = hf.BertConfig(1000, 256, 4, 4, 1024, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        return of(hf.BertForMaskedLM(config), lambda m: lambda t: m(t).logits, tokens())

    def llama():
        config = hf.LlamaConfig(
            vocab_size=1000, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=4
        )
        return of(hf.LlamaForCausalLM(config), _logits, tokens())

    def t5():
        config = hf.T5Config(1000, 256, 64, 1024, 3, num_heads=4, dropout_rate=0.0)
        return of(hf.T5ForConditionalGeneration(config), _seq2seq, tokens())

    def vit():
        config = hf.ViTConfig(
            256, 4, 4, 1024, image_size=128, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        return of(Classifier(hf.ViTModel(config), 256), lambda m: m, images())

    def convnext():
        config = hf.ConvNextConfig(hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 2, 1])
        return of(Classifier(hf.ConvNextModel(config), 256), lambda m: m, images())

    def resnet():
        config = hf.ResNetConfig(embedding_size=32, hidden_sizes=[64, 128, 256, 512], depths=[1, 1, 2, 1])
        return of(Classifier(hf.ResNetModel(config), 512), lambda m: m, images())

    return {
        "GPT-2": lambda: of(GPT2(4, 256, 4, 1000, 64, tied=True), lambda m: m, tokens()),
        "BERT": bert,
        "Llama": llama,
        "T5": t5,
        "ViT": vit,
        "ConvNeXt": convnext,
        "ResNet": resnet,
        "Mixer": lambda: of(Mixer(), lambda m: m, images()),
    }


def step_of(make, backend, trained):
    torch.manual_seed(0)
    model, function, inputs = make()
    model.train(trained)

    def loss(*given):
        out = function(*given)
        return F.cross_entropy(out.flatten(0, -2), given[0].flatten() if given[0].dtype == torch.int64 else _CLASSES)

    run = loss if trained else function
    if backend != "eager":
        run = torch.compile(run, backend=backend)

    def call():
        if trained:
            run(*inputs).backward()
        else:
            with torch.no_grad():
                run(*inputs)

    return call


_CLASSES = torch.tensor([3, 5])


def measure(calls, seconds, clock):
    """Median milliseconds of each, in turns."""
    times = {backend: [] for backend in calls}
    for call in calls.values():
        for _ in range(4):
            call()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for backend, call in calls.items():
            for _ in range(4):
                start = clock()
                call()
                times[backend].append(clock() - start)
    return {backend: statistics.median(of_backend) * 1e3 for backend, of_backend in times.items()}


def show_parts(call):
    from collections import Counter

    from nvfuser.dynamo.explain import observing

    with observing() as seen:
        for _ in range(3):
            call()
    for graph in seen.graphs:
        steps = [line for line in str(graph.run).splitlines() if line.startswith("  v") or line.startswith("  aten")]
        ways = Counter(way for line in steps for way in ("Python", "a library", "a fusion") if f"  {way}" in line)
        by_python = Counter(
            line.partition(" = ")[2].partition("(")[0] for line in steps if "  Python" in line and " = " in line
        )
        print(f"    {graph.direction}: {dict(ways)}; Python: {dict(by_python)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="models whose names have this text")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6, help="of each case")
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    warnings.filterwarnings("ignore")
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    backends = ("nvfuser",) if options.parts else ("eager", "inductor", "nvfuser")
    print("| model | eager, ms | Inductor, ms | nvfuser, ms | best / nvfuser |\n|---|---|---|---|---|")
    for name, make in models().items():
        if options.only not in name:
            continue
        for trained in (False, True):
            torch._dynamo.reset()
            calls = {backend: step_of(make, backend, trained) for backend in backends}
            title = f"{name}, {'trained' if trained else 'inference'}"
            if options.parts:
                print(title)
                show_parts(calls["nvfuser"])
                continue
            times = measure(calls, options.seconds, clock)
            ratio = min(times["eager"], times["inductor"]) / times["nvfuser"]
            print(f"| {title} | " + " | ".join(f"{times[b]:.2f}" for b in backends) + f" | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
