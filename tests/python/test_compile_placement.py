"""Where operations of a graph are placed: no cycle, the fewest regions, in linear time; on random graphs."""

import random
import time

import pytest
import torch
from nvfuser.dynamo.backend import backend, observing
from nvfuser.dynamo.placement import Item, Kind, place


def random_items(seed, count, library=0.3, free=0.2, orders=0.0, stored=0.0):
    random_ = random.Random(seed)
    items = []
    for position in range(count):
        kind = random_.choices([Kind.FUSED, Kind.LIBRARY, Kind.FREE], [1 - library - free, library, free])[0]
        near = range(max(0, position - 12), position)
        inputs = random_.sample(near, min(len(near), random_.randint(0, 1 if kind is Kind.FREE else 3)))
        writes = kind is Kind.LIBRARY and random_.random() < 0.02
        draws = kind is Kind.LIBRARY and random_.random() < 0.1
        item = Item(kind, sorted(inputs), random_.randint(1, 100), random_.random() < 0.1, draws, writes)
        item.is_stored = kind is Kind.FUSED and random_.random() < stored
        if kind is not Kind.FREE and random_.random() < orders:
            placed = [i for i in near if items[i].kind is not Kind.FREE]
            item.after += random_.sample(placed, min(len(placed), 2))
        items.append(item)
    return items


def sources_of(items):
    """What each one reads, views looked through."""
    through, sources = [], []
    for position, item in enumerate(items):
        found = {source for i in item.inputs for source in through[i]}
        sources.append(found)
        through.append(found if item.kind is Kind.FREE else {position})
    return sources


def longest_alternation(items):
    """The most groups of fused operations on a chain, each after one of a library: no cut has fewer regions."""
    count = []
    for item in items:
        before = [count[i] for i in item.inputs]
        in_group = max([g for g, _ in before], default=0)
        fresh = max([f for _, f in before], default=0)
        if item.kind is Kind.FUSED:
            count.append((max(in_group, fresh + 1), fresh))
        elif item.kind is Kind.LIBRARY:
            count.append((max(in_group, fresh), max(in_group, fresh)))
        else:
            count.append((in_group, fresh))
    return max([g for (g, _), item in zip(count, items, strict=True) if item.kind is Kind.FUSED], default=0)


@pytest.mark.parametrize("seed", range(200))
def test_edges_never_go_back(seed):
    items = random_items(seed, 60, orders=0.1)
    levels = place(items)
    floor = ordered = 0
    for position, (item, sources) in enumerate(zip(items, sources_of(items), strict=True)):
        level = levels[position]
        if item.kind is Kind.FREE:
            assert level is None
            continue
        assert level % 2 == (item.kind is Kind.FUSED)
        assert level >= floor, "after an operation that writes, but placed before it"
        for source in [*sources, *item.after]:
            assert levels[source] <= level
            if items[source].kind is not item.kind:
                assert levels[source] < level
        if item.writes:
            assert all(levels[i] <= level for i in range(position) if levels[i] is not None)
            floor = level
        if item.keeps_order:
            assert level >= ordered
            ordered = level


@pytest.mark.parametrize("seed", range(50))
def test_no_cut_has_fewer_regions(seed):
    items = random_items(seed, 80)
    for item in items:
        item.writes = item.keeps_order = False
    levels = place(items)
    regions = {level for level, item in zip(levels, items, strict=True) if item.kind is Kind.FUSED}
    assert len(regions) <= longest_alternation(items)


def crossing(items, levels):
    """Bytes of fused results that later levels read."""
    crosses = set()
    for position, sources in enumerate(sources_of(items)):
        if levels[position] is not None:
            crosses |= {s for s in sources if items[s].kind is Kind.FUSED and levels[s] != levels[position]}
    return sum(items[position].size for position in crosses)


@pytest.mark.parametrize("seed", range(100))
def test_what_is_stored_is_read_by_other_regions(seed):
    items = random_items(seed, 60, orders=0.1, stored=0.1)
    levels = place(items)
    for position, sources in enumerate(sources_of(items)):
        if items[position].kind is Kind.FREE:
            continue
        for source in sources:
            apart = items[source].is_stored or items[source].kind is not items[position].kind
            assert levels[source] + (1 if apart else 0) <= levels[position]


def test_what_is_read_late_is_computed_late():
    fused, library = Kind.FUSED, Kind.LIBRARY
    items = [
        Item(fused, [], 10),  # recomputed for the last one alone
        Item(fused, [0], 10),
        Item(fused, [], 10),
        Item(library, [2], 10),
        Item(fused, [3, 1], 10, is_output=True),
    ]
    assert place(items) == [3, 3, 1, 2, 3]
    assert crossing(items, place(items)) == 10


def test_what_would_keep_more_alive_stays():
    fused, library = Kind.FUSED, Kind.LIBRARY
    items = [
        Item(fused, [], 1000),
        Item(fused, [0], 10),  # a sum of the large one, read late
        Item(fused, [0], 20),
        Item(library, [2], 10),
        Item(fused, [3, 1], 10, is_output=True),
    ]
    assert place(items) == [1, 1, 1, 2, 3]


def test_time_is_linear():
    def seconds(count):
        items = random_items(1, count)
        best = 1e9
        for _ in range(3):
            begin = time.perf_counter()
            place(items)
            best = min(best, time.perf_counter() - begin)
        return best

    assert seconds(32_000) < 24 * seconds(4_000)  # 8 times as many; squared it would be 64


# Of two matrices; the product is left to PyTorch.
STEPS = (
    lambda a, b: a + b,
    lambda a, b: torch.tanh(a),
    lambda a, b: a * b.t(),
    lambda a, b: (a @ b) * 0.2,
    lambda a, b: a - b.mean(0),
    lambda a, b: torch.where(a > b, a, b.t()),
    lambda a, b: torch.softmax(a, 1),
    lambda a, b: a.view(2, 3, 6).transpose(0, 1).reshape(6, 6),
    lambda a, b: torch.cat((a[:2], b[2:])),
)


def random_program(seed, count=18):
    """A function of two matrices: pointwise operations, sums, views, joins and products."""
    random_ = random.Random(seed)
    steps = [(random_.choice(STEPS), random_.randrange(step + 2), random_.randrange(step + 2)) for step in range(count)]

    def program(x, y):
        values = [x, y]
        for operation, i, j in steps:
            values.append(operation(values[i], values[j]))
        return values[-1], values[-2], values[-3].t()

    return program


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    torch._dynamo.reset()
    torch.manual_seed(seed)
    program = random_program(seed)
    inputs = [torch.randn(6, 6, dtype=torch.float64) for _ in range(2)]
    with observing() as seen:
        ours = torch.compile(program, backend=backend, dynamic=False)(*inputs)
    for mine, theirs in zip(ours, program(*inputs), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)
        assert mine.stride() == theirs.stride()
    assert not [reason for graph in seen.graphs for reason in graph.failures()]
