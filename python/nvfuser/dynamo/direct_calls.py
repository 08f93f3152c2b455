"""A compiled graph is called directly, where nothing of what AOTAutograd puts around it is needed.

AOTAutograd's own function for a graph copies what was mutated, regenerates aliases, unpacks subclasses, and more; in a
small graph most of a call's time goes into finding out that there is none of that. What a graph needs is known once it
is compiled (`ViewAndMutationMeta`):

- no gradients: the plan is called as it is;
- gradients: an autograd function saves what the backward plan reads, and gives that plan the gradients in the layout
  that it was compiled for. It is derived from AOTAutograd's, since compiled autograd knows that one, and takes over
  when the backward has been compiled, which is at the first backward;
- anything else, and whatever this PyTorch has no name for: AOTAutograd's function, as before.
"""

import torch
from torch._dynamo import disable
from torch._functorch._aot_autograd import runtime_wrappers

from .compiled_region import note_updates

_APART = "non_alias", "unsafe_view_alias", "custom_function_view"  # types of outputs that share no memory with others
_WITHIN_TRANSFORMS = (
    "The backward of a compiled graph cannot run within vmap, grad or vjp: put these inside of torch.compile, or "
    "compile a smaller function"
)
_MADE_NONDETERMINISTIC = (
    "This backward was compiled while torch.use_deterministic_algorithms(False) was set: it cannot run with "
    "torch.use_deterministic_algorithms(True)"
)
_NO_SECOND_BACKWARD = "torch.compile with aot_autograd does not currently support double backward"


class Pieces:
    """What was compiled of one graph of Dynamo: `runs` by direction, each called with a list that it empties, and
    `graphs`, what AOTAutograd made for it; `facts` are its ViewAndMutationMeta."""

    def __init__(self):
        self.runs, self.graphs, self.facts = {}, {}, None
        self.autocast = torch._C._is_any_autocast_enabled()

    def add(self, direction, graph, run):
        self.runs[direction], self.graphs[direction] = run, graph
        if direction != "backward":
            context = torch._guards.TracingContext.try_get()
            self.facts = None if context is None else context.fw_metadata

    def run(self, direction):
        """Its plan, as it is to be called: a plan's own calls of PyTorch are not for autocast to convert."""
        run = self.runs[direction]
        if not self.autocast:
            return run

        def without_autocast(args):
            with torch._C._DisableAutocast():
                return run(args)

        return without_autocast


def direct(whole, pieces, arguments):
    """`whole`, AOTAutograd's function of a graph that has these arguments, or a shorter one that does the same."""
    try:
        if not _is_plain(pieces, arguments):
            return whole
        if "inference" in pieces.runs:
            return _without_gradients(pieces.run("inference"), pieces.facts)
        return _with_gradients(whole, pieces)
    except (AttributeError, KeyError):  # of another PyTorch
        return whole


def _is_plain(pieces, arguments):
    """Whether arguments are mutated by the plan alone, if at all, and outputs are tensors of their own."""
    facts = pieces.facts
    forward = pieces.graphs["inference" if "inference" in pieces.runs else "forward"]
    inputs = sum(node.op == "placeholder" for node in forward.nodes)
    tensors = *facts.subclass_inp_meta, *facts.subclass_fw_graph_out_meta, *facts.subclass_tangent_meta
    return (
        len(facts.input_info) == len(arguments) == inputs
        and not any(isinstance(argument, list | tuple | dict) for argument in arguments)
        and all(isinstance(one, int) or type(one).__name__ == "PlainTensorMeta" for one in tensors)
        and all(output.output_type.name in _APART for output in facts.output_info)
        and facts.num_mutated_inp_runtime_indices == facts.num_intermediate_bases == 0
        and not (facts.tokens or facts.is_rng_op_functionalized)
        and not getattr(facts, "num_graphsafe_rng_states", 0)
        and facts.grad_enabled_mutation is None
    )


def _without_gradients(run, facts):
    updated = facts.mutated_graph_handled_indices_seen_by_autograd
    is_grad_enabled, set_grad_enabled = torch.is_grad_enabled, torch._C._set_grad_enabled

    def call(*args):
        _note_updates(args, updated)
        if not is_grad_enabled():
            return run(list(args))
        set_grad_enabled(False)
        try:
            return run(list(args))
        finally:
            set_grad_enabled(True)

    return _with_sizes_marked(call, facts)


