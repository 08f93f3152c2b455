"""Cuts a graph of ATen operations into regions that are fused and operations that PyTorch runs.

Each node gets a kind (operators/ says what can be fused), placement.py says when it runs. Constants and views are free:
a region that reads one computes it, PyTorch makes the view where one of its operations reads it.
"""

import itertools
import math
import operator
from dataclasses import dataclass, field

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .fallback import leave
from .fresh_tensors import is_fresh
from .layout import hint, is_dense
from .memory import shown, written_operands
from .operators import DTYPES, RULES, meta, why_without_rule
from .placement import Item, Kind, place
from .updates import fold_updates


@dataclass
class Region:
    """What becomes one Fusion. Inputs are nodes outside of it (views of them included), outputs are nodes in it.

    `updates`: arguments of the graph, or views of them, that its kernels write to → nodes with their new values, in it
    or views of something in it.
    """

    level: int
    device: torch.device
    nodes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    updates: dict = field(default_factory=dict)


@dataclass
class Cut:
    """The graph as it is run: `order` holds regions and nodes that PyTorch runs, views not included."""

    order: list
    kinds: dict  # node: Kind
    reasons: dict  # node: why it is left to PyTorch

    @property
    def regions(self):
        return [part for part in self.order if isinstance(part, Region)]


def cut(graph, left=None):
    """`left`: nodes that are PyTorch's whatever the table says → why."""
    kinds, reasons = _kinds(graph, left or {})
    return _Cutter(graph, kinds, reasons).run()


def levels_of(graph, left):
    """Node: when it runs in the cut graph; None for those that are computed by whoever reads them."""
    return _Cutter(graph, *_kinds(graph, left)).place()


# Kinds --------------------------------------------------------------------------------------------


def _kinds(graph, left):
    reasons, kinds = dict(left), {}
    for node in graph.nodes:
        if node.op not in ("placeholder", "output"):
            kinds[node] = _kind(node, kinds, reasons)
    for node in _alone(graph, kinds):
        kinds[node] = Kind.LIBRARY
        reasons[node] = "alone between operations of PyTorch, which makes this copy as fast"
    return kinds, reasons


def _kind(node, kinds, reasons):
    if node.op == "call_function" and node.target is operator.getitem and node.args[0] in kinds:
        return kinds[node.args[0]]
    if node in reasons:
        return Kind.LIBRARY
    try:
        reason = _why_not(node)
    except Exception as error:
        reason = leave(f"the operation {node.name}", "whether it can be fused cannot be told", error)
    if reason is None:
        return RULES[node.target].kind
    reasons[node] = reason
    return Kind.LIBRARY


def _why_not(node):
    """Why a node is left to PyTorch; None if it can be fused."""
    if node.op != "call_function":
        return f"{node.op} of a module"
    if _is_size(node):
        return "arithmetic of sizes"
    rule = RULES.get(node.target)
    if rule is None:
        return why_without_rule(node.target)
    results = [value for value in _flat(meta(node)) if isinstance(value, torch.Tensor)]
    if not results:
        return "its result is not known"
    operands = [meta(source) for source in node.all_input_nodes]
    if any(value is None for value in operands):
        return "what an operand will be is not known"
    tensors = [value for value in operands if isinstance(value, torch.Tensor)]
    for tensor in results + tensors:
        reason = _why_not_tensor(tensor)
        if reason is not None:
            return reason
    device = results[0].device
    for tensor in tensors:
        is_scalar = tensor.dim() == 0 and tensor.device.type == "cpu" and rule.kind is Kind.FUSED
        if tensor.device != device and not is_scalar:
            return f"operands on {tensor.device} and {device}"
    if rule.kind is Kind.FUSED and not all(is_dense(tensor, statically_known_true) for tensor in results):
        return "its result is laid out in memory with gaps"
    return rule.refuse(node) if rule.refuse else None


def _why_not_tensor(tensor):
    if type(tensor) is not torch.Tensor and not isinstance(tensor, torch._subclasses.FakeTensor):
        return f"a tensor of class {type(tensor).__name__}"
    if tensor.layout is not torch.strided:
        return f"a tensor of layout {tensor.layout}"
    if tensor.dtype not in DTYPES:
        return f"dtype {str(tensor.dtype).removeprefix('torch.')}"
    if tensor.device.type not in ("cpu", "cuda"):
        return f"a tensor on {tensor.device.type}"
    if any(isinstance(size, int) and size == 0 for size in tensor.shape):
        return "a tensor without elements"
    if tensor.dim() > 8:
        return "more than 8 axes"
    return None


