"""Models of every kind that torch.compile(backend="nvfuser") is compared with PyTorch on: (model, inputs) by name.

Nothing is downloaded: modules of torch.nn, and models in the style of GPT-2, Llama, ViT, T5, ResNet and others, small.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

MODELS = {}


def model(make):
    MODELS[make.__name__] = make
    return make


# Modules of torch.nn ------------------------------------------------------------------------------


@model
def linear_gelu():
    return nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12)), (torch.randn(6, 12),)


@model
def encoder_layer():
    return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), (torch.randn(3, 6, 16),)


@model
def encoder_layer_norm_first():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", norm_first=True, batch_first=True)
    return layer, (torch.randn(3, 6, 16),)


@model
def decoder_layer():
    layer = nn.TransformerDecoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return layer, (torch.randn(3, 6, 16), torch.randn(3, 6, 16))


@model
def transformer():
    net = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True)
    return net, (torch.randn(3, 6, 16), torch.randn(3, 6, 16))


@model
def attention():
    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x):
            out, weights = self.inner(x, x, x)
            return out * weights.mean()

    return SelfAttention(), (torch.randn(3, 6, 16),)


@model
def layer_norm():
    return nn.LayerNorm(37), (torch.randn(5, 37) * 3 + 1,)


@model
def rms_norm():
    return nn.RMSNorm(40), (torch.randn(5, 40),)


@model
def group_norm():
    return nn.GroupNorm(3, 6), (torch.randn(4, 6, 5, 7),)


@model
def instance_norm():
    return nn.InstanceNorm2d(6, affine=True), (torch.randn(4, 6, 5, 7),)


@model
def batch_norm():
    return nn.BatchNorm2d(6), (torch.randn(4, 6, 5, 7),)


@model
def batch_norm_1d():
    return nn.Sequential(nn.Linear(8, 12), nn.BatchNorm1d(12), nn.ReLU()), (torch.randn(10, 8),)


@model
def local_response_norm():
    return nn.LocalResponseNorm(3), (torch.randn(4, 6, 5, 7),)


@model
def convolution_block():
    # A bias in front of a norm would have no gradient but roundings.
    convolution = nn.Conv2d(3, 8, 3, padding=1, bias=False)
    net = nn.Sequential(convolution, nn.BatchNorm2d(8), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten())
    return net, (torch.randn(4, 3, 8, 8),)


@model
def convolution_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.Mish(), nn.Conv2d(8, 4, 1))
    net = net.to(memory_format=torch.channels_last)
    return net, (torch.randn(4, 3, 8, 8).to(memory_format=torch.channels_last),)


@model
def lstm_cell():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(7, 9)

        def forward(self, x):
            h, c = x.new_zeros(x.shape[0], 9), x.new_zeros(x.shape[0], 9)
            for _ in range(3):
                h, c = self.cell(x, (h, c))
            return h + c

    return Cell(), (torch.randn(5, 7),)


@model
def gru_cell():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(7, 7)

        def forward(self, x):
            return self.cell(x, torch.tanh(x))

    return Cell(), (torch.randn(5, 7),)


@model
def bilinear():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Bilinear(5, 6, 7)

        def forward(self, x, y):
            return F.softsign(self.inner(x, y))

    return Net(), (torch.randn(4, 5), torch.randn(4, 6))


class Each(nn.Module):
    """Each of the modules on its own part of the work."""

    def __init__(self, modules):
        super().__init__()
        self.parts = nn.ModuleList(modules)

    def forward(self, x):
        return torch.stack([part(x) for part in self.parts]).mean(0)


@model
def activations():
    kinds = [nn.ReLU, nn.ReLU6, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.Hardsigmoid]
    return Each([kind() for kind in kinds]), (torch.randn(6, 11) * 2,)


@model
def more_activations():
    kinds = [nn.Hardtanh, nn.LeakyReLU, nn.LogSigmoid, nn.PReLU, nn.Sigmoid, nn.Softplus, nn.Softshrink, nn.Softsign]
    kinds += [nn.Tanh, nn.Tanhshrink, nn.Hardshrink]
    return Each([kind() for kind in kinds] + [nn.Threshold(0.1, 2.0)]), (torch.randn(6, 11) * 2,)


@model
def softmaxes():
    parts = [nn.Softmax(0), nn.Softmax(1), nn.LogSoftmax(0), nn.LogSoftmax(1), nn.Softmin(1)]
    return Each(parts), (torch.randn(6, 11),)


@model
def gated_units():
    return nn.Sequential(nn.Linear(6, 20), nn.GLU(), nn.Linear(10, 4), nn.GELU(approximate="tanh")), (
        torch.randn(5, 6),
    )


class Losses(nn.Module):
    """A sum of losses, the target made of the input."""

    def __init__(self, losses):
        super().__init__()
        self.losses = nn.ModuleList(losses)

    def forward(self, x, y):
        return sum(loss(x, y) for loss in self.losses)


@model
def regression_losses():
    losses = [nn.MSELoss(), nn.L1Loss(), nn.SmoothL1Loss(), nn.HuberLoss(reduction="sum"), nn.MSELoss(reduction="sum")]
    return Losses(losses), (torch.randn(5, 7), torch.randn(5, 7))


@model
def probability_losses():
    losses = [nn.BCELoss(), nn.KLDivLoss(reduction="batchmean"), nn.PoissonNLLLoss(log_input=False)]
    return Losses(losses), (torch.rand(5, 7) * 0.8 + 0.1, torch.rand(5, 7) * 0.8 + 0.1)


@model
def logit_losses():
    losses = [nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss(reduction="sum"), nn.CrossEntropyLoss(label_smoothing=0.1)]
    return Losses(losses), (torch.randn(5, 7), torch.rand(5, 7))


@model
def class_losses():
    class Net(nn.Module):
        def forward(self, x, labels):
            loss = F.cross_entropy(x, labels, ignore_index=2) + F.nll_loss(F.log_softmax(x, 1), labels)
            return loss + F.cross_entropy(x, labels, label_smoothing=0.2, reduction="sum")

    return Net(), (torch.randn(5, 7), torch.tensor([1, 2, 0, 6, 3]))


@model
def pair_losses():
    class Net(nn.Module):
        def forward(self, a, b):
            distance = F.triplet_margin_loss(a, b, a * b + 1)
            return (
                distance
                + F.cosine_embedding_loss(a, b, torch.ones(a.shape[0], device=a.device))
                + F.cosine_similarity(a, b).sum()
            )

    return Net(), (torch.randn(5, 7), torch.randn(5, 7))


# Models in the style of public ones ---------------------------------------------------------------


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class GPT2Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT2(nn.Module):
    def __init__(self, words=50, width=24, heads=3, layers=2, longest=32):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(GPT2Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.t()


@model
def gpt2():
    return GPT2(), (torch.randint(0, 50, (3, 6)),)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, shared):
        super().__init__()
        self.heads, self.shared, part = heads, shared, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, shared * part, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)

    @staticmethod
    def rotate(x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        h = self.norm1(x)
        q = self.q(h).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = (p(h).view(batch, length, self.shared, -1).transpose(1, 2) for p in (self.k, self.v))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        k, v = (t.repeat_interleave(self.heads // self.shared, dim=1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, words=50, width=32, heads=4, shared=2, layers=2):
        super().__init__()
        self.part = width // heads
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, shared) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        rates = 10000.0 ** (-torch.arange(0, self.part, 2, device=tokens.device, dtype=torch.float32) / self.part)
        angles = torch.cat((places[:, None] * rates, places[:, None] * rates), dim=-1)
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, angles.cos(), angles.sin())
        return self.head(self.norm(x))


@model
def llama():
    return Llama(), (torch.randint(0, 50, (3, 6)),)


@model
def vit():
    class ViT(nn.Module):
        def __init__(self, width=16):
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, stride=4)
            self.token = nn.Parameter(torch.randn(1, 1, width))
            self.layer = nn.TransformerEncoderLayer(width, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
            self.head = nn.Linear(width, 10)

        def forward(self, images):
            x = self.patches(images).flatten(2).transpose(1, 2)
            x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1)
            return self.head(self.layer(x)[:, 0])

    return ViT(), (torch.randn(5, 3, 8, 8),)


@model
def t5_attention():
    class Relative(nn.Module):
        def __init__(self, width=16, heads=4):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.bias = nn.Embedding(32, heads)
            self.scale = nn.Parameter(torch.ones(width))

        def forward(self, x):
            h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
            q, k, v = (p(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
            at = torch.arange(x.shape[1], device=x.device)
            distance = (at[None, :] - at[:, None]).clamp(-16, 15) + 16
            scores = q @ k.transpose(-1, -2) + self.bias(distance).permute(2, 0, 1)
            mixed = torch.softmax(scores.float(), dim=-1).type_as(scores) @ v
            return x + self.o(mixed.transpose(1, 2).flatten(2))

    return Relative(), (torch.randn(3, 6, 16),)


@model
def resnet_block():
    class Block(nn.Module):
        def __init__(self, channels=6):
            super().__init__()
            self.conv1, self.conv2 = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
            self.norm1, self.norm2 = (nn.BatchNorm2d(channels) for _ in range(2))

        def forward(self, x):
            out = F.relu(self.norm1(self.conv1(x)))
            return F.relu(x + self.norm2(self.conv2(out)))

    return Block(), (torch.randn(4, 6, 6, 6),)


@model
def mixer():
    class Mixer(nn.Module):
        def __init__(self, tokens=6, width=12):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.across = nn.Sequential(nn.Linear(tokens, 24), nn.GELU(), nn.Linear(24, tokens))
            self.within = nn.Sequential(nn.Linear(width, 24), nn.GELU(), nn.Linear(24, width))

        def forward(self, x):
            x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.within(self.norm2(x))

    return Mixer(), (torch.randn(3, 6, 12),)


@model
def autoencoder():
    class Variational(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(10, 8), nn.Linear(4, 10)

        def forward(self, x, noise):
            mean, log_variance = self.encode(x).chunk(2, dim=-1)
            z = mean + noise * torch.exp(0.5 * log_variance)
            divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp(), dim=-1)
            return F.mse_loss(torch.sigmoid(self.decode(z)), x) + divergence.mean()

    return Variational(), (torch.rand(5, 10), torch.randn(5, 4))


@model
def mixture_of_experts():
    class Experts(nn.Module):
        def __init__(self, width=8, experts=3):
            super().__init__()
            self.gate = nn.Linear(width, experts)
            self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.SiLU()) for _ in range(experts))

        def forward(self, x):
            weights = F.softmax(self.gate(x), dim=-1)
            best = weights.amax(-1, keepdim=True)
            weights = torch.where(weights >= 0.5 * best, weights, torch.zeros_like(weights))
            return sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))

    return Experts(), (torch.randn(5, 8),)


@model
def state_space():
    class Scan(nn.Module):
        def __init__(self, width=6):
            super().__init__()
            self.rate, self.inp = nn.Parameter(torch.randn(width)), nn.Linear(width, width)

        def forward(self, x):
            decay = torch.exp(-F.softplus(self.rate))
            state = torch.zeros_like(x[:, 0])
            states = []
            for drive in self.inp(x).unbind(1):
                state = decay * state + drive
                states.append(state)
            return torch.stack(states, dim=1)

    return Scan(), (torch.randn(3, 5, 6),)


@model
def graph_layer():
    class Messages(nn.Module):
        def __init__(self, width=6):
            super().__init__()
            self.inner = nn.Linear(width, width)

        def forward(self, x, edges):
            messages = F.leaky_relu(self.inner(x)[edges[0]] - x[edges[1]], 0.1)
            return torch.zeros_like(x).index_add(0, edges[1], messages) / (1 + x.square().sum(-1, keepdim=True))

    return Messages(), (torch.randn(7, 6), torch.randint(0, 7, (2, 11)))


@model
def half_precision():
    net = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU(), nn.RMSNorm(16)).to(torch.bfloat16)
    return net, (torch.randn(5, 16, dtype=torch.bfloat16),)


@model
def double_precision():
    net = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.Softplus(), nn.Softmax(-1)).double()
    return net, (torch.randn(5, 16, dtype=torch.float64),)
