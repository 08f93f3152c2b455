"""Writes into parts of arguments. AOTAutograd makes `cache[:, 3] = k` a new tensor, which replaces the argument at the
graph's end; here the argument's own memory is written again, that part alone:

    n = select_scatter(cache, k, 1, 3)                     copy_(select(cache, 1, 3), k)
    y = bmm(q, n)                            becomes       y = bmm(q, cache)
    copy_(cache, n)

    n = index_put(cache, [i], k); …                        index_put_(cache, [i], k); …

Each such tensor in the row from the argument to what is copied to it is a *version* of the argument. A version is in
memory (the argument, after its writes and before the next ones), or computed where fused operations read it, without
being stored, where these are all of one region with it.

    x[:, :4] *= 2; return x.sum()       the sum reads a slice_scatter in its kernel, which writes the part as well

Left as it was: arguments of which a version leaves the graph as a tensor of its own, or is read when a later one has
been written; and small ones that one kernel can write whole.
"""

import heapq

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .forward_parts import forward_parts
from .layout import hint, same_sizes
from .memory import shown, shown_operands, written_operands
from .operators import RULES, meta
from .placement import Kind
from .prepare import note_result
from .steps import step_of
from .versions import by_index, row_of

aten = torch.ops.aten

_READS_BY_INDEX = (
    aten.index.Tensor,
    aten._unsafe_index.Tensor,
    aten.index_select.default,
    aten.gather.default,
    aten.embedding.default,
)
# Of an argument that a kernel reads and writes in the time that another kernel's call takes. Above that, to write parts
# costs less than to find at each element whether it is in one.
SMALL_BYTES = 1 << 14


def write_parts(graph, levels_of, handed_on):
    """`levels_of(graph)`: when each node would run as the graph is, which tells what one region would compute.
    `handed_on`: outputs that are the arguments' memory (memory.py)."""
    forward_parts(graph)
    rows = [row for row in map(row_of, filter(_is_update, graph.nodes)) if row is not None]
    rows = _detached(graph, rows)
    if not rows:
        return
    levels = levels_of(graph)
    plans = [plan for plan in map(_Plan, rows) if plan.can_be_made(levels, handed_on)]
    for plan in _without_cycles(graph, plans):
        plan.carry_out(graph)
    graph.eliminate_dead_code()
    _arrange(graph, _order(graph, plans))
    _share_views(graph)


def _is_update(node):
    return (
        node.target is aten.copy_.default
        and len(node.args) == 2
        and all(isinstance(argument, torch.fx.Node) for argument in node.args)
        and node.args[0].op == "placeholder"
        and not node.users
        and meta(node.args[0]).dtype == meta(node.args[1]).dtype
        and same_sizes(meta(node.args[0]), meta(node.args[1]))
    )


def _detached(graph, rows):
    """Rows whose versions are made of nothing that shows the memory of an argument that is written, or of a version:
    such values are copied first."""
    memory = shown(graph)
    changing = {argument for node in graph.nodes for t in written_operands(node) for argument in memory.get(t, ())}
    versions = {node for row in rows for version in row.versions for node in _aliases(version.node)}

    def moves(node):
        return node in versions or memory.get(node, frozenset()) & changing

    rows = [row for row in rows if row.first is row.argument or not moves(row.first)]
    for write in [version.write for row in rows for version in row.versions]:
        call, copies = write.call, {}
        for value in _values(call):
            if moves(value) and value not in copies:
                with graph.inserting_before(call):
                    copies[value] = graph.call_function(aten.clone.default, (value,))
                note_result(copies[value])
        if copies:
            arguments = torch.fx.node.map_arg(
                (call.args[1:], dict(call.kwargs)), lambda n, copies=copies: copies.get(n, n)
            )
            call.args, call.kwargs = (call.args[0], *arguments[0]), arguments[1]
        if by_index(call) is None:
            plain = _plain(call.args[1])
            write.source = call.args[1] if moves(plain) or _is_fused(plain) else plain
    return rows