def _flat(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_size(node):
    return isinstance(meta(node), int | float | bool | torch.SymInt | torch.SymFloat | torch.SymBool)


def _alone(graph, kinds):
    """Copies that no fused operation is joined to, by a view at most: PyTorch's are as fast, but for those that move
    elements to other places."""
    found = []
    for node in graph.nodes:
        if kinds.get(node) is not Kind.FUSED:
            continue
        rule = RULES.get(node.target)
        is_copy = rule is not None and rule.moves_only and not _is_slow(node)
        if is_copy and not any(kinds.get(other) is Kind.FUSED for other in _neighbours(node, kinds)):
            found.append(node)
    return found


_LONG_RUN = 16  # elements side by side that eager's copies on the CPU move at the speed of memory


def _is_slow(node):
    """Whether eager's copy goes element by element: one at an index; on a GPU, one that moves elements to other places,
    or joins tensors with gaps, since it divides for each; on the CPU, one of short runs of neighbours."""
    source, result = node.args[0], meta(node)
    if node.target in _AT_INDICES:
        return True
    if result.device.type != "cuda":
        return _run(node) < _LONG_RUN
    if node.target is torch.ops.aten.cat.default:
        return not all(meta(part).is_contiguous() for part in source)
    return node.target is torch.ops.aten.clone.default and any(
        not statically_known_true(size == 1) and not statically_known_true(old == new)
        for size, old, new in zip(result.shape, meta(source).stride(), result.stride(), strict=True)
    )


_AT_INDICES = (torch.ops.aten.index.Tensor, torch.ops.aten._unsafe_index.Tensor)


def _run(node):
    """How many neighbours of the result, at least, are neighbours where they come from; infinite where all are, and of
    what is no copy to other places."""
    result = meta(node)
    if node.target is torch.ops.aten.cat.default:
        dim = (node.args[1] if len(node.args) > 1 else 0) % result.dim()
        parts = [meta(part) for part in node.args[0] if meta(part).dim() == result.dim()]
        return min(math.prod(hint(size) for size in part.shape[dim:]) for part in parts) if parts else math.inf
    if node.target is not torch.ops.aten.clone.default:
        return math.inf
    axes = zip(result.shape, meta(node.args[0]).stride(), result.stride(), strict=True)
    axes = sorted((hint(new), hint(size), hint(old)) for size, old, new in axes if hint(size) > 1)
    run = 1
    for new, size, old in axes:
        if new != run or old != run:
            return run
        run *= size
    return math.inf


def _neighbours(node, kinds):
    """Operations that `node` reads and that read it, through views."""
    seen = set()
    pending = [(source, "up") for source in node.all_input_nodes] + [(user, "down") for user in node.users]
    while pending:
        other, way = pending.pop()
        if other in seen:
            continue
        seen.add(other)
        if kinds.get(other) is Kind.FREE:
            pending += [(next_, way) for next_ in (other.all_input_nodes if way == "up" else other.users)]
        else:
            yield other


_MOST_VISITED = 1 << 16
_MOST_COMPONENTS = 4  # of a vector, which a kernel computes together (csrc/preseg_passes/short_axes.h)
_LEAST_OF_STEPS = 32  # operations, which a GPU computes in the time of a store and a load


def _is_stored(node, kinds):
    """Whether a join is one of parts that are made of each other, as the steps of a recurrence are, and is not read by
    the region that makes it: a kernel that reads what it joins computes all steps for each of them. What a region
    returns is stored part by part (csrc/preseg_passes/mark_joins.h)."""
    if node.target is not torch.ops.aten.cat.default:
        return False
    if len(node.args[0]) <= _MOST_COMPONENTS or _run(node) < _LONG_RUN:
        return False
    if not any(kinds.get(other) is Kind.FUSED for other in _readers(node, kinds)):
        return False
    cones = []
    for part in node.args[0]:
        cones.append(_fused_behind(part, kinds))
        if sum(map(len, cones)) > _MOST_VISITED:
            break
    together = len(set().union(*cones))
    if sum(map(len, cones)) <= 2 * together:
        return False
    return meta(node).device.type == "cpu" or (together >= _LEAST_OF_STEPS and _are_steps(cones))


def _fused_behind(part, kinds):
    """The fused operations that it is made of, as far as results of libraries."""
    seen, pending = set(), [part]
    while pending:
        source = pending.pop()
        if source not in seen and kinds.get(source, Kind.LIBRARY) is not Kind.LIBRARY:
            seen.add(source)
            pending.extend(source.all_input_nodes)
    return {source for source in seen if kinds[source] is Kind.FUSED}


def _are_steps(cones):
    """Whether most parts are made of the one before them, or behind them: not of what all have in common alone."""
    pairs = list(itertools.pairwise(cones))
    return 2 * max(sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)) > len(pairs)


