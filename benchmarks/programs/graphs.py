"""Message passing on graphs: gathered ends of edges, sums by node, softmax by node."""

import torch
import torch.nn.functional as F

from .program import Table, integers, normal

TABLE = Table("graphs")


def messages(x, source, target, weight):
    sent = F.relu(x[source] * weight[:, None])
    return x + torch.zeros_like(x).index_add(0, target, sent)


def degree_norm(x, source, target):
    ones = torch.ones_like(source, dtype=x.dtype)
    degree = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device).index_add(0, target, ones)
    scale = (degree + 1).rsqrt()
    sent = x[source] * (scale[source] * scale[target])[:, None]
    return torch.zeros_like(x).index_add(0, target, sent)


def segment_softmax(score, value, target):
    most = torch.full((value.shape[0],), -1e9, dtype=score.dtype, device=score.device)
    most = most.scatter_reduce(0, target, score, "amax")
    power = (score - most[target]).exp()
    total = torch.zeros_like(most).index_add(0, target, power)
    share = power / (total[target] + 1e-9)
    return torch.zeros_like(value).index_add(0, target, share[:, None] * value[target])


def edge_features(x, position, source, target):
    apart = position[source] - position[target]
    distance = apart.square().sum(-1, keepdim=True).sqrt()
    centres = torch.linspace(0, 4, 16, device=x.device, dtype=x.dtype)
    waves = torch.exp(-4 * (distance - centres) ** 2)
    return torch.cat([x[source], x[target], waves], -1)


def _graph(n, edges, width):
    return [normal(n, width), integers(n, edges), integers(n, edges)]


SMALL, MIDDLE, LARGE = (64, 256, 16), (2048, 8192, 64), (65536, 262144, 64)
TABLE.add("messages", messages, lambda n, e, w: [*_graph(n, e, w), normal(e)], SMALL, MIDDLE, LARGE)
TABLE.add(
    "messages, trained", messages, lambda n, e, w: [*_graph(n, e, w), normal(e)], SMALL, MIDDLE, LARGE, trained=True
)
TABLE.add("normalised by degree", degree_norm, _graph, SMALL, MIDDLE, LARGE)
TABLE.add(
    "softmax by node",
    segment_softmax,
    lambda n, e, w: [normal(e), normal(n, w), integers(n, e)],
    SMALL,
    MIDDLE,
    LARGE,
)
TABLE.add(
    "features of edges",
    edge_features,
    lambda n, e, w: [normal(n, w), normal(n, 3), integers(n, e), integers(n, e)],
    SMALL,
    MIDDLE,
    LARGE,
    tolerance=1e-4,
)
