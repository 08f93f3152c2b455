"""Routing of tokens to experts."""

import torch
import torch.nn.functional as F

from .program import Table, normal

TABLE = Table("experts")


def top_two(x, router):
    share = (x @ router).softmax(-1)
    weight, chosen = share.topk(2, -1)
    weight = weight / weight.sum(-1, keepdim=True)
    load = F.one_hot(chosen, router.shape[1]).to(x.dtype).sum(1).mean(0)
    return weight, chosen, (load * share.mean(0)).sum() * router.shape[1]


def top_two_trained(x, router):
    weight, _, balance = top_two(x, router)
    return weight, balance


def dense_mixture(x, router, up, down):
    share = (x @ router).softmax(-1)
    hidden = F.silu(torch.einsum("nd,edh->neh", x, up))
    return torch.einsum("neh,ehd,ne->nd", hidden, down, share)


def slots_in_experts(x, router):
    """Which place each token has in the queue of its expert."""
    share, chosen = (x @ router).softmax(-1).max(-1)
    mask = F.one_hot(chosen, router.shape[1])
    place = ((mask.cumsum(0) - 1) * mask).sum(-1)
    return torch.where(place < x.shape[0] // 4, share, 0.0), place


def _router(n, w, experts):
    return [normal(n, w), normal(w, experts) / w**0.5]


SMALL, MIDDLE, LARGE = (16, 32, 4), (1024, 128, 8), (32768, 512, 16)
TABLE.add("routing by top two", top_two, _router, SMALL, MIDDLE, LARGE, tolerance=1e-3)
TABLE.add("routing by top two, trained", top_two_trained, _router, SMALL, MIDDLE, LARGE, trained=True, tolerance=1e-3)
TABLE.add(
    "all experts, weighted",
    dense_mixture,
    lambda n, w, e: [*_router(n, w, e), normal(e, w, w) / w**0.5, normal(e, w, w) / w**0.5],
    (16, 32, 4),
    (128, 64, 4),
    (2048, 256, 8),
    tolerance=1e-4,
)
TABLE.add("places in queues", slots_in_experts, _router, SMALL, MIDDLE, LARGE, tolerance=1e-2)
