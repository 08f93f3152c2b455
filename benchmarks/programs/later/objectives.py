"""Reinforcement, chains of tags, preferences, ranks, metric learning, codes."""

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("later objectives", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def v_trace(log_ratios, rewards, done, values, last):
    ratios = log_ratios.exp()
    clipped = ratios.clamp(max=1.0)
    discounts = 0.99 * (~done)
    following = torch.cat([values[1:], last[None]])
    deltas = clipped * (rewards + discounts * following - values)
    total, found = torch.zeros_like(last), []
    for step in reversed(range(len(rewards))):
        total = deltas[step] + discounts[step] * clipped[step] * total
        found.append(total)
    targets = torch.stack(found[::-1]) + values
    following = torch.cat([targets[1:], last[None]])
    return targets, clipped * (rewards + discounts * following - values)


add(
    "V-trace",
    v_trace,
    lambda t, b: [normal(t, b) / 4, normal(t, b), integers(20, t, b) == 0, normal(t, b), normal(b)],
    (8, 4),
    (16, 2048),
    (16, 100000),
)


def chain_of_tags(emissions, tags, lengths, transitions, first, last):
    steps = emissions.shape[1]
    mask = torch.arange(steps, device=tags.device) < lengths[:, None]
    picked = emissions.gather(-1, tags[..., None]).squeeze(-1)
    moved = transitions[tags[:, :-1], tags[:, 1:]]
    end = tags.gather(1, lengths[:, None] - 1).squeeze(1)
    score = first[tags[:, 0]] + (picked * mask).sum(1) + (moved * mask[:, 1:]).sum(1) + last[end]
    alpha = first + emissions[:, 0]
    for step in range(1, steps):
        new = torch.logsumexp(alpha[:, :, None] + transitions, 1) + emissions[:, step]
        alpha = torch.where(mask[:, step, None], new, alpha)
    return (torch.logsumexp(alpha + last, -1) - score).mean()


add(
    "conditional field of tags, trained",
    chain_of_tags,
    lambda b, t, k: [
        normal(b, t, k),
        integers(k, b, t),
        integers(t, b) + 1,
        normal(k, k),
        normal(k),
        normal(k),
    ],
    (2, 8, 5),
    (32, 8, 17),
    (1024, 8, 25),
    trained=True,
)


def motif_hits(sequences, motifs, background):
    bases = F.one_hot(sequences, 4).to(motifs.dtype).transpose(1, 2)
    scores = torch.log2(motifs.softmax(1)) - torch.log2(background)[:, None]
    forward = F.conv1d(bases, scores)
    backward = F.conv1d(bases, scores.flip(1, 2))
    both_strands = torch.maximum(forward, backward)
    best, where = both_strands.max(-1)
    return best, where, (both_strands > 3).sum(-1), torch.logaddexp(forward, backward).logsumexp(-1)


add(
    "motifs on both strands",
    motif_hits,
    lambda n, length, m, w: [integers(4, n, length), normal(m, 4, w), torch.tensor([0.3, 0.2, 0.2, 0.3])],
    (2, 30, 3, 6),
    (16, 150, 8, 8),
    (128, 1000, 24, 11),
)


def ranking_metrics(scores, labels):
    order = scores.argsort(-1, descending=True)
    hits = labels.gather(-1, order).float()
    true = hits.cumsum(-1)
    false = (1 - hits).cumsum(-1)
    positives, negatives = true[:, -1:].clamp(min=1), false[:, -1:].clamp(min=1)
    tpr, fpr = true / positives, false / negatives
    area = torch.trapezoid(tpr, fpr, dim=-1)
    precision = (true / (true + false) * hits).sum(-1) / positives.squeeze(-1)
    return area, precision, (tpr - fpr).amax(-1)


add(
    "areas under curves",
    ranking_metrics,
    lambda c, n: [normal(c, n), integers(2, c, n)],
    (3, 20),
    (10, 1500),
    (32, 50000),
)


def circle_loss(x, labels):
    x = F.normalize(x, dim=-1)
    similar = x @ x.t()
    same = labels[:, None] == labels
    positive = same.triu(1)
    negative = (~same).triu(1)
    near = 64 * (1.25 - similar.detach()).clamp(min=0) * (0.75 - similar)
    far = 64 * (similar.detach() + 0.25).clamp(min=0) * (similar - 0.25)
    near = near.masked_fill(~positive, -1e9).flatten().logsumexp(0)
    far = far.masked_fill(~negative, -1e9).flatten().logsumexp(0)
    return F.softplus(near + far)


both("circle loss", circle_loss, lambda n, d: [normal(n, d), integers(10, n)], (9, 16), (130, 32), (1000, 128))


def variance_and_covariance(a, b):
    n, d = a.shape
    loss = 25 * F.mse_loss(a, b)
    off = ~torch.eye(d, dtype=torch.bool, device=a.device)
    for x in (a, b):
        x = x - x.mean(0)
        loss = loss + 25 * F.relu(1 - (x.var(0) + 1e-4).sqrt()).mean()
        loss = loss + ((x.T @ x / (n - 1)).square() * off).sum() / d
    return loss


add(
    "variance, invariance, covariance, trained",
    variance_and_covariance,
    lambda n, d: [normal(n, d), normal(n, d)],
    (8, 16),
    (200, 96),
    (2000, 600),
    trained=True,
)


def preference_loss(logits, reference, tokens, answer):
    def total(logits):
        chosen = logits[:, :-1].float().log_softmax(-1).gather(-1, tokens[:, 1:, None]).squeeze(-1)
        return (chosen * answer[:, 1:]).sum(-1)

    better, worse = (total(logits) - total(reference.detach())).chunk(2)
    margin = 0.1 * (better - worse)
    loss = -F.logsigmoid(margin) * 0.9 - F.logsigmoid(-margin) * 0.1
    return loss.mean(), (margin > 0).float().mean()


both(
    "preferences between answers",
    preference_loss,
    lambda b, t, v: [
        normal(b, t, v).bfloat16(),
        normal(b, t, v).bfloat16(),
        integers(v, b, t),
        integers(4, b, t) > 0,
    ],
    (2, 6, 33),
    (4, 32, 500),
    (4, 200, 8001),
)


def lambda_rank(scores, relevance):
    gain = 2.0**relevance - 1
    rank = scores.argsort(-1, descending=True).argsort(-1)
    discount = 1 / torch.log2(rank + 2.0)
    places = torch.arange(scores.shape[1], device=scores.device)
    ideal = (gain.sort(-1, descending=True).values / torch.log2(places + 2.0)).sum(-1)
    ideal = ideal.clamp(min=1e-6)
    weight = (gain[:, :, None] - gain[:, None]) * (discount[:, :, None] - discount[:, None])
    weight = weight.abs() / ideal[:, None, None]
    better = relevance[:, :, None] > relevance[:, None]
    loss = F.softplus(scores[:, None] - scores[:, :, None]) * weight
    return loss.masked_fill(~better, 0.0).sum((1, 2)).mean()


add(
    "ranks by lambdas, trained",
    lambda_rank,
    lambda q, d: [normal(q, d), integers(5, q, d)],
    (2, 6),
    (8, 33),
    (50, 130),
    trained=True,
)


def lovasz_softmax(logits, labels):
    chances = logits.softmax(-1)
    true = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    errors, order = (true - chances).abs().sort(0, descending=True)
    true = true.gather(0, order)
    total = true.sum(0)
    jaccard = 1 - (total - true.cumsum(0)) / (total + (1 - true).cumsum(0))
    steps = torch.cat([jaccard[:1], jaccard.diff(dim=0)])
    present = total > 0
    return ((errors * steps).sum(0) * present).sum() / present.sum().clamp(min=1)


add(
    "Lovasz softmax, trained",
    lovasz_softmax,
    lambda n, c: [normal(n, c), integers(c, n)],
    (60, 3),
    (4000, 5),
    (100000, 7),
    trained=True,
)


def vector_quantized(z, codes):
    distance = z.square().sum(-1, keepdim=True) - 2 * z @ codes.t() + codes.square().sum(-1)
    index = distance.argmin(-1)
    found = F.embedding(index, codes)
    loss = F.mse_loss(found, z.detach()) + 0.25 * F.mse_loss(z, found.detach())
    used = F.one_hot(index, len(codes)).float().mean(0)
    perplexity = torch.exp(-(used * torch.log(used + 1e-10)).sum())
    return z + (found - z).detach(), loss, perplexity


both(
    "codes of vectors",
    vector_quantized,
    lambda n, k, d: [normal(n, d), uniform(k, d, low=-1.0)],
    (20, 8, 8),
    (500, 64, 16),
    (10000, 400, 64),
)
