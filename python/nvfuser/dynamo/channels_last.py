"""Convolutions of a GPU have their channels innermost, and so has what lies between them.

    conv(x, w)                            conv(clone(x, channels_last), clone(w, channels_last))
    relu(…), conv(…, w2)             →    relu(…), conv(…, clone(w2, channels_last)): nothing is copied between
    returned                              clone(…), laid out as eager has it

cuDNN's kernels for tensor cores read half precision so; where tensors come with the channels outside, it copies each of
them in front of its kernel, and the result behind it. Float32 stays, since other kernels would round it where eager's
do not; but where a program has an image with its channels innermost, and where convolutions are by depth or of one
place each, it is treated so, too, while TF32 is allowed.

A result is laid out as PyTorch's operation says when it is given operands of the new order (but kept_order.py).
Operations whose results may hang on the order, and views that the new order does not have, get copies in the old one;
sums over parts of pixels (a norm by groups) take a pass of their own. Where these move more bytes than half of what
cuDNN would copy, the graph stays as it is. What the backward keeps of a forward stays in the new order: AOTAutograd is
told. A backward whose forward stayed as it was does so, too: its kernels would read tensors of both orders.
"""

import operator

import torch
from torch._guards import TracingContext, detect_fake_mode

from .kept_order import KEEP_ORDER
from .operators import RULES, meta
from .prepare import copied

aten = torch.ops.aten

DEVICES = ("cuda",)

_LEAST_CHANNELS = 16  # on either side; fewer leave most of a tensor core's operands empty
_OPERANDS = {aten.convolution.default: (0, 1), aten.convolution_backward.default: (0, 1, 2)}
_GROUPS = {aten.convolution.default: 8, aten.convolution_backward.default: 9}

_SUMS = {aten.sum.dim_IntList, aten.mean.dim, aten.var_mean.correction, aten.var.correction, aten.amax.default}

# Operations of a library that take any order and say what their results have.
_TAKE_ANY = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten.max_pool2d_with_indices.default,
    aten.max_pool2d_with_indices_backward.default,
    aten.avg_pool2d.default,
    aten.avg_pool2d_backward.default,
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool2d_backward.default,
    operator.getitem,
}


def put_channels_last(graph, arguments, num_returned):
    """The graph so, or as it was. `arguments`: what its placeholders are in fact (those that the forward keeps may lie
    in the new order); outputs from `num_returned` on are the backward's, in any order."""
    given = {}
    for node, argument in zip((n for n in graph.nodes if n.op == "placeholder"), arguments, strict=True):
        traced = meta(node)
        if isinstance(argument, torch.Tensor) and traced is not None and argument.stride() != traced.stride():
            given[node.name] = argument
    pays = _pays(graph) and _agrees_with_forward(graph, given)
    if not given and not pays:
        return graph
    made = copied(graph)
    laying = _Laying(made, given, pays, num_returned)
    if laying.run():
        return made
    if not given:
        return graph
    laying = _Laying(copied(graph), given, False, num_returned)
    laying.run()
    return laying.graph


def tell_strides(graph):
    """AOTAutograd learns what the forward's outputs are in fact, but for tokens of side effects (of an assertion, say),
    which stand in front of them and which it takes off."""
    context = TracingContext.try_get()
    if context is None or context.output_strides is None:
        return
    (output,) = (node for node in graph.nodes if node.op == "output")
    results = output.args[0][_num_tokens(context) :]
    values = [meta(node) if isinstance(node, torch.fx.Node) else None for node in results]
    context.output_strides.clear()
    context.output_strides.extend(
        tuple(value.stride())
        if isinstance(value, torch.Tensor) and all(isinstance(step, int) for step in value.stride())
        else None
        for value in values
    )


def num_returned():
    """How many of the forward's outputs the program sees (and tokens in front of them); the others are kept for the
    backward."""
    context = TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return None
    return _num_tokens(context) + context.fw_metadata.num_forward_returns


def _num_tokens(context):
    return len(context.fw_metadata.tokens) if context.fw_metadata is not None else 0


def _pays(graph):
    """Whether tensor cores are to multiply here, and no convolution is one of groups, whose kernels may be much slower
    so."""
    found = False
    for node in _convolutions(graph):
        weight = _weight(node)
        if weight is None:
            return False
        groups = node.args[_GROUPS[node.target]]
        if groups != 1 and not _is_by_depth(node):
            return False
        found |= groups == 1 and _suits(node) and max(weight.shape[:2]) >= _LEAST_CHANNELS
    return found and (not _has_float32(graph) or _suits_float32(graph))


def _agrees_with_forward(graph, given):
    """Whether it is one, or what it has of its forward has the channels innermost."""
    if any(node.target is aten.convolution.default for node in graph.nodes):
        return True
    kept = [given.get(node.name, meta(node)) for node in graph.nodes if node.op == "placeholder"]
    return any(isinstance(x, torch.Tensor) and x.dim() in (3, 4) and _is_channels_last(x) for x in kept)


