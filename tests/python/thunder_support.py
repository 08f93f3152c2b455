"""Lightning Thunder with its nvFuser executor, which runs our nvfuser_direct, on a GPU or turned to the CPU.

Thunder's executor takes CUDA tensors alone. Without a GPU this replaces, in this process, what it asks: whether there
is one, and which kind of device it fuses on. What it then defines and executes is the same.
"""

import torch

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


def _name_what_pytorch_dropped():
    """Methods of Tensor that Thunder 0.2.6 names when it is imported, and PyTorch 2.13 does not have."""
    for name in ("align_as", "align_to", "has_names", "refine_names", "rename"):
        if not hasattr(torch.Tensor, name):

            def missing(self, *arguments):
                raise NotImplementedError("PyTorch has no named tensors any more")

            missing.__name__ = name
            setattr(torch.Tensor, name, missing)


def _turn_to_cpu():
    """Imports Thunder as on a machine with a GPU, and turns its executor's checks to the CPU."""
    real = torch.cuda.is_available, torch.cuda.get_device_capability
    torch.cuda.is_available, torch.cuda.get_device_capability = lambda: True, lambda *device: (9, 0)
    try:
        import thunder
        from thunder.core.devices import DeviceType
        from thunder.executors import nvfuserex, nvfuserex_impl

        version = nvfuserex.nvfuser_version()
    finally:
        torch.cuda.is_available, torch.cuda.get_device_capability = real

    class Kinds(type):
        def __instancecheck__(cls, kind):
            return isinstance(kind, DeviceType)

    class FusedKind(metaclass=Kinds):
        CUDA = DeviceType.CPU

    nvfuserex_impl.DeviceType = FusedKind
    nvfuserex_impl.nvfuser_version = lambda: version
    nvfuserex_impl.cpu = None  # a tensor there is no host's scalar beside a GPU's tensors
    return thunder


def load():
    """Thunder and its nvFuser executor."""
    _name_what_pytorch_dropped()
    if not ON_GPU:
        thunder = _turn_to_cpu()
    else:
        import thunder
    from thunder.executors.nvfuserex import nvfuserex

    assert nvfuserex is not None, "Thunder does not take this nvfuser_direct"
    return thunder, nvfuserex
