"""The backend: what torch.compile calls with each graph that Dynamo captures."""

import contextlib
import warnings
from functools import partial

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import TorchDynamoException
from torch._functorch import config as functorch_config
from torch._functorch.partitioners import min_cut_rematerialization_partition

from . import exact
from .attention_masks import lay_out_masks
from .channels_last import num_returned, put_channels_last, tell_strides
from .compile_ahead import compile_ahead
from .compiled_region import CompiledRegion, name_of
from .decompositions import decompositions
from .definition import UndefinedOperation
from .direct_calls import Pieces, direct
from .dropout import draw_in_kernels
from .fallback import Failure, leave
from .flat_indices import flatten_indices
from .fresh_tensors import write_in_place
from .known_indices import use_known_indices
from .known_values import fold_known_values
from .memory import handed_on
from .paddings import join_circular
from .part_writes import write_parts
from .plan import build
from .prepare import copied, note_results, prepare
from .products import pad_products
from .regions import Cut, cut, levels_of
from .saved_arguments import copy_saved_arguments
from .sliding_windows import combine_windows
from .strides import note_strides


class CompiledGraph:
    """One ATen graph, compiled: `run(args)` is given the list of its arguments, and empties it.

    The graph that it is given stays as it is: where this fails as a whole, PyTorch runs that one.
    """

    def __init__(self, gm, direction, arguments, exactly=False, captured=False):
        self.direction = direction  # "forward", "backward", or "inference": a forward without a backward
        self.exactly = exactly  # exact.py
        self.captured = captured  # by a graph of CUDA, which keeps the numbers that kernels are given
        try:
            self._compile(gm, arguments)
        except Exception as error:
            self.failure = leave(f"a graph ({direction})", "it cannot be compiled", error)
            self.cut, self.regions, self.ahead = Cut([], {}, {}), [], []
            self.run = partial(_run_whole, gm)

    def failures(self):
        """Why parts of it are left to PyTorch that should not be."""
        reasons = [self.failure, *(region.failure for region in self.regions), *self.cut.reasons.values()]
        return [reason for reason in reasons if isinstance(reason, Failure)]

    def _compile(self, gm, arguments):
        self.failure = None
        graph = copied(gm.graph)
        if self.direction == "inference":
            if not self.exactly:
                pad_products(graph)
            use_known_indices(graph, gm)
            if not self.exactly:
                flatten_indices(graph)
        note_results(graph)
        if not self.exactly:
            combine_windows(graph)
        draws = not (self.exactly or self.captured) and draw_in_kernels(graph)
        note_strides(graph)
        if not self.exactly:
            graph = put_channels_last(graph, arguments, num_returned() if self.direction == "forward" else None)
        prepare(graph)
        fold_known_values(graph, gm)
        write_parts(graph, self._levels_of, handed_on(graph) if self.direction != "backward" else set())
        write_in_place(graph)
        self._cut(graph)
        self.run = build(gm, graph, self.cut, self.regions)
        if self.direction == "forward":
            tell_strides(graph)
        self.ahead = compile_ahead(self.regions)
        if draws:
            self.run = _Drawing(self, gm, arguments)

    def _left(self, graph):
        return exact.left(graph) if self.exactly else {}

    def _levels_of(self, graph):
        return levels_of(graph, self._left(graph))

    def _cut(self, graph):
        """Cuts and defines; an operation that cannot be defined is cut out."""
        left = self._left(graph)
        while True:
            self.cut = cut(graph, left)
            try:
                self.regions = [
                    CompiledRegion(region, f"region {i}", self.exactly) for i, region in enumerate(self.cut.regions)
                ]
                return
            except UndefinedOperation as failed:
                left[failed.node] = leave(f"the operation {name_of(failed.node)}", "its rule failed", failed.error)


class _Drawing:
    """A plan whose kernels draw random numbers, and another one, made when a graph of CUDA first captures a call: there
    eager's kernels draw, so that each replay has numbers of its own."""

    def __init__(self, compiled, gm, arguments):
        self._run = compiled.run
        self._make = partial(CompiledGraph, gm, compiled.direction, arguments, compiled.exactly, captured=True)
        self._captured = None

    def __call__(self, args):
        if not torch.cuda.is_current_stream_capturing():
            return self._run(args)
        if self._captured is None:
            self._captured = self._make()
        return self._captured.run(args)