def _readers(node, kinds):
    """What is placed and reads the node, itself or by way of a view; the graph's output, too."""
    pending = [node]
    while pending:
        for user in pending.pop().users:
            if kinds.get(user) is Kind.FREE:
                pending.append(user)
            else:
                yield user


# Regions ------------------------------------------------------------------------------------------


_SELECT = torch.ops.aten.select.int
_PARTS = (torch.ops.aten.slice.Tensor, _SELECT)
# Between a part and what it is a part of, as in `boxes[:, None, 2:]`.
_AXES_ONLY = (
    torch.ops.aten.unsqueeze.default,
    torch.ops.aten.squeeze.dim,
    torch.ops.aten.expand.default,
    torch.ops.aten.permute.default,
)


class _Cutter:
    def __init__(self, graph, kinds, reasons):
        self.graph, self.kinds, self.reasons = graph, kinds, reasons
        self.nodes = [node for node in graph.nodes if node in kinds]
        self.region_of = {}  # fused node: its region
        self.memory = shown(graph)
        self.folded = set()  # copies to arguments that regions make

    def run(self):
        order, self.folded = fold_updates(
            self._order(self.place()), self.kinds, self.reasons, self.region_of, self.memory
        )
        for region in order:
            if isinstance(region, Region):
                self._borders(region)
        return Cut(order, self.kinds, self.reasons)

    def place(self):
        """Levels of nodes."""
        # A fused operation and the parts of its result are one item.
        item_of, items = {}, []
        accesses = _Accesses(self.graph, self.memory)
        outputs = {node for output in self.graph.nodes if output.op == "output" for node in output.all_input_nodes}
        for node in self.nodes:
            kind = self.kinds[node]
            sources = [item_of[source] for source in node.all_input_nodes if source in item_of]
            if kind is Kind.FUSED and node.target is operator.getitem:
                position = item_of[node.args[0]]
            else:
                position = len(items)
                items.append(Item(kind, sources, _bytes(meta(node)), False, _draws(node), self._writes_anywhere(node)))
                items[position].is_stored = kind is Kind.FUSED and _is_stored(node, self.kinds)
            item_of[node] = position
            if kind is not Kind.FREE:
                items[position].after += accesses.before(node, position)
            items[position].is_output |= node in outputs
        # A free output is made from what it reads.
        for position in reversed(range(len(items))):
            if items[position].kind is Kind.FREE and items[position].is_output:
                for source in items[position].inputs:
                    items[source].is_output = True
        levels = place(items)
        return {node: levels[position] for node, position in item_of.items()}

    def _writes_anywhere(self, node):
        """To memory of which nothing is known. (What is written to an argument has its own order: _Accesses.)"""
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or schema is None or not schema.is_mutable:
            return False
        written = written_operands(node)
        return (
            node.target.namespace != "aten"
            or not written
            or not all(self.memory.get(t) or is_fresh(t) for t in written)
        )

    def _order(self, levels):
        """Regions and nodes of PyTorch by level, each node's order within a level as in the graph."""
        slots = {}
        devices = self._devices(levels)
        for node in self.nodes:
            level = levels[node]
            if self.kinds[node] is Kind.LIBRARY:
                slots.setdefault((level, 0), []).append(node)
            elif self.kinds[node] is Kind.FUSED:
                device = devices[node]
                # 0-dim tensors of the CPU may be read by regions of another device at the same level.
                slot = slots.setdefault((level, 0 if device.type == "cpu" else 1), [])
                region = next((r for r in slot if r.device == device), None)
                if region is None:
                    region = Region(level, device)
                    slot.append(region)
                region.nodes.append(node)
                self.region_of[node] = region
        return [part for slot in sorted(slots) for part in slots[slot]]

    def _devices(self, levels):
        """Where fused nodes are computed: where their results are, but 0-dim tensors of the CPU (scales, counts) by the
        kernels of the one device that reads them, if nothing else does."""
        devices = {}
        for node in reversed(self.nodes):
            if self.kinds[node] is not Kind.FUSED:
                continue
            results = _flat(meta(node))
            devices[node] = results[0].device
            if len(results) == 1 and results[0].dim() == 0 and results[0].device.type == "cpu":
                readers = list(_readers(node, self.kinds))
                where = {devices.get(reader) for reader in readers}
                if len(where) == 1 and None not in where and {levels[r] for r in readers} == {levels[node]}:
                    devices[node] = where.pop()
        return devices

    def _borders(self, region):
        members = set(region.nodes)
        inputs, seen = {}, set()
        known = self._known_tensors(region, members)
        for node in dict.fromkeys([*region.nodes, *region.updates.values()]):
            self._read(node, known, members, inputs, seen)
        region.inputs = list(dict.fromkeys([*inputs, *region.updates]))
        region.outputs = [
            node for node in region.nodes if isinstance(meta(node), torch.Tensor) and self._leaves(node, region, set())
        ]

    def _read(self, node, known, members, inputs, seen):
        """Adds what `node` reads from outside. Views in front are made by PyTorch, but for those that stretch, and for
        parts of `known` tensors: a fusion should know that these are one. (Of a row of a row a kernel selects one: it
        would store the other.)"""
        pending = [(source, False) for source in node.all_input_nodes]
        while pending:
            source, is_row = pending.pop(0)
            if source in seen or source in members:
                continue
            seen.add(source)
            value = meta(source)
            if isinstance(value, bool | int | float):
                continue  # a number, known now
            if self.kinds.get(source) is Kind.FREE and (
                self._is_inside(source, members)
                or self._stretches(source)
                or (self._is_part(source, known) and not (is_row and source.target is _SELECT))
            ):
                is_row = source.target is _SELECT or (is_row and source.target in _AXES_ONLY)
                pending.extend((operand, is_row) for operand in source.all_input_nodes)
                continue
            inputs[source] = True

    def _is_inside(self, source, members):
        """Whether a view is one of something that the region computes, or of a constant."""
        pending, seen = [source], set()
        constant = True
        while pending:
            node = pending.pop()
            if node in members:
                return True
            if node in seen:
                continue
            seen.add(node)
            if self.kinds.get(node) is Kind.FREE:
                pending.extend(node.all_input_nodes)
            elif isinstance(meta(node), torch.Tensor):
                constant = False
        return constant

    @staticmethod
    def _stretches(source):
        """Reads less than it shows; a fusion should know."""
        return source.target in (torch.ops.aten.expand.default, torch.ops.aten.unsqueeze.default)

    def _known_tensors(self, region, members):
        """What the region reads whole, or several parts of."""
        read = dict.fromkeys(source for node in region.nodes for source in node.all_input_nodes)
        known, once = set(read) - members, set()
        for part in read:
            for source in self._wholes(part):
                (known if source in once else once).add(source)
        return known

    def _is_part(self, source, known):
        """Whether it is a slice (of a slice …) of one of these."""
        return any(whole in known for whole in self._wholes(source))

    def _wholes(self, part):
        """What it is a slice of, that of what that one is a slice of, and so on. On the CPU axes may be added and
        turned on the way: a kernel's vectors want strides that it knows, which a view that PyTorch makes hides."""
        through = _PARTS + (_AXES_ONLY if _is_on_cpu(meta(part)) else ())
        is_cut = False
        while part.target in through and self.kinds.get(part) is Kind.FREE:
            is_cut |= part.target in _PARTS
            part = part.args[0]
            if is_cut:
                yield part

    def _leaves(self, node, region, seen):
        """Whether something outside of the region reads the node, itself or by way of a view."""
        pending = [node]
        while pending:
            current = pending.pop()
            for user in current.users:
                if user.op == "output":
                    return True
                if user in self.folded:
                    continue
                kind = self.kinds[user]
                if kind is Kind.FREE:
                    if user not in seen:
                        seen.add(user)
                        pending.append(user)
                elif kind is Kind.LIBRARY or self.region_of[user] is not region:
                    return True
        return False


