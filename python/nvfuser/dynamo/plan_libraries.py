"""Operations of PyTorch with their operands as a plan's C functions take them.

Some have functions of their own (`library_of`), which cost least. Those whose operands and results can be described as
their schema has them are called by PyTorch's dispatcher (`dispatched_of`).
"""

import torch

from .operators import meta

aten = torch.ops.aten


def library_of(node):
    """(name, tensors, numbers, lists); None for an operation, or operands, that none of these functions is for."""
    operands = _OPERANDS.get(node.target)
    if operands is None:
        return None
    tensors, numbers, lists = operands(*node.args, **node.kwargs)
    known = all(value is None or isinstance(value, torch.fx.Node) for value in tensors)
    plain = all(value is None or isinstance(value, bool | int | float) for value in numbers)
    whole = all(isinstance(size, int) for sizes in lists for size in sizes)
    if not (known and plain and whole):
        return None
    name = node.target._schema.name.removeprefix("aten::")
    return name, tensors, [None if value is None else float(value) for value in numbers], [list(each) for each in lists]


def _product(a, b):
    return [a, b], [], []


def _added_product(self, a, b, beta=1, alpha=1):
    return [self, a, b], [beta, alpha], []


def _attention(query, key, value, dropout_p=0.0, is_causal=False, attn_mask=None, scale=None):
    return [query, key, value, attn_mask], [dropout_p, is_causal, scale], []


def _attention_gradient(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask=None, scale=None):
    return [grad_out, query, key, value, out, logsumexp, attn_mask], [dropout_p, is_causal, scale], []


def _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    return [input, weight, bias], [transposed, groups], [stride, padding, dilation, output_padding]


_OPERANDS = {
    aten.mm.default: _product,
    aten.bmm.default: _product,
    aten.addmm.default: _added_product,
    aten.baddbmm.default: _added_product,
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_gradient,
    aten.convolution.default: _convolution,
}


# By the dispatcher --------------------------------------------------------------------------------


def dispatched_of(node):
    """(name, overload, [(kind, whether it is optional, value)]) of an operation of ATen; None where some operand has no
    such description, or a result is no tensor (results of several kinds PyTorch 2.11 mixes up). Operations of others
    may be Python's, which is to be called once, whatever comes of it."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return None
    schema = node.target._schema
    if not schema.returns or any(str(result.type) != "Tensor" for result in schema.returns):
        return None
    operands = []
    for place, argument in enumerate(schema.arguments):
        given = node.kwargs.get(argument.name, argument.default_value)
        operands.append(_operand(argument.real_type, node.args[place] if place < len(node.args) else given))
    return None if None in operands else (schema.name, schema.overload_name, operands)


def _operand(type_, value):
    is_optional = isinstance(type_, torch.OptionalType)
    if value is None:
        return ("none", True, None) if is_optional else None
    described = _DESCRIBED.get(str(type_.getElementType() if is_optional else type_))
    kind, value = (None, None) if described is None else described(value)
    return None if kind is None else (kind, is_optional, value)


def _tensor(value):
    is_tensor = isinstance(value, torch.fx.Node) and isinstance(meta(value), torch.Tensor)
    return ("tensor", value) if is_tensor else (None, None)


def _is_integer(value):
    return isinstance(meta(value) if isinstance(value, torch.fx.Node) else value, int | torch.SymInt)


def _integer(value):
    value = int(value) if isinstance(value, bool) else value
    return ("integer", value) if _is_integer(value) else (None, None)


def _integers(value):
    value = [int(item) if isinstance(item, bool) else item for item in value]
    return ("integers", value) if all(map(_is_integer, value)) else (None, None)


def _real(value):
    return ("real", float(value)) if isinstance(value, int | float) else (None, None)


def _code(prefix):
    """Of a constant of PyTorch, which a C function of this name tells."""
    return lambda value: ("code", f"aoti_torch_{prefix}_{str(value).removeprefix('torch.')}")


_DESCRIBED = {
    "Tensor": _tensor,
    "int": _integer,
    "bool": _integer,
    "float": _real,
    "List[int]": _integers,
    "List[bool]": _integers,
    "ScalarType": _code("dtype"),
    "MemoryFormat": _code("memory_format"),
    "Layout": _code("layout"),
}
