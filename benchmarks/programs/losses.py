"""Losses, most of them trained."""

import torch
import torch.nn.functional as F

from .program import Table, boxes, integers, normal, uniform

TABLE = Table("losses")


def focal(x, target):
    p = x.sigmoid()
    entropy = F.binary_cross_entropy_with_logits(x, target, reduction="none")
    right = p * target + (1 - p) * (1 - target)
    return ((0.25 * target + 0.75 * (1 - target)) * (1 - right) ** 2 * entropy).mean()


def contrastive(a, b, scale):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = a @ b.t() * scale.exp()
    labels = torch.arange(a.shape[0], device=a.device)
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


def distillation(student, teacher):
    return F.kl_div(
        F.log_softmax(student / 2, -1), F.log_softmax(teacher / 2, -1), log_target=True, reduction="batchmean"
    )


def gaussian_divergence(mean, log_variance):
    return -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(-1).mean()


def smooth_boxes(predicted, wanted, weight):
    return (F.smooth_l1_loss(predicted, wanted, beta=0.1, reduction="none").sum(-1) * weight).sum() / weight.sum()


def generalized_iou(a, b):
    low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    union = (a[:, 2:] - a[:, :2]).prod(-1) + (b[:, 2:] - b[:, :2]).prod(-1) - shared
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(-1)
    return (1 - shared / union + (hull - union) / hull).mean()


def alignment(log_p, steps=8):
    """A forward pass over an alignment, in logarithms, as CTC's."""
    a = log_p[:, 0]
    for step in range(1, steps):
        moved = F.pad(a[:, :-1], (1, 0), value=-30.0)
        a = torch.logaddexp(a, moved) + log_p[:, step]
    return -a[:, -1].mean()


def margin_ranking(score, relevance):
    apart = score[:, :, None] - score[:, None, :]
    sign = torch.sign(relevance[:, :, None] - relevance[:, None, :])
    return F.relu(1 - sign * apart).mul(sign != 0).mean()


def smoothed_labels(x, target):
    return F.cross_entropy(x, target, label_smoothing=0.1)


def _pair(n, w):
    return [normal(n, w), normal(n, w)]


TABLE.add(
    "focal, trained",
    focal,
    lambda n, w: [normal(n, w), integers(2, n, w).float()],
    (8, 64),
    (512, 256),
    (8192, 512),
    trained=True,
)
TABLE.add(
    "contrastive, trained",
    contrastive,
    lambda n, w: [*_pair(n, w), uniform()],
    (16, 32),
    (256, 128),
    (2048, 512),
    trained=True,
)
TABLE.add("distillation, trained", distillation, _pair, (8, 100), (256, 1000), (2048, 8192), trained=True)
TABLE.add(
    "divergence of Gaussians, trained", gaussian_divergence, _pair, (8, 64), (512, 256), (8192, 1024), trained=True
)
TABLE.add(
    "smooth L1 of boxes, trained",
    smooth_boxes,
    lambda n: [boxes(n), boxes(n), uniform(n)],
    (128,),
    (16384,),
    (1000000,),
    trained=True,
)
TABLE.add(
    "generalised IoU, trained",
    generalized_iou,
    lambda n: [boxes(n), boxes(n)],
    (128,),
    (16384,),
    (1000000,),
    trained=True,
)
TABLE.add(
    "alignment, trained", alignment, lambda n, w: [-uniform(n, 8, w)], (8, 32), (64, 256), (2048, 512), trained=True
)
TABLE.add(
    "ranking by pairs, trained",
    margin_ranking,
    lambda n, w: [normal(n, w), integers(4, n, w).float()],
    (4, 16),
    (16, 96),
    (64, 384),
    trained=True,
)
TABLE.add(
    "smoothed labels, trained",
    smoothed_labels,
    lambda n, w: [normal(n, w), integers(w, n)],
    (16, 64),
    (256, 1000),
    (4096, 8192),
    trained=True,
)