def _run_whole(gm, args):
    given = list(args)
    args.clear()
    return gm(*given)


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


def _compile(direction, exactly, pieces, gm, example_inputs):
    compiled = CompiledGraph(gm, direction, example_inputs, exactly)
    for observe in _observers:
        observe(compiled)

    run = compiled.run
    pieces.add(direction, gm.graph, run)
    run._boxed_call = True  # of AOTAutograd: the list of arguments is given away, so that inputs can be freed early
    return run


def _partition(exactly, joint, *args, **kwargs):
    """Forward and backward of a graph of both."""
    known = partial(use_known_indices, module=joint)
    rewrites = [(known, "reads at known indices")]
    if not exactly:
        rewrites = [(pad_products, "padding of products"), *rewrites, (flatten_indices, "sums at several indices")]
    for rewrite, what in rewrites:
        try:
            graph = copied(joint.graph)
            rewrite(graph)
            joint.graph = graph
        except Exception as error:
            leave(what, "it failed", error)
    with _numbers_drawn_again_as_in_eager():
        forward, backward = min_cut_rematerialization_partition(joint, *args, **kwargs)
    copy_saved_arguments(forward, kwargs["num_fwd_outputs"])
    return forward, backward


def _numbers_drawn_again_as_in_eager():
    """What a checkpoint draws twice comes from PyTorch's own generator of the GPU, whose state is kept. (Otherwise it
    comes, from PyTorch 2.7 on, from two generators beside it, which `manual_seed` does not reach.)"""
    if hasattr(functorch_config, "graphsafe_rng_functionalization"):
        return functorch_config.patch(graphsafe_rng_functionalization=False)
    return contextlib.nullcontext()


def _prepare_calls(gm):
    """Rewrites what tracing would take apart."""
    for rewrite, what in ((lay_out_masks, "masks of attention"), (join_circular, "circular paddings")):
        try:
            rewrite(gm.graph)
            gm.recompile()
        except Exception as error:
            leave(what, "they cannot be written anew", error)


_noted_modes = set()


def _note_mode(mode):
    if mode in (None, "default") or mode in _noted_modes:
        return
    _noted_modes.add(mode)
    warnings.warn(
        f'torch.compile: mode="{mode}" changes nothing with the backend "nvfuser", which has one mode', stacklevel=2
    )


def backend(gm, example_inputs, **options):
    """torch.compile's backend "nvfuser". Its one option is `exact_numerics`: eager's results bit by bit (exact.py).

    AOTAutograd makes forward and backward graphs of ATen operations without side effects; what the backward needs is
    kept or computed again, whichever moves fewer bytes. Modes are those of PyTorch's own backend: they are accepted, so
    that a program need not be changed to try this one, and change nothing.
    """
    given = options.get("options") or {}
    unknown = [name for name in given if name != exact.NAME]
    if unknown:
        raise ValueError(
            f'torch.compile: the backend "nvfuser" has the option {exact.NAME}, and was given {", ".join(unknown)}'
        )
    exactly = exact.switched_on(given)
    _note_mode(options.get("mode"))
    if not exactly:
        _prepare_calls(gm)
    pieces = Pieces()
    compile_ = aot_autograd(
        fw_compiler=partial(_compile, "forward", exactly, pieces),
        bw_compiler=partial(_compile, "backward", exactly, pieces),
        inference_compiler=partial(_compile, "inference", exactly, pieces),
        decompositions=exact.decompositions() if exactly else decompositions(),
        partition_fn=partial(_partition, exactly),
        keep_inference_input_mutations=True,
    )
    try:
        return direct(compile_(gm, example_inputs), pieces, example_inputs)
    except TorchDynamoException:
        raise  # Dynamo's own: it starts again, or says what a program may not do
    except Exception as error:
        leave("a graph", "PyTorch cannot trace it", error)
        return gm.forward
