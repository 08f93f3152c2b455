"""Bags of embeddings and crosses of features."""

import torch
import torch.nn.functional as F

from .program import Table, integers, normal

TABLE = Table("recommenders")


def embedding_bag(table, index, weight):
    return (F.embedding(index, table) * weight[..., None]).sum(1)


def factorization_machine(table, linear, index):
    fields = F.embedding(index, table)
    crossed = 0.5 * (fields.sum(1).square() - fields.square().sum(1)).sum(-1)
    return torch.sigmoid(crossed + F.embedding(index, linear).sum((1, 2)))


def cross_layers(x, w1, b1, w2, b2):
    y = x
    for w, b in ((w1, b1), (w2, b2)):
        y = x * (y * w).sum(-1, keepdim=True) + b + y
    return y


def dot_interactions(dense, sparse):
    fields = torch.cat([dense[:, None], sparse], 1)
    products = torch.bmm(fields, fields.transpose(1, 2))
    row, column = torch.tril_indices(fields.shape[1], fields.shape[1], -1, device=dense.device)
    return torch.cat([dense, products[:, row, column]], 1)


TABLE.add(
    "weighted bags",
    embedding_bag,
    lambda rows, n, bag, w: [normal(rows, w), integers(rows, n, bag), normal(n, bag)],
    (256, 16, 8, 16),
    (10000, 512, 16, 32),
    (200000, 8192, 32, 64),
)
TABLE.add(
    "factorisation machine, trained",
    factorization_machine,
    lambda rows, n, fields, w: [normal(rows, w) * 0.1, normal(rows, 1), integers(rows, n, fields)],
    (256, 16, 8, 8),
    (10000, 512, 16, 16),
    (100000, 8192, 32, 16),
    trained=True,
)
TABLE.add(
    "two cross layers, trained",
    cross_layers,
    lambda n, w: [normal(n, w), *(normal(w) / w for _ in range(4))],
    (16, 64),
    (512, 256),
    (16384, 512),
    trained=True,
)
TABLE.add(
    "dot products of fields",
    dot_interactions,
    lambda n, fields, w: [normal(n, w), normal(n, fields, w)],
    (16, 8, 16),
    (256, 26, 32),
    (8192, 26, 64),
)