def _plain(value):
    """What is left of a value that a copy of PyTorch's casts and stretches itself."""
    node = value
    while node.target in (aten._to_copy.default, aten.clone.default, aten.lift_fresh_copy.default, aten.expand.default):
        source = node.args[0]
        casts = meta(source).dtype != meta(node).dtype
        if meta(source).device != meta(node).device or (casts and node is not value):
            break
        node = source
    return node


def _values(call):
    """Tensors that it writes or is told places by."""
    found = []
    torch.fx.node.map_arg((call.args[1:], call.kwargs), found.append)
    return found


def _aliases(node):
    """The node and all that shows its memory."""
    found, pending = {node}, [node]
    while pending:
        current = pending.pop()
        for user in current.users:
            if user not in found and user.op != "output" and current in shown_operands(user):
                found.add(user)
                pending.append(user)
    return found


def _users(nodes):
    return {user for node in nodes for user in node.users} - nodes


class _Plan:
    """How the versions of a row come into the argument's memory. `edges`: pairs of nodes, the first runs first."""

    def __init__(self, row):
        self.row = row
        self.inner = set().union(*(version.inner for version in row.versions))
        self.writes, self.edges = [], []

    def can_be_made(self, levels, handed_on):
        row = self.row
        self.skipped = skipped = self.inner | {row.update}
        views = _aliases(row.argument)
        self.readers = _users(views) - skipped
        if any(views & set(written_operands(node)) for node in (views | self.readers) - {row.update}):
            return False
        later = None
        for version in reversed(row.versions):
            aliases = _aliases(version.node)
            users = _users(aliases)
            outputs = {node for node in users if node.op == "output"}
            is_private = _users(version.inner - {version.node}) <= version.inner
            if not is_private or any(_positions(node, aliases) - handed_on for node in outputs):
                return False
            version.readers = users - skipped - outputs
            version.in_memory = bool(outputs) or not self._is_computed_where_read(version, later, levels)
            if version.in_memory and users - skipped and not _lie_alike(version.node, row.argument):
                return False
            later = version
        return not self._is_written_whole(levels)

    def _is_written_whole(self, levels):
        """A small argument, of which one region computes all that is new and nothing else is asked of its memory."""
        versions = self.row.versions
        found = {levels.get(node) for node in self.inner} - {None}
        return (
            _bytes(meta(self.row.argument)) <= SMALL_BYTES
            and len(found) == 1
            and all(_is_fused(node) for node in self.inner if levels.get(node) is not None)
            and not any(by_index(version.write.call) is not None for version in versions)
            and not any(version.in_memory and _users(_aliases(version.node)) - self.skipped for version in versions)
        )

    def _is_computed_where_read(self, version, later, levels):
        computed_later = later is not None and not later.in_memory
        if by_index(version.write.call) is not None or not (version.readers or computed_later):
            return False
        if _bytes(meta(version.node)) > SMALL_BYTES:
            return False
        readers = version.readers | (later.inner if computed_later else set())
        found = {levels.get(node) for node in [*readers, *version.inner]} - {None}
        fused = all(_is_fused(node) for node in readers if levels.get(node) is not None)
        return fused and len(found) == 1 and not any(reader.target in _READS_BY_INDEX for reader in readers)

    def make_writes(self, graph):
        """Puts them into the graph, without a reader, and says what must come before what."""
        row = self.row
        before = {reader for reader in self.readers if reader.op != "output"}
        if row.first is not row.argument:
            with graph.inserting_before(row.versions[0].write.call):
                before = self._write(graph.call_function(aten.copy_.default, (row.argument, row.first)), before)
        waiting = []  # for what is computed of memory as it is before them
        for version in row.versions:
            waiting.append(version)
            if version.in_memory:
                before = self._write_all(graph, waiting, before) | self._read_here(version.readers)
                waiting = []
            elif len(waiting) == 1:
                before |= self._read_here(version.inner)
        self._write_all(graph, waiting, before)

    def _write_all(self, graph, versions, before):
        for version in versions:
            call = version.write.call
            with graph.inserting_after(version.node):
                made = graph.call_function(by_index(call) or aten.copy_.default, (), dict(call.kwargs))
            with graph.inserting_before(made):
                target = self.row.argument
                for step in version.write.steps:
                    target = _taken(graph, target, step)
            if by_index(call) is not None:
                made.args = (target, *call.args[1:])
            else:
                made.args, made.kwargs = (target, version.write.source), {}
            before = self._write(made, before)
        return before

    def _read_here(self, nodes):
        """They follow the last write."""
        self.edges += [(self.writes[-1], node) for node in nodes if self.writes]
        return set(nodes)

    def _write(self, made, before):
        made.meta["val"] = meta(made.args[0])
        self.edges += [(node, made) for node in [*before, *self.writes[-1:]]]
        self.writes.append(made)
        return set()

    def give_up(self, graph):
        for made in reversed(self.writes):
            graph.erase_node(made)
        self.writes, self.edges = [], []

    def carry_out(self, graph):
        graph.erase_node(self.row.update)
        for version in self.row.versions:
            if version.in_memory:
                version.node.replace_all_uses_with(self.row.argument)