def _convolutions(graph):
    return [node for node in graph.nodes if node.target in _OPERANDS]


def _weight(node):
    return meta(node.args[_OPERANDS[node.target][-1]])


def _is_by_depth(node):
    return node.args[_GROUPS[node.target]] != 1 and _weight(node).shape[1] == 1


def _suits(node):
    operands = [meta(node.args[place]) for place in _OPERANDS[node.target]]
    return all(
        each is not None
        and each.dim() in (3, 4)
        and each.device.type in DEVICES
        and each.dtype in (torch.float16, torch.bfloat16, torch.float32)
        and all(isinstance(size, int) for size in each.shape)
        for each in operands
    )


def _has_float32(graph):
    return any(_weight(node).dtype == torch.float32 for node in _convolutions(graph))


def _suits_float32(graph):
    """Whether eager's kernels round its convolutions as those of tensor cores do, and are slow with the channels
    outside: where the program has an image so itself, and where all are by depth or of one place each."""
    if not _may_be_tf32():
        return False
    images = [meta(node) for node in graph.nodes if node.op == "placeholder"]
    if any(x is not None and x.dim() == 4 and _is_channels_last(x) for x in images):
        return True
    by_depth = [node for node in _convolutions(graph) if _is_by_depth(node)]
    others = [node for node in _convolutions(graph) if not _is_by_depth(node)]
    return bool(by_depth) and all(all(size == 1 for size in _weight(node).shape[2:]) for node in others)


def _may_be_tf32():
    # From PyTorch 2.9 on convolutions have a flag of their own, beside which asking for the older one may be an error.
    own = getattr(torch.backends.cudnn, "conv", None)
    return torch.backends.cudnn.allow_tf32 if own is None else own.fp32_precision == "tf32"


def _is_channels_last(x):
    """Of an image, or of a line that convolutions take for an image of one row."""
    x = x.unsqueeze(2) if x.dim() == 3 else x
    return x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