def _with_sizes_marked(call, facts):
    """Dynamo learns which axes of the outputs vary, for a graph that reads them."""
    varying = [(i, output.dynamic_dims) for i, output in enumerate(facts.output_info) if output.dynamic_dims]
    if not varying:
        return call
    mark = runtime_wrappers.mark_dynamo_propagated_dynamic_indices

    def marked(*args):
        outputs = call(*args)
        for i, axes in varying:
            mark(outputs[i], axes)
        return outputs

    return marked


def _with_gradients(whole, pieces):
    shorter = function = None

    def call(*args):
        nonlocal shorter, function
        if shorter is None and function is not None and "backward" in pieces.runs:
            shorter = _autograd_call(whole, pieces, function)
        if shorter is not None:
            return shorter(*args)
        outputs = whole(*args)
        function = next((x.grad_fn._forward_cls for x in outputs if getattr(x, "grad_fn", None) is not None), function)
        return outputs

    return call


def _autograd_call(whole, pieces, function):
    try:
        function = _function_of(pieces, function)
        if function is None:
            return whole
        return _applied(function, pieces)
    except (AttributeError, KeyError):
        return whole


def _applied(function, pieces):
    facts = pieces.facts
    detached = _never_given_gradients(pieces)
    apply = function.apply
    updated = facts.mutated_graph_handled_indices_seen_by_autograd
    is_grad_enabled = torch.is_grad_enabled

    def call(*args):
        _note_updates(args, updated)
        if detached:
            args = [x.detach() if i in detached else x for i, x in enumerate(args)]
        if is_grad_enabled():
            return apply(*args)
        with torch.enable_grad():  # the graph switched it on for a part of itself
            return apply(*args)

    return _with_sizes_marked(call, facts)


def _note_updates(args, updated):
    if updated:
        note_updates([args[i] for i in updated])


def _never_given_gradients(pieces):
    """Arguments that are computed by what autograd must not wait for: the backward has nothing for them."""
    given = _returned(pieces.graphs["backward"])
    return {
        i
        for i, info in enumerate(pieces.facts.input_info)
        if given[i] is None and info.requires_grad and not info.is_leaf and not info.mutates_storage_metadata
    }


def _returned(graph):
    return next(node for node in reversed(graph.nodes) if node.op == "output").args[0]


