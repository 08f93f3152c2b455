"""The cut graph as one Python function: regions and PyTorch's operations in order, values dropped after last use."""

import math
import operator

import torch

from .regions import Region


def build(gm, graph, cut, callables):
    """(function of the list of arguments, which it empties; its source). `callables`: region's index → function."""
    return _Writer(gm, graph, cut, callables).build()


class _Writer:
    def __init__(self, gm, graph, cut, callables):
        self.gm, self.graph, self.cut, self.callables = gm, graph, cut, callables
        self.names = {}
        self.lines = []  # (text, names made, names read)
        self.constants = {}
        self.constant_of = {}  # key of a constant: its name

    def build(self):
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        for index, node in enumerate(placeholders):
            self.names[node] = f"a{index}"
        arguments = [self.names[node] for node in placeholders]
        regions = 0
        for part in self.cut.order:
            if isinstance(part, Region):
                self._region(part, regions)
                regions += 1
            else:
                self._make(part)
        (output,) = (node for node in self.graph.nodes if node.op == "output")
        self._ensure(output)
        results = self._text(output.args[0])
        lines = [f"({''.join(name + ', ' for name in arguments)}) = args", "args.clear()"] if arguments else []
        source = "\n    ".join(
            ["def run(args):", *lines, *self._with_deletions(arguments, output), f"return {results}"]
        )
        space = dict(self.constants)
        exec(compile(source, "<graph compiled by nvfuser>", "exec"), space)
        return space["run"], source

    # Lines ----------------------------------------------------------------------------------------

    def _region(self, region, index):
        for node in region.inputs:
            self._make_if_missing(node)
        read = [self.names[node] for node in region.inputs]
        made = [self._name(node) for node in region.outputs]
        function = self._constant(self.callables[index], f"region{index}")
        text = f"({''.join(name + ', ' for name in made)}) = {function}([{', '.join(read)}])"
        self.lines.append((text, made, read))

    def _make_if_missing(self, node):
        """Makes a view that PyTorch or a region reads, and the views below it."""
        pending = [node]
        while pending:
            current = pending[-1]
            if current in self.names:
                pending.pop()
                continue
            missing = [source for source in current.all_input_nodes if source not in self.names]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._call(current)

    def _ensure(self, node):
        for source in node.all_input_nodes:
            self._make_if_missing(source)

    def _make(self, node):
        self._ensure(node)
        self._call(node)

    def _call(self, node):
        if node.op == "get_attr":
            value = self.gm
            for part in node.target.split("."):
                value = getattr(value, part)
            self.names[node] = self._constant(value)
            return
        read = [self.names[source] for source in node.all_input_nodes]
        name = self._name(node)
        if node.target is operator.getitem:
            text = f"{name} = {self._text(node.args[0])}[{self._text(node.args[1])}]"
        else:
            arguments = [self._text(a) for a in node.args] + [f"{k}={self._text(v)}" for k, v in node.kwargs.items()]
            text = f"{name} = {self._constant(node.target, node.name)}({', '.join(arguments)})"
        self.lines.append((text, [name], read))

    def _with_deletions(self, arguments, output):
        """Values go as soon as nobody reads them any more: donated inputs and intermediate results."""
        kept = {self.names[node] for node in output.all_input_nodes}
        last = dict.fromkeys(arguments, -1)
        for index, (_, made, read) in enumerate(self.lines):
            last.update(dict.fromkeys(made, index))
            last.update((name, index) for name in read if name in last)
        drop = {}
        for name, index in last.items():
            if name not in kept:
                drop.setdefault(index, []).append(name)
        yield from ([f"del {', '.join(drop[-1])}"] if -1 in drop else [])
        for index, (text, _, _) in enumerate(self.lines):
            yield text
            if index in drop:
                yield f"del {', '.join(drop[index])}"

    # Names and arguments --------------------------------------------------------------------------

    def _name(self, node):
        return self.names.setdefault(node, f"v{len(self.names)}")

    def _constant(self, value, name=None):
        key = id(value)
        if key not in self.constant_of:
            name = f"{name or 'constant'}_{len(self.constants)}"
            self.constants[name] = value
            self.constant_of[key] = name
        return self.constant_of[key]

    def _text(self, argument):
        if isinstance(argument, torch.fx.Node):
            return self.names[argument]
        if isinstance(argument, list):
            return f"[{', '.join(self._text(a) for a in argument)}]"
        if isinstance(argument, tuple):
            return f"({''.join(self._text(a) + ', ' for a in argument)})"
        if isinstance(argument, slice):
            return f"slice({self._text(argument.start)}, {self._text(argument.stop)}, {self._text(argument.step)})"
        if isinstance(argument, dict):
            return "{" + ", ".join(f"{self._text(k)}: {self._text(v)}" for k, v in argument.items()) + "}"
        plain = argument is None or type(argument) in (bool, int, str)
        if plain or (type(argument) is float and math.isfinite(argument)):
            return repr(argument)
        return self._constant(argument)
