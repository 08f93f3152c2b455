"""Arguments that are updated in place: `copy_(argument, value)` becomes an output of the region that computes `value`,
written to the argument's memory by its kernels where they can.

    v = region([p, g]); copy_(p, v)        becomes        region([p, g]), which updates p

The same where it is a part of an argument that is written, `copy_(slice(p, …), v)`: the region is given the part
(part_writes.py makes such copies).

Left to PyTorch: what something reads or writes after the region and before the copy; values of a dtype that the kernel
cannot turn into the argument's, or on another device.
"""

import bisect

import torch

from .layout import same_sizes
from .memory import shown_operands
from .operators import DTYPES, meta
from .placement import Kind


def fold_updates(order, kinds, reasons, region_of, memory):
    """(`order` without the copies that regions take over; those). They are in the regions' `updates`, not in `reasons`
    any more."""
    return _Folding(order, kinds, region_of, memory).run(reasons)


class _Folding:
    def __init__(self, order, kinds, region_of, memory):
        self.order, self.kinds, self.region_of, self.memory = order, kinds, region_of, memory
        self.position = {}
        self.accesses = {}  # argument: positions of what reads or writes it, ascending
        for place, part in enumerate(order):
            for node in getattr(part, "nodes", [part]):
                self.position[node] = place
                for argument in set().union(*(memory.get(source, ()) for source in node.all_input_nodes)):
                    places = self.accesses.setdefault(argument, [])
                    if not places or places[-1] != place:
                        places.append(place)

    def run(self, reasons):
        folded = set()
        for part in self.order:
            if not _is_node(part) or not _is_copy(part) or len(self.memory.get(part.args[0], ())) != 1:
                continue
            target, value = part.args
            region = self.region_of.get(self._below(value))
            if region is not None and self._can_be_folded(part, region):
                region.updates[target] = value
                self._moved(part, region)
                folded.add(part)
                reasons.pop(part)
        return [part for part in self.order if not (_is_node(part) and part in folded)], folded

    def _can_be_folded(self, update, region):
        target, value = update.args
        into, what = meta(target), meta(value)
        if into.device != region.device or not _casts(what.dtype, into.dtype) or not same_sizes(into, what):
            return False
        if target in region.updates:
            return False
        own = self.position[region.nodes[0]]
        if any(self.position.get(source, -1) >= own for source in self._made_of(target)):
            return False
        (argument,) = self.memory[target]
        places = self.accesses[argument]
        return bisect.bisect_right(places, own) == bisect.bisect_left(places, self.position[update])

    def _moved(self, update, region):
        """The update happens where the region is."""
        (argument,) = self.memory[update.args[0]]
        places, own = self.accesses[argument], self.position[region.nodes[0]]
        places.remove(self.position[update])
        at = bisect.bisect_left(places, own)
        if at == len(places) or places[at] != own:
            places.insert(at, own)

    def _below(self, node):
        """What the node is a view of, through all views."""
        while self.kinds.get(node) is Kind.FREE:
            sources = [source for source in shown_operands(node) if isinstance(meta(source), torch.Tensor)]
            if len(sources) != 1:
                return None
            node = sources[0]
        return node

    def _made_of(self, view):
        """What must have been computed before a view of an argument can be made."""
        pending, seen = [view], set()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if self.kinds.get(node) is Kind.FREE:
                pending.extend(node.all_input_nodes)
            else:
                yield node


def _is_node(part):
    return isinstance(part, torch.fx.Node)


def _is_copy(node):
    return (
        node.target is torch.ops.aten.copy_.default
        and len(node.args) == 2
        and all(isinstance(argument, torch.fx.Node) for argument in node.args)
        and not node.users
    )


def _casts(source, target):
    known = source in DTYPES and target in DTYPES
    return source == target or (known and source.is_floating_point and target.is_floating_point)
