"""Products of matrices whose rows begin at odd places: their operands are padded.

Tensor cores are fed 16 bytes at a time. Where a row of an operand or of the result does not begin at a multiple of
that, libraries take kernels that are several times slower: a head of 50257 words, as GPT-2's, costs more than all its
layers.

    logits: bf16[8192, 50257] = mm(x, permute(w, [1, 0]))

becomes

    w8: bf16[50264, 768] = constant_pad_nd(w, [0, 0, 0, 7])
    padded: bf16[8192, 50264] = mm(x, permute(w8, [1, 0]))
    logits: bf16[8192, 50257], strides (50264, 1) = slice(padded, 1, 0, 50257)

What a fusion computes is padded by that fusion. Where results leave the graph, or an operation of PyTorch reads them,
they are copied to memory without gaps, as they would have been.
"""

import torch

from .layout import hint
from .operators import RULES, meta
from .placement import Kind

aten = torch.ops.aten

DEVICES = ("cuda",)
_ALIGNMENT = 16  # bytes
_PRODUCTS = (aten.mm.default, aten.addmm.default)
_SWAPS = (aten.t.default, aten.permute.default, aten.transpose.int)
# Of an H200 (docs/performance.md), with care: products with odd rows and with aligned ones, copies, one launch.
_ODD_FLOPS, _ALIGNED_FLOPS, _BYTES, _LAUNCH = 1.4e14, 5e14, 3e12, 1e-5


def pad_products(graph):
    """Pads the products of half precision in `graph`, a graph of ATen operations, where that saves time."""
    padded = {}  # (source, widths): its padded copy
    for node in list(graph.nodes):
        if node.target in _PRODUCTS and meta(node).device.type in DEVICES and meta(node).element_size() == 2:
            product = _Product(graph, node, padded)
            if product.widths and pays(product):
                product.pad()


def pays(product):
    """Whether aligned kernels save more than copies cost."""
    m, n, k = (hint(size) for size in (product.m, product.n, product.k))
    saved = 2 * m * n * k * (1 / _ODD_FLOPS - 1 / _ALIGNED_FLOPS)
    m8, n8, k8 = (product.widths.get(size, 0) for size in "mnk")
    leaves = n8 and any(user.op == "output" for user in product.node.users)
    copied = [size for size, is_copied in ((m * k, m8 or k8), (k * n, k8 or n8), (m * n, leaves)) if is_copied]
    return saved > sum(_LAUNCH + 2 * size * meta(product.node).element_size() / _BYTES for size in copied)


class _Product:
    """A node mm(a, b) or addmm(bias, a, b); `widths`: by how much each of its sizes m, n, k is to grow."""

    def __init__(self, graph, node, padded):
        self.graph, self.node, self.padded = graph, node, padded
        self.bias, self.a, self.b = node.args if node.target is aten.addmm.default else (None, *node.args)
        (self.m, self.k), self.n = meta(self.a).shape, meta(self.b).shape[1]
        self.widths = self._widths()

    def _widths(self):
        unit = _ALIGNMENT // meta(self.node).element_size()
        odd = {"n": self.n} if hint(self.n) % unit else {}
        for operand, names in ((self.a, "mk"), (self.b, "kn")):
            strides = [hint(stride) for stride in meta(operand).stride()]
            if 1 not in strides:
                return {}
            inner = 1 if strides[1] == 1 else 0
            if strides[1 - inner] % unit:
                odd[names[inner]] = meta(operand).shape[inner]
        # (Rows of a size that fits, but odd places, are parts of a wider matrix: padding moves none.)
        if any(isinstance(size, torch.SymInt) or size % unit == 0 for size in odd.values()):
            return {}
        if self.bias is not None and meta(self.bias).dim() != 1:
            return {}
        return {name: -size % unit for name, size in odd.items()}

    def pad(self):
        m, n, k = (self.widths.get(name, 0) for name in "mnk")
        with self.graph.inserting_before(self.node):
            a, b = self._operand(self.a, m, k), self._operand(self.b, k, n)
            bias = () if self.bias is None else (self._padded(self.bias, [0, n]) if n else self.bias,)
            result = self._call(self.node.target, *bias, a, b, **self.node.kwargs)
            for axis, size, width in ((0, self.m, m), (1, self.n, n)):
                if width:
                    result = self._call(aten.slice.Tensor, result, axis, 0, size)
        self.node.replace_all_uses_with(result)
        self.graph.erase_node(self.node)
        if n:
            _settle_readers(self.graph, result)

    def _operand(self, operand, rows, columns):
        """Padded where it lies in memory: columns that are side by side stay so."""
        if not rows and not columns:
            return operand
        if hint(meta(operand).stride(1)) == 1:
            return self._padded(operand, [0, columns, 0, rows])
        is_swap = operand.target in _SWAPS and meta(operand.args[0]).stride() == meta(operand).stride()[::-1]
        base = operand.args[0] if is_swap else self._call(aten.permute.default, operand, [1, 0])
        return self._call(aten.permute.default, self._padded(base, [0, rows, 0, columns]), [1, 0])

    def _padded(self, source, widths):
        key = (source, *widths)
        if key not in self.padded:
            self.padded[key] = self._call(aten.constant_pad_nd.default, source, widths)
        return self.padded[key]

    def _call(self, target, *args, **kwargs):
        return _call(self.graph, self.node, target, *args, **kwargs)


def _call(graph, like, target, *args, **kwargs):
    """A new node, which belongs to where `like` does."""
    node = graph.call_function(target, args, kwargs)
    node.meta.update({name: value for name, value in like.meta.items() if name not in ("val", "tensor_meta")})
    node.meta["val"] = _value(node)
    return node


def _value(node):
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), meta)
    return node.target(*args, **kwargs)


def _settle_readers(graph, part):
    """Readers of a tensor with gaps: views of it have gaps, fusions and products take it, others get a copy."""
    pending, copies = [part], {}
    while pending:
        node = pending.pop()
        for user in list(node.users):
            if _becomes_view(user):
                pending.append(user)
            elif user.target not in _PRODUCTS and _kind(user) is not Kind.FUSED:
                if node not in copies:
                    with graph.inserting_after(node):
                        copies[node] = _call(
                            graph, node, aten.clone.default, node, memory_format=torch.contiguous_format
                        )
                user.replace_input_with(node, copies[node])


def _kind(node):
    rule = RULES.get(node.target)
    return None if rule is None else rule.kind


def _becomes_view(user):
    """Whether a view stays one when its source has gaps; it has them, too, then."""
    if _kind(user) is not Kind.FREE or user.target is aten.as_strided.default:
        return False
    try:
        user.meta["val"] = _value(user)
    except (RuntimeError, ValueError):
        return False
    return True
