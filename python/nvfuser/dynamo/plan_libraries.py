"""Operations of libraries with their operands as a plan's C functions take them: (name, tensors, numbers, lists)."""

import torch

aten = torch.ops.aten


def library_of(node):
    """None for an operation, or operands, that none of these functions is for."""
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
