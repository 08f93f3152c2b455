"""The backend: what torch.compile calls with each graph that Dynamo captures."""

from functools import partial

from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition

from .compile_ahead import compile_ahead
from .compiled_region import CompiledRegion
from .decompositions import decompositions
from .prepare import prepare
from .products import pad_products
from .program import build
from .regions import cut


class CompiledGraph:
    """One ATen graph, compiled: `run(args)` is given the list of its arguments, and empties it."""

    def __init__(self, gm, direction):
        self.direction = direction  # "forward", "backward", or "inference": a forward without a backward
        if direction == "inference":
            pad_products(gm.graph)
        prepare(gm.graph)
        self.cut = cut(gm.graph)
        self.regions = [CompiledRegion(region, f"region {i}") for i, region in enumerate(self.cut.regions)]
        self.run, self.source = build(gm, self.cut, self.regions)
        self.ahead = compile_ahead(self.regions)


# Functions that are told of each graph that is compiled.
_observers = []


class observing:
    """A block in which compiled graphs are collected in `graphs`."""

    def __enter__(self):
        self.graphs = []
        _observers.append(self.graphs.append)
        return self

    def __exit__(self, *error):
        _observers.remove(self.graphs.append)
        return False


def _compile(direction, gm, example_inputs):
    compiled = CompiledGraph(gm, direction)
    for observe in _observers:
        observe(compiled)

    run = compiled.run
    run._boxed_call = True  # of AOTAutograd: the list of arguments is given away, so that inputs can be freed early
    return run


def _partition(joint, *args, **kwargs):
    """Forward and backward of a graph of both."""
    pad_products(joint.graph)
    joint.recompile()
    return min_cut_rematerialization_partition(joint, *args, **kwargs)


def backend(gm, example_inputs, **options):
    """torch.compile's backend "nvfuser". It has no options and no modes.

    AOTAutograd makes forward and backward graphs of ATen operations without side effects; what the backward needs is
    kept or computed again, whichever moves fewer bytes.
    """
    if options.get("options") or options.get("mode") not in (None, "default"):
        raise ValueError(f'torch.compile: the backend "nvfuser" has no options and no modes, but was given {options}')
    compile_ = aot_autograd(
        fw_compiler=partial(_compile, "forward"),
        bw_compiler=partial(_compile, "backward"),
        inference_compiler=partial(_compile, "inference"),
        decompositions=decompositions(),
        partition_fn=_partition,
        keep_inference_input_mutations=True,
    )
    return compile_(gm, example_inputs)
