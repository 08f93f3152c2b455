"""The cut graph as one plan: regions, views and PyTorch's operations in order (`nvfuser._C.GraphPlan`)."""

import operator

import torch

from nvfuser._C import GraphPlan, PlanSlot

from .compiled_region import name_of, note_updates
from .operators import meta
from .plan_libraries import dispatched_of, library_of
from .plan_views import arithmetic_of, is_split, view_of
from .regions import Region

aten = torch.ops.aten


def build(gm, graph, cut, regions):
    """The plan of a graph: called with the list of its arguments, which it empties. `regions`: the cut's, compiled."""
    return _Planner(gm, graph, cut, regions).build()


class _Planner:
    def __init__(self, gm, graph, cut, regions):
        self.gm, self.graph, self.cut, self.regions = gm, graph, cut, regions
        self.slots = {}  # node: the slot of its value
        self.next = 0
        self.shown = set()  # results of the graph, what is written, and what these are views of
        self.made_by_regions = {node for region in cut.regions for node in region.outputs}

    def build(self):
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        self.plan = GraphPlan(len(placeholders))
        for node in placeholders:
            self._slot(node)
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        self._note_shown([*output.all_input_nodes, *self._written()])
        regions = 0
        for part in self.cut.order:
            if isinstance(part, Region):
                self._region(part, self.regions[regions])
                regions += 1
            else:
                self._make(part)
        self._ensure(output)
        self.plan.finish(self._argument(output.args[0]))
        return self.plan

    # Steps ----------------------------------------------------------------------------------------

    def _region(self, region, compiled):
        for node in region.inputs:
            self._make_if_missing(node)
        inputs = [self._argument(node) for node in region.inputs]
        outputs = [self._slot(node) for node in region.outputs]
        self.plan.add(compiled.name, compiled, [inputs], {}, outputs, has_parts=True)
        if compiled.repeats is not None:
            cache, ones = compiled.repeats
            updated = [self.slots[target] for target in region.updates]
            read = [self.slots[node] for node in region.inputs]
            self.plan.make_region(compiled, cache, read, ones, updated, note_updates)

    def _make_if_missing(self, node):
        """Makes a view that PyTorch or a region reads, and the views below it."""
        pending = [node]
        while pending:
            current = pending[-1]
            if current in self.slots:
                pending.pop()
                continue
            missing = [source for source in self._sources(current) if source not in self.slots]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._call(current)

    def _sources(self, node):
        """What it reads. A part of a tensor that was split is a part of that tensor."""
        if node.target is operator.getitem and is_split(node.args[0]):
            node = node.args[0]
        return node.all_input_nodes

    def _ensure(self, node):
        for source in self._sources(node):
            self._make_if_missing(source)

    def _make(self, node):
        if node in self.slots or is_split(node):
            return  # a part, made with the others; what its parts are made without
        self._ensure(node)
        self._call(node)

    def _call(self, node):
        if node.op == "get_attr":
            self._constant(node)
        elif (view := view_of(node)) is not None and (node.target is not operator.getitem or is_split(node.args[0])):
            self._view(node, *view)
        elif (arithmetic := arithmetic_of(node)) is not None:
            kind, tensor, operands = arithmetic
            self._add(node, node.target, node.args, node.kwargs)
            self.plan.make_size(kind, None if tensor is None else self.slots[tensor], self._argument(operands))
        else:
            self._operation(node)

    def _constant(self, node):
        value = self.gm
        for part in node.target.split("."):
            value = getattr(value, part)
        self.plan.add(node.target, lambda: value, [], {}, [self._slot(node)])

    def _view(self, node, kind, source, operands):
        target, args = node.target, node.args
        if target is operator.getitem:  # of a split tensor
            target = aten.slice.Tensor if kind == "slice" else aten.select.int
            args = (source, *operands)
        self._add(node, target, args, node.kwargs)
        if not (node in self.shown and self._is_of_caller(source)):
            self.plan.make_view(kind, self.slots[source], self._argument(operands))

    def _operation(self, node):
        parts = self._parts(node)
        if parts is None:
            self._add(node, node.target, node.args, node.kwargs)
        else:
            slots = list(range(self.next, self.next + parts))
            self.next += parts
            for user in node.users:
                self.slots[user] = slots[user.args[1]]
            self._add_call(node, node.target, node.args, node.kwargs, slots, has_parts=True)
        dispatched = dispatched_of(node)
        if dispatched is not None and (parts is not None or isinstance(meta(node), torch.Tensor)):
            name, overload, operands = dispatched
            self.plan.make_dispatched(name, overload, self._argument(operands))
        library = library_of(node)
        if library is not None:
            operation, tensors, numbers, lists = library
            slots = [None if tensor is None else self.slots[tensor] for tensor in tensors]
            self.plan.make_library(operation, slots, numbers, lists)

    def _parts(self, node):
        """How many parts its result has, all of whose readers read one part; None for other results."""
        value = meta(node)
        if not isinstance(value, list | tuple) or not node.users:
            return None
        for user in node.users:
            is_part = user.target is operator.getitem and isinstance(user.args[1], int)
            if not is_part or not 0 <= user.args[1] < len(value):
                return None
        return len(value)

    def _add(self, node, target, args, kwargs):
        self._add_call(node, target, args, kwargs, [self._slot(node)], has_parts=False)

    def _add_call(self, node, target, args, kwargs, slots, has_parts):
        function = getattr(target, "_op", target) if isinstance(target, torch._ops.OpOverload) else target
        name = str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", name_of(node))
        self.plan.add(name, function, self._argument(list(args)), self._argument(dict(kwargs)), slots, has_parts)

    # What the results of the graph need, and what is written ---------------------------------------

    def _written(self):
        """Tensors that regions and PyTorch's operations write to: views among them are PyTorch's, which count the
        writes to what they are views of."""
        for region in self.cut.regions:
            yield from region.updates
        for node in self.graph.nodes:
            schema = getattr(node.target, "_schema", None)
            for argument, value in zip(schema.arguments if schema else (), node.args, strict=False):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    yield from (
                        one for one in (value if isinstance(value, list | tuple) else [value]) if one is not None
                    )

    def _note_shown(self, nodes):
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in self.shown:
                continue
            self.shown.add(node)
            view = view_of(node)
            if view is not None:
                pending.append(view[1])

    def _is_of_caller(self, node):
        """Whether its memory is, or may be, that of an argument or a constant: of results that are views of these
        PyTorch knows what they are views of."""
        while (view := view_of(node)) is not None:
            node = view[1]
        if node in self.made_by_regions:
            return False
        schema = getattr(node.target, "_schema", None)
        if node.target is operator.getitem:
            schema = getattr(node.args[0].target, "_schema", None)
        fresh = schema is not None and not any(result.alias_info for result in schema.returns)
        return not fresh

    # Slots and arguments --------------------------------------------------------------------------

    def _slot(self, node):
        if node not in self.slots:
            self.slots[node] = self.next
            self.next += 1
        return self.slots[node]

    def _argument(self, argument):
        if isinstance(argument, torch.fx.Node):
            return PlanSlot(self.slots[argument])
        if isinstance(argument, list):
            return [self._argument(item) for item in argument]
        if isinstance(argument, tuple):
            return tuple(self._argument(item) for item in argument)
        if isinstance(argument, slice):
            return slice(*(self._argument(part) for part in (argument.start, argument.stop, argument.step)))
        if isinstance(argument, dict):
            return {key: self._argument(value) for key, value in argument.items()}
        return argument
