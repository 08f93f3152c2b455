"""Whose memory the values of a graph show: a view shows that of what it is a view of, an operation in place that of
what it writes to. Everything else has memory of its own."""

import operator

import torch
from torch._guards import TracingContext

from .operators import RULES, meta
from .placement import Kind


def shown(graph):
    """Node: the arguments of the graph whose memory it shows (itself, for an argument). Others are not in it."""
    found = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            if isinstance(meta(node), torch.Tensor):
                found[node] = frozenset([node])
            continue
        if node.op == "call_function":
            memory = frozenset().union(*(found.get(source, ()) for source in shown_operands(node)))
            if memory:
                found[node] = memory
    return found


def handed_on(graph):
    """Positions of the graph's outputs whose memory is an argument's for the caller, too: AOTAutograd makes a view of
    the argument like what it is given there."""
    context = TracingContext.try_get()
    facts = None if context is None else context.fw_metadata
    if facts is None or getattr(facts, "tokens", None):
        return set()
    (output,) = (node for node in graph.nodes if node.op == "output")
    first = facts.num_mutated_inp_runtime_indices
    kinds = [info.output_type.name for info in facts.output_info]
    if len(output.args[0]) < first + len(kinds):  # a backward's, say
        return set()
    return {first + place for place, kind in enumerate(kinds) if kind in ("alias_of_input", "is_input")}


def shown_operands(node):
    """Operands whose memory the result of a call shows."""
    rule = RULES.get(node.target)
    if rule is not None and rule.kind is Kind.FREE:
        return node.all_input_nodes
    if node.target is operator.getitem:
        return [node.args[0]]
    schema = getattr(node.target, "_schema", None)
    if schema is None:  # a function of Python's, or an operation on functions
        return node.all_input_nodes
    kept = set().union(*(result.alias_info.before_set for result in schema.returns if result.alias_info is not None))
    return _operands(node, lambda argument: argument.alias_info is not None and kept & argument.alias_info.before_set)


def written_operands(node):
    """Operands that a call writes to."""
    return _operands(node, lambda argument: argument.alias_info is not None and argument.alias_info.is_write)


def _operands(node, chosen):
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return []
    found = []
    for place, argument in enumerate(schema.arguments):
        value = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name)
        if chosen(argument):
            found += [
                v for v in (value if isinstance(value, list | tuple) else [value]) if isinstance(v, torch.fx.Node)
            ]
    return found
