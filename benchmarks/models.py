"""Eight models: eager PyTorch, Inductor and this backend in turns, in one process.

    PYTHONPATH=build/python python benchmarks/models.py [--device cuda] [--only TEXT] [--threads N] [--seconds S]

Models are those of the transformers library, but for GPT-2 (gpt2.py) and a mixer: on the CPU with few layers, on a GPU
in their base sizes and bfloat16, trained with dropout. Times are medians of calls in milliseconds: with one thread of
the processor's time, which what else a machine does disturbs least. `--parts` says, instead, what the plans of this
backend call Python for.
"""

import argparse
import dataclasses
import statistics
import time
import warnings

import torch
from gpt2 import GPT2
from other_models import of_timm, others
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


@dataclasses.dataclass
class Sizes:
    device: str
    dtype: torch.dtype
    width: int
    layers: int
    heads: int
    words: int
    tokens: tuple
    images: tuple
    dropout: float
    stages: list  # blocks of each stage of ConvNeXt
    bottlenecks: list  # blocks of each stage of ResNet


SMALL = Sizes("cpu", torch.float32, 256, 4, 4, 1000, (2, 64), (2, 3, 128, 128), 0.0, [1, 1, 2, 1], [1, 1, 2, 1])
BASE = Sizes("cuda", torch.bfloat16, 768, 12, 12, 32000, (8, 512), (32, 3, 224, 224), 0.1, [3, 3, 9, 3], [3, 4, 6, 3])


