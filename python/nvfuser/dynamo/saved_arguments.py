"""Arguments that the forward writes to, and whose value before that the backward needs: it gets a copy.

    lerp = lerp(p, x); copy_(p, lerp); return (y, p)       becomes       q = clone(p); …; return (y, q)

PyTorch's cut between forward and backward saves the argument itself, as what is cheapest to save; so a buffer that a
module moves before it uses it (a running mean, the vectors of a spectral norm) has its next value when the backward
computes again what the forward made of the one before.
"""

import torch

from .memory import shown, written_operands

aten = torch.ops.aten


def copy_saved_arguments(module, num_results):
    """`module`: a forward, whose outputs behind the first `num_results` are saved."""
    graph = module.graph
    memory, written, seen = shown(graph), {}, set()
    for node in graph.nodes:
        for target in written_operands(node):
            for argument in memory.get(target, ()):
                written.setdefault(argument, set(seen))
        seen.add(node)
    (output,) = (node for node in graph.nodes if node.op == "output")
    results = list(output.args[0])
    copies = {}
    for place in range(num_results, len(results)):
        saved = results[place]
        if any(saved in written.get(argument, ()) for argument in memory.get(saved, ())):
            if saved not in copies:
                copies[saved] = _copied(graph, saved)
            results[place] = copies[saved]
    if copies:
        output.args = (type(output.args[0])(results),)
        module.recompile()


def _copied(graph, saved):
    """A copy of the value, made where it is defined."""
    at = saved
    while at.next.op == "placeholder":
        at = at.next
    with graph.inserting_after(at):
        copy = graph.call_function(aten.clone.default, (saved,))
    copy.meta = {**saved.meta, "val": aten.clone.default(saved.meta["val"])}
    return copy
