"""Masks of attention as PyTorch's kernels take them, before a graph is traced.

On a GPU no kernel of attention reads a mask whose last axis is stretched (masks that vmap made of a function of the
positions look so): attention is then traced as two products in float32 around a softmax, which takes several times as
long and keeps all scores. A mask without gaps has the same elements, and the result of products is contiguous:

    scaled_dot_product_attention(q, k, v, mask.expand(8, 1, 512, 512))     mask's last axis has stride 0
    scaled_dot_product_attention(q, k, v, mask.expand(8, 1, 512, 512).clone()).contiguous()
"""

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

_MASK = 3  # the mask's position among the arguments


def lay_out_masks(graph):
    """Changes a graph of Dynamo's. Masks of the CPU, and those with elements side by side, stay as they are."""
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not torch.nn.functional.scaled_dot_product_attention:
            continue
        mask = node.args[_MASK] if len(node.args) > _MASK else node.kwargs.get("attn_mask")
        if not isinstance(mask, torch.fx.Node) or not _has_gaps(mask.meta.get("example_value")):
            continue
        _lay_out(graph, node, mask)


def _lay_out(graph, node, mask):
    with graph.inserting_before(node):
        dense = graph.call_method("clone", (mask,), {"memory_format": torch.contiguous_format})
    with graph.inserting_after(node):
        result = graph.call_method("contiguous", (node,))
    node.replace_all_uses_with(result, lambda user: user is not result)
    node.replace_input_with(mask, dense)


def _has_gaps(mask):
    return (
        isinstance(mask, torch.Tensor)
        and mask.device.type == "cuda"
        and mask.dim() > 0
        and statically_known_true(mask.stride(-1) != 1)
    )