def models(sizes):
    """name → what makes (module, function of its inputs, inputs)."""
    import transformers as hf

    width, layers, heads, words = sizes.width, sizes.layers, sizes.heads, sizes.words
    transformer = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads}
    transformer["intermediate_size"] = 4 * width
    dropped = {"hidden_dropout_prob": sizes.dropout, "attention_probs_dropout_prob": sizes.dropout}
    resolution = sizes.images[-1]

    def tokens():
        return (torch.randint(0, words, sizes.tokens, device=sizes.device),)

    def images():
        return (torch.randn(sizes.images, device=sizes.device, dtype=sizes.dtype),)

    def of(model, function, inputs):
        model = model.to(sizes.device, sizes.dtype)
        return model, function(model), inputs

    def gpt2():
        return of(GPT2(layers, width, heads, words, sizes.tokens[1], tied=True), lambda m: m, tokens())

    def bert():
        return of(
            hf.BertForMaskedLM(hf.BertConfig(vocab_size=words, **transformer, **dropped)),
            lambda m: lambda t: m(t).logits,
            tokens(),
        )

    def llama():
        gated = width * 8 // 3 // 16 * 16 + 16
        config = hf.LlamaConfig(vocab_size=words, **{**transformer, "intermediate_size": gated})
        return of(hf.LlamaForCausalLM(config), _logits, tokens())

    def t5():
        config = hf.T5Config(
            vocab_size=words,
            d_model=width,
            d_kv=width // heads,
            d_ff=4 * width,
            num_layers=layers * 3 // 4,
            num_heads=heads,
            dropout_rate=sizes.dropout,
        )
        return of(hf.T5ForConditionalGeneration(config), _seq2seq, tokens())

    def vit():
        config = hf.ViTConfig(**transformer, image_size=resolution)
        return of(Classifier(hf.ViTModel(config), width), lambda m: m, images())

    def convnext():
        first = width // 8
        config = hf.ConvNextConfig(hidden_sizes=[first, 2 * first, 4 * first, 8 * first], depths=sizes.stages)
        return of(Classifier(hf.ConvNextModel(config), 8 * first), lambda m: m, images())

    def resnet():
        hidden = [256, 512, 1024, 2048] if sizes is BASE else [64, 128, 256, 512]
        config = hf.ResNetConfig(
            embedding_size=hidden[0] // 4 * (1 + (sizes is SMALL)), hidden_sizes=hidden, depths=sizes.bottlenecks
        )
        return of(Classifier(hf.ResNetModel(config), hidden[-1]), lambda m: m, images())

    def mixer():
        return of(Mixer(layers, width, (resolution // 16) ** 2), lambda m: m, images())

    return {
        "GPT-2": gpt2,
        "BERT": bert,
        "Llama": llama,
        "T5": t5,
        "ViT": vit,
        "ConvNeXt": convnext,
        "ResNet": resnet,
        "Mixer": mixer,
    }


def step_of(make, backend, trained):
    torch.manual_seed(0)
    model, function, inputs = make()
    model.train(trained)

    def loss(*given):
        out = function(*given)
        words = given[0].dtype == torch.int64
        if out.dim() != 2 and not words:
            return out.float().square().mean()
        target = given[0].flatten() if words else torch.arange(len(out), device=out.device) % out.shape[-1]
        return F.cross_entropy(out.flatten(0, -2), target)

    run = loss if trained else function
    if backend != "eager":
        run = torch.compile(run, backend=backend)

    def call():
        if trained:
            model.zero_grad()
            run(*inputs).backward()
        else:
            with torch.no_grad():
                run(*inputs)

    return call


def measure(calls, seconds, clock, at_once):
    """Median milliseconds of each, in turns; `at_once`: calls between two readings of the clock."""
    times = {backend: [] for backend in calls}
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times["nvfuser"]) < 3:
        for backend, call in calls.items():
            for _ in range(4 // at_once):
                start = clock()
                for _ in range(at_once):
                    call()
                times[backend].append((clock() - start) / at_once)
    return {backend: statistics.median(of_backend) * 1e3 for backend, of_backend in times.items()}


def first_calls(calls, clock):
    """Seconds of the first call of each, and on a GPU the gigabytes that a later one holds at most."""
    taken, memory = {}, {}
    for backend, call in calls.items():
        start = clock()
        call()
        taken[backend] = clock() - start
        for _ in range(3):
            call()
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
            call()
            memory[backend] = torch.cuda.max_memory_allocated() / 2**30
    return taken, memory


def wall_of_gpu():
    torch.cuda.synchronize()
    return time.perf_counter()


def show_parts(call):
    from collections import Counter

    from nvfuser.dynamo.backend import observing

    with observing() as seen:
        for _ in range(3):
            call()
    for graph in seen.graphs:
        by_python = Counter(made.partition("(")[0] for made in graph.run.calls_of_python)
        print(f"    {graph.direction}: {str(graph.run).partition(chr(10))[0]}, by Python {dict(by_python)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[""], help="models whose names have one of these texts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6, help="of each case")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--timm", nargs="*", default=[], help="instead, models of timm with these names")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    import nvfuser.dynamo  # noqa: F401  where the package is not installed, but on the path

    warnings.filterwarnings("ignore")
    torch.set_num_threads(options.threads)
    sizes = BASE if options.device == "cuda" else SMALL
    clock = time.process_time if options.threads == 1 else time.perf_counter
    if sizes is BASE:
        clock = wall_of_gpu
    backends = ("nvfuser",) if options.parts else ("eager", "inductor", "nvfuser")
    print("| model | eager, ms | Inductor, ms | nvfuser, ms | best / nvfuser | first calls, s | memory, GB |")
    print("|---|---|---|---|---|---|---|")
    if options.timm:
        chosen = of_timm(options.timm, options.device, sizes.dtype)
    else:
        chosen = others(options.device, sizes.dtype) if options.others else models(sizes)
    for name, make in chosen.items():
        if not any(text in name for text in options.only):
            continue
        for trained in (False, True):
            torch._dynamo.reset()
            calls = {backend: step_of(make, backend, trained) for backend in backends}
            title = f"{name}, {'trained' if trained else 'inference'}"
            if options.parts:
                print(title)
                show_parts(calls["nvfuser"])
                continue
            taken, memory = first_calls(calls, clock)
            times = measure(calls, options.seconds, clock, 4 if sizes is BASE else 1)
            ratio = min(times["eager"], times["inductor"]) / times["nvfuser"]
            cells = [*(f"{times[b]:.2f}" for b in backends), f"{ratio:.2f}"]
            cells += [", ".join(f"{each[b]:.1f}" for b in backends if b in each) for each in (taken, memory)]
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)
            del calls


if __name__ == "__main__":
    main()
