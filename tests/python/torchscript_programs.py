"""Programs of TorchScript that several tests run."""

import torch
import torch.nn.functional as F


def chain(x, y):
    return torch.tanh(x * y + 0.5).sigmoid() - y.exp() / (x.abs() + 1.0)


def two_results(x, y):
    a = x * y
    return a + 1.0, a.relu() * 2.0


def broadcast(x, y, z):
    return (x + y) * z - x.sum(1, keepdim=True)


def gelu_bias(x, b):
    return F.gelu(x + b) * torch.sigmoid(x)


def softmax(x, m):
    return torch.softmax(x * 0.125 + m, -1)


def layer_norm(x, w, b):
    return F.layer_norm(x + 1.0, [16], w, b).relu()


def rms_norm(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def half_chain(x, y):
    return (x * y + x).sigmoid() * y


def scalar_float(x, s: float):
    return (x * s + 1.0).relu()


def branch(x, y):
    if bool(x.sum() > 0.0):  # noqa: SIM108
        z = (x + y).relu() * 2.0
    else:
        z = (x - y).tanh() * 3.0
    return z + 1.0


def loop(x, n: int):
    for i in range(n):
        x = (x * 0.5 + i).relu()
    return x * 2.0


def views(x):
    y = (x * 2.0).view(-1, 4)
    return (y + 1.0).relu().reshape(x.size(0), -1)


def transposes(x):
    return (x.t() * 2.0 + 1.0).transpose(0, 1).relu()


def mlp(x, w, b, w2):
    h = F.gelu(torch.matmul(x, w) + b)
    return torch.matmul(h, w2).relu() * 0.5


def attention(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-1, -2)) * 0.25
    return torch.matmul(torch.softmax(scores.masked_fill(mask, -1e9), -1), v)


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 16))

    def forward(self, x):
        return (x * self.weight + 1.0).relu()


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 16)
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x):
        return x + self.drop(self.down(F.gelu(self.up(self.norm(x)))))


class ConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x))) * 2.0