def _function_of(pieces, function):
    """The graph as an autograd function, derived from AOTAutograd's `function`, or None if its backward needs more than
    tensors and sizes."""
    facts = pieces.facts
    sizes = facts.symints_saved_for_backwards_slice
    checked, unchecked = facts.tensors_saved_for_backwards_slice, slice(0, 0)
    if hasattr(facts, "tensors_saved_for_backwards_no_vc_check_slice"):  # some may change, in newer PyTorch
        checked = facts.tensors_saved_for_backwards_with_vc_check_slice
        unchecked = facts.tensors_saved_for_backwards_no_vc_check_slice
    num_outputs = facts.num_forward_returns
    num_saved = len(_returned(pieces.graphs["forward"])) - num_outputs
    tangents = [i for i, output in enumerate(facts.output_info) if _has_tangent(output)]
    formats = [one.memory_format for one in facts.subclass_tangent_meta]
    backward_graph = pieces.graphs["backward"]
    parts = [range(*part.indices(num_outputs + num_saved)) for part in (checked, sizes, unchecked)]
    if (
        sum(map(len, parts)) != num_saved
        or len(formats) != len(tangents)
        or any(one is None for one in formats)
        or sum(node.op == "placeholder" for node in backward_graph.nodes) != num_saved + len(tangents)
        or len(_returned(backward_graph)) != len(facts.input_info)
        or facts.indices_of_inputs_that_requires_grad_with_mutations_in_bw
        or runtime_wrappers._should_disable_saved_tensors_hooks()
    ):
        return None
    run_forward, run_backward = pieces.run("forward"), pieces.run("backward")
    run_unseen = disable(run_backward)  # where Dynamo looks at the frames of this thread
    gradient_in_layout = _in_layout(facts)
    laid_out = list(zip(tangents, map(_is_laid_out, formats), strict=True))
    varying = list(facts.dynamic_saved_tensors_idxs.items())
    mark = runtime_wrappers.mark_dynamo_propagated_dynamic_indices if varying else None
    views = facts.unsafe_view_out_indices
    without_gradient = [i for i, output in enumerate(facts.output_info) if not output.requires_grad]
    deterministic = facts.deterministic
    Tensor, is_grad_enabled = torch.Tensor, torch.is_grad_enabled
    callback = torch._C._dynamo.eval_frame.get_eval_frame_callback
    interpreters = torch._C._functorch.peek_interpreter_stack
    are_deterministic = torch.are_deterministic_algorithms_enabled

    class CompiledFunction(function):
        @staticmethod
        def forward(ctx, *args):
            outputs = run_forward(list(args))
            saved = [x.detach() if x._is_view() else x for x in outputs[checked]]
            others = [x.detach() if x._is_view() else x for x in outputs[unchecked]]
            for i, axes in varying:
                mark(saved[i] if i < len(saved) else others[i - len(saved)], axes)
            ctx.save_for_backward(*saved)
            ctx._tensors_no_vc_check = others
            ctx.symints, ctx.opaque_objects = outputs[sizes], ()  # by names that compiled autograd knows
            returned = list(outputs[:num_outputs])
            for i in views:
                returned[i] = torch.ops.aten._unsafe_view(returned[i], returned[i].shape)
            if without_gradient:
                ctx.mark_non_differentiable(*[returned[i] for i in without_gradient if isinstance(returned[i], Tensor)])
            ctx._materialize_non_diff_grads = False
            return tuple(returned)

        @staticmethod
        def backward(ctx, *given):
            boxed = len(given) == 1 and type(given[0]) is list  # from some PyTorch on; emptied, so that it can be freed
            gradients = given[0] if boxed else given
            args = [*ctx.symints, *ctx.saved_tensors, *ctx._tensors_no_vc_check]
            for position, is_laid_out in laid_out:
                gradient = gradients[position]
                if type(gradient) is not Tensor or not is_laid_out(gradient):
                    gradient = gradient_in_layout(gradient, len(args) - num_saved)
                args.append(gradient)
            gradient = None
            if boxed:
                gradients.clear()
            if interpreters() is not None:
                raise RuntimeError(_WITHIN_TRANSFORMS)
            if deterministic is False and are_deterministic():
                raise RuntimeError(_MADE_NONDETERMINISTIC)
            ctx.maybe_clear_saved_tensors()
            run = run_backward if callback() is None else run_unseen
            if is_grad_enabled():
                return _differentiable_once(run, args)
            return tuple(run(args))

    return CompiledFunction


def _has_tangent(output):
    gradient = getattr(output, "requires_grad_for_backward", output.requires_grad)
    return gradient and issubclass(output.raw_type, torch.Tensor)


def _is_laid_out(wanted):
    """Whether a gradient has the layout that the backward was compiled for: strides, or an order where sizes vary."""
    if wanted.memory_format is not None:
        return lambda gradient: gradient.is_contiguous(memory_format=wanted.memory_format)
    stride = tuple(wanted.stride)
    return lambda gradient: gradient.stride() == stride


def _in_layout(facts):
    """AOTAutograd's own check of a gradient: subclasses it knows, others get its error."""
    process = runtime_wrappers.AOTDispatchAutograd.process_runtime_tangent
    metas = facts.subclass_tangent_meta

    def gradient_in_layout(gradient, position):
        return process(gradient, metas[position])[0]

    return gradient_in_layout


def _differentiable_once(run, args):
    """The backward's results, of which a further backward is an error, but which say that they have one."""

    class CompiledFunctionBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *unused):
            return tuple(run(args))

        @staticmethod
        def backward(ctx, *unused):
            raise RuntimeError(_NO_SECOND_BACKWARD)

    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    if not any(x.requires_grad for x in tensors):
        tensors = [torch.empty(0, requires_grad=True), *tensors]
    return CompiledFunctionBackward.apply(*tensors)
