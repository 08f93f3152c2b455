"""What `import torch` calls (entry point `torch.backends`): TorchScript's switches of nvfuser work again.

Names are bound, nothing else: no library is loaded, nothing is built, and nothing that goes wrong here reaches
`import torch`. The work is done by nvfuser.torchscript, when it is first needed.
"""

import os
import sys

# The first of these to be called on a machine with a GPU loads the extension.
_MAKES_SCRIPTS = (
    "_create_function_from_trace",
    "_create_method_from_trace",
    "_create_module_with_type",
    "_jit_script_compile",
    "import_ir_module",
    "import_ir_module_from_buffer",
)
_OLDEST = (2, 7)

_originals = {}


def _switches():
    from nvfuser import torchscript

    return torchscript


def set_enabled(value):
    """Turns fusion on or off for what is optimised from now on; the value before."""
    return _switches().set_enabled(value)


def is_enabled():
    return _switches().is_enabled()


def can_be_enabled():
    return os.environ.get("PYTORCH_JIT_USE_NNC_NOT_NVFUSER") != "1"


def set_single_node_mode(value):
    """Whether one operation alone is a group; the value before."""
    return _switches().set_knob("single_node", value)


def is_single_node_mode():
    return _switches().knob("single_node")


def set_horizontal_mode(value):
    """Whether groups that share an input become one; the value before."""
    return _switches().set_knob("horizontal", value)


def is_horizontal_mode():
    return _switches().knob("horizontal")


def set_guard_mode(value):
    """Whether guards check what groups were made for; the value before."""
    return _switches().set_knob("guard", value)


def is_guard_mode():
    return _switches().knob("guard")


def set_skip_node_kind(kind, toggle):
    """Turns fusion of a kind of nodes off, or on again, if `toggle`; whether it was off before."""
    return _switches().skip_node_kind(kind, toggle)


_NAMES = {
    "_jit_set_nvfuser_enabled": set_enabled,
    "_jit_nvfuser_enabled": is_enabled,
    "_jit_nvfuser_can_be_enabled": can_be_enabled,
    "_jit_set_nvfuser_single_node_mode": set_single_node_mode,
    "_jit_nvfuser_single_node_mode": is_single_node_mode,
    "_jit_set_nvfuser_horizontal_mode": set_horizontal_mode,
    "_jit_nvfuser_horizontal_mode": is_horizontal_mode,
    "_jit_set_nvfuser_guard_mode": set_guard_mode,
    "_jit_nvfuser_guard_mode": is_guard_mode,
    "_jit_set_nvfuser_skip_node_kind": set_skip_node_kind,
}


def _loading(core, name):
    """The function, which at its first call loads the extension if there is a GPU to fuse on."""
    original = getattr(core, name)
    _originals[name] = original

    def first_call(*args, **kwargs):
        unwatch()
        _switches().load_for_cuda()
        return original(*args, **kwargs)

    return first_call


def unwatch():
    """The functions that make scripts are PyTorch's own again."""
    core = sys.modules["torch"]._C
    while _originals:
        setattr(core, *_originals.popitem())


def _version(torch):
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def autoload():
    """Binds the names; twice does no harm."""
    try:
        torch = sys.modules["torch"]
        core = torch._C
        if _version(torch) < _OLDEST or core.__dict__.get("_jit_set_nvfuser_enabled") is set_enabled:
            return
        for name, function in _NAMES.items():
            setattr(core, name, function)
        if torch.version.cuda is not None and can_be_enabled():
            for name in _MAKES_SCRIPTS:
                if hasattr(core, name):
                    setattr(core, name, _loading(core, name))
    except Exception as error:
        print(f"nvfuser: TorchScript's switches are not bound: {error}", file=sys.stderr)
