"""Models of other kinds than those of models.py: windows, depth-wise convolutions, diffusion, graphs, speech, and more.

They are those of torchvision and transformers where these have them, in the sizes in which people run them, on a GPU.
"""

import functools

import torch
from torch import nn
from torch.nn import functional as F


def of_timm(names, device, dtype):
    """name → what makes a model of timm, as `others` has them; any of its names."""

    def make(name):
        import timm

        model = timm.create_model(name, num_classes=100).to(device, dtype)
        size = model.default_cfg["input_size"]
        return model, model, (torch.randn(32, *size, device=device, dtype=dtype),)

    return {name: functools.partial(make, name) for name in names}


def of_transformers(names, device, dtype):
    """name → what makes a language model of transformers by its kind's name: 12 layers of width 768, 8 x 512 tokens."""

    def make(name):
        import transformers as hf

        width = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 2048}
        config = hf.AutoConfig.for_model(name, vocab_size=32000, **width)
        kind = (
            hf.AutoModelForCausalLM
            if type(config) in hf.AutoModelForCausalLM._model_mapping
            else hf.AutoModelForMaskedLM
        )
        model = kind.from_config(config).to(device, dtype)
        tokens = torch.randint(0, 32000, (8, 512), device=device)
        return model, lambda given: model(input_ids=given).logits, (tokens,)

    return {name: functools.partial(make, name) for name in names}


TORCHVISION = ("swin_t", "resnet50", "efficientnet_b0", "mobilenet_v3_large", "regnet_y_1_6gf", "densenet121")


class Residual(nn.Module):
    """A block of a diffusion model: two convolutions behind norms by groups, shifted by the time."""

    def __init__(self, before, after, times):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, before), nn.GroupNorm(32, after)])
        self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.shift = nn.Linear(times, after)
        self.shortcut = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, time):
        y = self.first(F.silu(self.norms[0](x))) + self.shift(F.silu(time))[:, :, None, None]
        return self.shortcut(x) + self.second(F.silu(self.norms[1](y)))


class UNet(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        widths, times = [width, 2 * width, 4 * width], 4 * width
        self.time, self.enter = nn.Linear(width, times), nn.Conv2d(4, width, 3, padding=1)
        self.down = nn.ModuleList(Residual(a, b, times) for a, b in zip([width, *widths], widths, strict=False))
        self.halve = nn.ModuleList(nn.Conv2d(a, a, 3, 2, 1) for a in widths[:2])
        self.middle = Residual(widths[2], widths[2], times)
        self.up = nn.ModuleList(
            Residual(a + b, b, times) for a, b in zip([widths[2], *reversed(widths)], reversed(widths), strict=False)
        )
        self.norm, self.leave = nn.GroupNorm(32, width), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x, time):
        time, x, kept = self.time(time), self.enter(x), []
        for level, block in enumerate(self.down):
            x = block(x, time)
            kept.append(x)
            x = self.halve[level](x) if level < 2 else x
        x = self.middle(x, time)
        for level, block in enumerate(self.up):
            x = F.interpolate(x, scale_factor=2, mode="nearest") if level else x
            x = block(torch.cat([x, kept.pop()], 1), time)
        return self.leave(F.silu(self.norm(x)))


class GraphAttention(nn.Module):
    """Nodes take what their neighbours say, by weights that sum to 1 at each node."""

    def __init__(self, width=256, heads=8, layers=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.scores = nn.ParameterList(nn.Parameter(torch.randn(2, heads, width // heads) * 0.1) for _ in range(layers))
        self.heads = heads

    def forward(self, x, source, target):
        nodes = x.shape[0]
        for layer, score in zip(self.layers, self.scores, strict=True):
            values = layer(x).view(nodes, self.heads, -1)
            edges = (values * score[0]).sum(-1)[source] + (values * score[1]).sum(-1)[target]
            edges = F.leaky_relu(edges, 0.2)
            least = torch.full((nodes, self.heads), -1e30, device=x.device, dtype=edges.dtype)
            greatest = least.scatter_reduce(0, target[:, None].expand_as(edges), edges, "amax")
            weights = torch.exp(edges - greatest[target])
            total = torch.zeros_like(least).index_add(0, target, weights)
            said = values[source] * (weights / total[target])[..., None]
            x = F.elu(torch.zeros_like(values).index_add(0, target, said).reshape(nodes, -1)) + x
        return x


def others(device, dtype):
    """name → what makes (module, function of its inputs, inputs)."""
    import transformers as hf

    def random(*shape):
        return torch.randn(shape, device=device, dtype=dtype)

    def tokens(*shape, words=30000):
        return torch.randint(0, words, shape, device=device)

    def of(model, inputs, function=None):
        model = model.to(device, dtype)
        return model, function(model) if function else model, inputs

    def of_torchvision(name):
        def make():
            import torchvision

            return of(getattr(torchvision.models, name)(), (random(32, 3, 224, 224),))

        return make

    def whisper():
        sizes = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in SPEECH}
        model = hf.WhisperForConditionalGeneration(hf.WhisperConfig(d_model=512, **sizes))
        return of(
            model,
            (random(4, 80, 3000), tokens(4, 128)),
            lambda m: lambda f, t: m(input_features=f, decoder_input_ids=t, use_cache=False).logits,
        )

    def deberta():
        config = hf.DebertaV2Config(
            hidden_size=768,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=3072,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            position_buckets=256,
            vocab_size=30000,
        )
        return of(hf.DebertaV2ForMaskedLM(config), (tokens(8, 256),), lambda m: lambda t: m(t).logits)

    def segformer():
        model = hf.SegformerForSemanticSegmentation(hf.SegformerConfig(num_labels=19))
        return of(model, (random(8, 3, 256, 256),), lambda m: lambda x: m(x).logits)

    def graph():
        edges = tokens(2, 400000, words=50000)
        return of(GraphAttention(), (random(50000, 256), edges[0], edges[1]))

    return {
        **{name: of_torchvision(name) for name in TORCHVISION},
        "U-Net": lambda: of(UNet(), (random(8, 4, 64, 64), random(8, 128))),
        "graph attention": graph,
        "Whisper": whisper,
        "DeBERTa": deberta,
        "Segformer": segformer,
    }


SPEECH = (("layers", 6), ("attention_heads", 8), ("ffn_dim", 2048))