def _is_on_cpu(value):
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _bytes(value):
    total = 0
    for tensor in _flat(value):
        if isinstance(tensor, torch.Tensor):
            count = 1
            for size in tensor.shape:
                count *= hint(size)
            total += count * tensor.element_size()
    return total


def _draws(node):
    """Random numbers, or what may call an operation that draws them."""
    tags = getattr(node.target, "tags", ())
    return isinstance(node.target, torch._ops.HigherOrderOperator) or torch.Tag.nondeterministic_seeded in tags


class _Accesses:
    """Who must come before a node that reads or writes arguments of the graph: the last that wrote to one comes before
    its readers, and they before the next that does."""

    def __init__(self, graph, memory):
        self.memory = memory
        self.changing = set().union(*(memory.get(t, ()) for node in graph.nodes for t in written_operands(node)))
        self.writer, self.readers = {}, {}

    def before(self, node, position):
        """Positions of items. Asked for each placed node, in the graph's order."""
        if not self.changing:
            return []
        written = self._arguments(written_operands(node))
        found = []
        for argument in sorted(self._arguments(node.all_input_nodes) | written, key=str):
            found += [self.writer[argument]] if argument in self.writer else []
            if argument in written:
                found += self.readers.pop(argument, [])
                self.writer[argument] = position
            else:
                self.readers.setdefault(argument, []).append(position)
        return [other for other in dict.fromkeys(found) if other != position]

    def _arguments(self, nodes):
        return set().union(*(self.memory.get(node, ()) for node in nodes)) & self.changing
