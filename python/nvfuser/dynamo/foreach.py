"""Operations on lists of tensors (`_foreach_*`, what optimizers call), written as one operation for each tensor.

Each has a name and arguments of an ordinary operation, some of them as a list: `_foreach_addcdiv.ScalarList` of
parameters, two lists of tensors and a list of numbers is `addcdiv` of each. So the table follows from the schemas.
"""

import torch

aten = torch.ops.aten


def _extreme(of_tensors, of_number):
    return lambda x, other: (of_tensors if isinstance(other, torch.Tensor) else of_number)(x, other)


# What is called otherwise for one tensor.
_OF_ONE = {
    "maximum": _extreme(torch.maximum, torch.clamp_min),
    "minimum": _extreme(torch.minimum, torch.clamp_max),
    "norm": lambda x, order=2, dtype=None: torch.linalg.vector_norm(x, order, dtype=dtype),
    "max": torch.amax,
    "zero": torch.zeros_like,
    "addcmul": lambda x, a, b, value=1: torch.addcmul(x, a, b, value=value),
    "addcdiv": lambda x, a, b, value=1: torch.addcdiv(x, a, b, value=value),
}


def foreach_decompositions():
    """Overload → decomposition."""
    found = {}
    for qualified in torch._C._dispatch_get_all_op_names():
        name, _, variant = qualified.removeprefix("aten::").partition(".")
        if not qualified.startswith("aten::_foreach_") or name.endswith("_") or variant.endswith("out"):
            continue
        overload = getattr(getattr(aten, name), variant or "default")
        single = name.removeprefix("_foreach_")
        operation = _OF_ONE.get(single) or getattr(aten, single, None)
        if operation is not None:
            found[overload] = _each(overload, operation)
    return found


def _each(overload, operation):
    schema = overload._schema.arguments
    lists = {argument.name for argument in schema if isinstance(argument.type, torch.ListType)}
    positional = [argument.name for argument in schema if not argument.kwarg_only]

    def decomposed(*args, **kwargs):
        given = [*zip(positional, args, strict=False), *kwargs.items()]
        if any(name == "scalars" and isinstance(value, torch.Tensor) for name, value in given):
            return NotImplemented  # numbers that only the data tell
        count = next(len(value) for name, value in given if name in lists)
        results = []
        for i in range(count):
            own = {name: value[i] if name in lists else value for name, value in given}
            ordered = [own.pop(name) for name in positional if name in own]
            results.append(operation(*ordered, **own))
        return results

    return decomposed
