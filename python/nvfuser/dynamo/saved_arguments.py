"""Arguments that the forward writes to, and whose value before that the backward needs: it gets a copy.

    lerp = lerp(p, x); copy_(p, lerp); return (y, p)       becomes       q = clone(p); …; return (y, q)

PyTorch's cut between forward and backward saves the argument itself, as what is cheapest to save; so a buffer that a
module moves before it uses it (a running mean, the vectors of a spectral norm) has its next value when the backward
computes again what the forward made of the one before. Where the argument has a gradient of its own, as what one
module hands to another one that works in place, AOTAutograd writes to it behind the graph, and autograd then refuses
what was saved.
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
    for argument in _written_behind(output):
        written[argument] = seen
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


def _written_behind(output):
    """Arguments that AOTAutograd writes to once the graph has run, from what PyTorch notes of results (since 2.9)."""
    notes = output.meta.get("desc") or ()
    written = {note.mutated_input for note in notes if hasattr(note, "mutated_input")}
    return [node for node in output.graph.nodes if node.op == "placeholder" and node.meta.get("desc") in written]


def _copied(graph, saved):
    """A copy of the value, made where it is defined."""
    at = saved
    while at.next.op == "placeholder":
        at = at.next
    with graph.inserting_after(at):
        copy = graph.call_function(aten.clone.default, (saved,))
    copy.meta = {**saved.meta, "val": aten.clone.default(saved.meta["val"])}
    return copy
