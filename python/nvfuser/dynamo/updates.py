"""Arguments that are updated in place: `copy_(argument, value)` becomes an output of the region that computes `value`,
written to the argument's memory by its kernels where they can.

    v = region([p, g]); copy_(p, v)        becomes        region([p, g]), which updates p

Left to PyTorch: an argument that something reads after the region, or that is written twice; a value that is read
elsewhere, too, of another dtype or shape, or on another device.
"""

import torch

from .operators import meta
from .placement import Kind


def fold_updates(order, kinds, reasons, region_of):
    """`order` without the copies that regions take over; those are in their `updates`, not in `reasons` any more."""
    position = {}
    for place, part in enumerate(order):
        for node in getattr(part, "nodes", [part]):
            position[node] = place
    folded = set()
    for place, part in enumerate(order):
        if not isinstance(part, torch.fx.Node) or not _is_update(part):
            continue
        target, value = part.args[:2]
        region = region_of.get(value)
        if region is not None and _can_be_folded(part, region, position, kinds):
            region.updates[value] = target
            folded.add(place)
            reasons.pop(part)
    return [part for place, part in enumerate(order) if place not in folded]


def _is_update(node):
    return (
        node.target is torch.ops.aten.copy_.default
        and len(node.args) == 2
        and all(isinstance(argument, torch.fx.Node) for argument in node.args)
        and node.args[0].op == "placeholder"
        and not node.users
    )


def _can_be_folded(update, region, position, kinds):
    target, value = update.args
    into, what = meta(target), meta(value)
    if into.dtype != what.dtype or into.shape != what.shape or into.device != region.device:
        return False
    if value in region.updates or target in region.updates.values() or set(value.users) - {update} - set(region.nodes):
        return False
    own = position[region.nodes[0]]
    return all(reader is update or position.get(reader, own + 1) <= own for reader in _readers(target, kinds))


def _readers(node, kinds):
    """Those of the node and of views of it. (The graph's output hands the memory on, it reads nothing.)"""
    pending, seen = [node], set()
    while pending:
        for user in pending.pop().users:
            if user in seen or user.op == "output":
                continue
            seen.add(user)
            if kinds.get(user) is Kind.FREE:
                pending.append(user)
            else:
                yield user
