"""Lightning Thunder with its nvFuser executor, which finds the module nvfuser_direct of this package. Needs a GPU.

pip install . lightning-thunder    # and a PyTorch that this Thunder supports
python examples/python/thunder_executor.py
"""

import thunder
import torch
from thunder.executors.nvfuserex import nvfuser_version, nvfuserex
from torch.nn import functional as F


def gated_norm(x, gate, weight):
    return F.layer_norm(x, (x.shape[-1],), weight) * F.silu(gate)


def main():
    print("nvFuser's API as Thunder sees it:", nvfuser_version())
    x, gate = (torch.randn(64, 1024, device="cuda", requires_grad=True) for _ in range(2))
    weight = torch.randn(1024, device="cuda", requires_grad=True)
    fast = thunder.jit(gated_norm, executors=[nvfuserex])
    out = fast(x, gate, weight)
    torch.testing.assert_close(out, gated_norm(x, gate, weight), rtol=1e-4, atol=1e-4)
    out.sum().backward()
    print(thunder.last_traces(fast)[-1])


if __name__ == "__main__":
    main()
