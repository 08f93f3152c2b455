"""torch.compile(model, backend="nvfuser"): found by its entry point, without an import.

A graph of ATen operations, forward or backward, is cut where an operation cannot be fused; what lies between two cuts
becomes one Fusion, which the library cuts into kernels. Everything else is run by PyTorch, as before.

>>> import nvfuser.dynamo
>>> print(nvfuser.dynamo.explain(model, x))  # what was fused, what was left to PyTorch, and why
"""

import torch._dynamo

from .backend import backend
from .explain import explain

__all__ = ["backend", "explain"]

# From a checkout there is no entry point to be found by.
if "nvfuser" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="nvfuser")