def _positions(output, nodes):
    """Of nodes in a graph's output."""
    return {place for place, node in enumerate(output.args[0]) if node in nodes}


def _taken(graph, source, step):
    """A view of `source`, the one that there is or a new one."""
    for user in source.users:
        if (found := step_of(user)) is not None and found == (source, step):
            return user
    made = step.of(graph, source)
    note_result(made)
    return made


def _lie_alike(a, b):
    strides = zip(meta(a).stride(), meta(b).stride(), strict=True)
    return all(statically_known_true(mine == other) for mine, other in strides)


def _bytes(tensor):
    count = tensor.element_size()
    for size in tensor.shape:
        count *= hint(size)
    return count


def _is_fused(node):
    rule = RULES.get(node.target)
    return rule is not None and rule.kind is Kind.FUSED


# Order ----------------------------------------------------------------------------------------------


def _without_cycles(graph, plans):
    """Those that can be carried out together, their writes made."""
    for plan in plans:
        plan.make_writes(graph)
    if _order(graph, plans) is not None:
        return plans
    kept = []
    for plan in plans:
        if _order(graph, [*kept, plan]) is not None:
            kept.append(plan)
        else:
            plan.give_up(graph)
    return kept


def _order(graph, plans):
    """The nodes as near to their order as what they read and the plans' edges allow; None if these make a cycle."""
    place = {node: position for position, node in enumerate(graph.nodes)}
    after, missing = {}, dict.fromkeys(place, 0)
    for node in place:
        for source in node.all_input_nodes:
            after.setdefault(source, []).append(node)
            missing[node] += 1
    for plan in plans:
        for first, second in plan.edges:
            if first in place and second in place:
                after.setdefault(first, []).append(second)
                missing[second] += 1
    ready = [place[node] for node in place if not missing[node]]
    heapq.heapify(ready)
    nodes, order = list(place), []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for other in after.get(node, ()):
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, place[other])
    return order if len(order) == len(nodes) else None


def _share_views(graph):
    """What was a view of one version and what is one of another may be the same view of the memory now."""
    known = {}
    for node in list(graph.nodes):
        found = step_of(node)
        if found is None or found[1] is None or any(user.op == "output" for user in node.users):
            continue
        first = known.setdefault((found[0], found[1].meaning), node)
        if first is not node and _lie_alike(first, node):
            node.replace_all_uses_with(first)
            graph.erase_node(node)


def _arrange(graph, order):
    output = next(node for node in reversed(graph.nodes) if node.op == "output")
    for node in order:
        if node is not output:
            output.prepend(node)
