"""Trains a small network through torch.compile(backend="nvfuser") and shows what was fused.

pip install .        # then the backend is found by its entry point, without an import
python examples/python/compile_training.py
"""

import nvfuser.dynamo  # for explain(), and where the package is on the path but not installed
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + F.dropout(self.down(F.gelu(self.up(self.norm(x)))), 0.1, self.training)


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = nn.Sequential(nn.Linear(16, 32), Block(32), Block(32), nn.Linear(32, 4)).to(device)
    x = torch.randn(256, 16, device=device)
    labels = x[:, :4].argmax(1)

    print(nvfuser.dynamo.explain(net, x))
    fast = torch.compile(net, backend="nvfuser")
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(60):
        loss = F.cross_entropy(fast(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} after {len(losses)} steps")


if __name__ == "__main__":
    main()