class _Laying:
    """One walk in the graph's order: what a changed operand is laid out as decides what the result is."""

    def __init__(self, graph, given, converts, num_returned):
        self.graph, self.given, self.converts, self.num_returned = graph, given, converts, num_returned
        self.eager = {}  # changed node: the tensor that eager has there
        self.copies = {}  # (node, order wanted): its copy
        weights = [weight for weight in map(_weight, _convolutions(graph)) if weight is not None]
        self.item_size = max((weight.element_size() for weight in weights), default=0)  # of an image in memory
        self.worse, self.saved = 0, 0  # bytes that are moved more than before, and those that cuDNN need not copy

    def run(self):
        """Whether it was done. False: the graph is half done, and of no use."""
        if self.converts:
            for node in list(self.graph.nodes):
                if node.target in _OPERANDS and _suits(node) and meta(node.args[0]).dim() == 3:
                    self._widen(node)
        for node in list(self.graph.nodes):
            if node.op == "placeholder" and node.name in self.given:
                self._note(node, self.given[node.name])
            elif node.op == "output":
                self._restore_outputs(node)
            elif node.target in _OPERANDS and self.converts and _suits(node):
                if not self._convolve(node):
                    return False
            elif any(source in self.eager for source in node.all_input_nodes):
                self._follow(node)
        return not self.converts or self.worse <= self.saved // 2

    def _note(self, node, value):
        before = meta(node)
        node.meta["val"] = value
        pairs = zip(*(each if isinstance(each, list | tuple) else [each] for each in (before, value)), strict=True)
        if any(isinstance(old, torch.Tensor) and old.stride() != new.stride() for old, new in pairs):
            self.eager[node] = before

    def _widen(self, node):
        """A convolution of lines: of images of one row, which have an order with the channels innermost."""
        args = list(node.args)
        with self.graph.inserting_before(node):
            for place in _OPERANDS[node.target]:
                args[place] = self._call(aten.unsqueeze.default, args[place], 2)
            first = _GROUPS[node.target] - 5  # stride, padding, dilation, whether transposed, padding of the output
            for place, outer in ((first, 1), (first + 1, 0), (first + 2, 1), (first + 4, 0)):
                args[place] = [outer, *args[place]]
            made = self._call(node.target, *args)
        parts = [node] if node.target is aten.convolution.default else list(node.users)
        for part in parts:
            with self.graph.inserting_before(part):
                source = made if part is node else self._call(operator.getitem, made, part.args[1])
                if part is not node and part.args[1] == 2:
                    result = source  # the bias' gradient
                else:
                    result = self.graph.call_function(aten.squeeze.dim, (source, 2))
                    result.meta.update(part.meta)
            part.replace_all_uses_with(result)
            self.graph.erase_node(part)
        if node not in parts:
            self.graph.erase_node(node)

    def _convolve(self, node):
        args = list(node.args)
        self.saved += _bytes_of_copies(node, self.eager)
        for place in _OPERANDS[node.target]:
            args[place] = self._copy(node, args[place], torch.channels_last)
        node.args = tuple(args)
        self._note(node, _result(node))
        results = meta(node) if isinstance(meta(node), list | tuple) else [meta(node)]
        return all(
            each.is_contiguous(memory_format=torch.channels_last)
            for each in results
            if isinstance(each, torch.Tensor) and each.dim() == 4
        )

    def _follow(self, node):
        if node.target is aten.copy_.default:
            return
        if node.target in _SUMS and len(node.args) > 1 and _parts_of_sum(node, meta(node.args[0])) > 1:
            eager = self.eager.get(node.args[0])
            if eager is not None and _parts_of_sum(node, eager) == 1:
                self.worse += eager.numel() * self.item_size
        if node.target in KEEP_ORDER and self._keep_order(node, KEEP_ORDER[node.target]):
            return
        if node.target in _TAKE_ANY or node.target in _OPERANDS or (node.target in RULES and not _names_strides(node)):
            try:
                self._note(node, _result(node))
                return
            except Exception:  # a view that the new order does not have
                pass
        for source in node.all_input_nodes:
            if source in self.eager:
                node.replace_input_with(source, self._restored(node, source))

    def _keep_order(self, node, define):
        """Whether the node's result has the order of its source now (kept_order.py)."""
        with self.graph.inserting_before(node):
            args = define(self._call, node, meta(node.args[0]))
        if args is None:
            return False
        node.target, node.args, node.kwargs = aten.permute.default, args, {}
        self._note(node, _result(node))
        return True

    def _restore_outputs(self, output):
        kept = output.args[0]
        seen = len(kept) if self.num_returned is None else self.num_returned
        output.args = (
            [self._restored(output, node) if i < seen and node in self.eager else node for i, node in enumerate(kept)],
        )

    def _restored(self, reader, node):
        """`node` laid out as eager has it, for `reader`."""
        wanted = self.eager[node]
        if (node, wanted.stride()) in self.copies:
            return self.copies[node, wanted.stride()]
        if reader.op != "output":
            self.worse += 2 * _bytes(wanted)
        order = sorted(range(wanted.dim()), key=lambda axis: (-wanted.stride(axis), axis))
        with self.graph.inserting_before(reader):
            made = (
                self._call(aten.view.default, node, list(wanted.shape))
                if _differs_in_ones(meta(node), wanted)
                else None
            )
            if made is None or meta(made).stride() != wanted.stride():
                made = self._call(aten.permute.default, node, order)
                made = self._call(aten.clone.default, made, memory_format=torch.contiguous_format)
                made = self._call(aten.permute.default, made, [order.index(axis) for axis in range(len(order))])
        self.copies[node, wanted.stride()] = made
        return made

    def _copy(self, reader, node, memory_format):
        if meta(node).is_contiguous(memory_format=memory_format):
            return node
        if (node, memory_format) not in self.copies:
            with self.graph.inserting_before(reader):
                made = self._call(aten.clone.default, node, memory_format=memory_format)
            self.copies[node, memory_format] = made
        return self.copies[node, memory_format]

    def _call(self, target, *arguments, **options):
        made = self.graph.call_function(target, arguments, options)
        made.meta["val"] = _result(made)
        return made


def _bytes_of_copies(node, eager):
    """What cuDNN moves around its kernels where images lie with the channels outside: a copy in front of each that it
    reads, and one behind each that it writes. A backward has two kernels that read the gradient."""
    images = [node.args[0], node] if node.target is aten.convolution.default else [node.args[0], *node.args[:2]]
    tensors = [eager.get(each, meta(each)) for each in images]
    tensors += [meta(node)[0]] if isinstance(meta(node), list | tuple) and meta(node)[0] is not None else []
    return 0 if any(_is_channels_last(x) for x in tensors) else sum(2 * _bytes(x) for x in tensors)


def _result(node):
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), meta)
    with detect_fake_mode([meta(source) for source in node.all_input_nodes]):
        return node.target(*args, **kwargs)


def _parts_of_sum(node, tensor):
    """How many stretches of axes, in the order of memory, are reduced together."""
    reduced = {dim % tensor.dim() for dim in node.args[1] or range(tensor.dim())}
    order = sorted((axis for axis in range(tensor.dim()) if tensor.shape[axis] != 1), key=lambda a: -tensor.stride(a))
    ways = [axis in reduced for axis in order]
    return sum(way and not before for before, way in zip([False, *ways], ways, strict=False))


def _names_strides(node):
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any("stride" in argument.name for argument in schema.arguments)


def _differs_in_ones(a, b):
    return all(size == 1 or x == y for size, x, y in zip(a.shape, a.stride(), b.stride(), strict=True))


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()
