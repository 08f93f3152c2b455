"""When each operation of a graph runs: the fewest regions, in linear time, without a cycle.

Operations that can be fused and operations of a library alternate in levels: fused ones have odd levels, the others
even ones. All fused operations of a level are one region. An edge never goes to a lower level, and only between
operations of one kind to the same one, so regions cannot form a cycle; and a graph has no more of them than its longest
chain has changes from library to fused, which no other way to cut can beat.

Phases:
1. as soon as possible: the level is the least one that the inputs allow;
2. as late as it pays: fused operations that are read only later move there, in connected pieces, if fewer bytes cross
   between regions then. What a backward graph recomputes is thus computed beside its reader.

`FREE` operations (views, constants) are placed nowhere: whoever reads one computes it again.
"""

import bisect
import enum
from dataclasses import dataclass, field


class Kind(enum.Enum):
    FUSED = "fused"
    LIBRARY = "library"
    FREE = "free"


@dataclass
class Item:
    """An operation. `inputs` are positions of earlier items; graph inputs are not among them."""

    kind: Kind
    inputs: list
    size: int = 0  # bytes of its results
    is_output: bool = False  # of the graph
    keeps_order: bool = False  # random numbers: among each other
    writes: bool = False  # somewhere: what is before it stays before it, and what is after it after it
    after: list = field(default_factory=list)  # earlier placed items that it must follow, though it reads none of them
    is_stored: bool = False  # fused, but read by other regions alone


@dataclass
class _State:
    items: list
    level: list
    floors: list = field(default_factory=list)  # levels of items that write, ascending


def place(items):
    """The level of each item, None for a free one."""
    state = _State(items, [None] * len(items))
    _as_soon_as_possible(state)
    _as_late_as_it_pays(state)
    return state.level


def _next_of_kind(level, kind):
    """The least level of this kind that is not below `level`."""
    odd = kind is Kind.FUSED
    return level if (level % 2 == 1) == odd else level + 1


def _as_soon_as_possible(state):
    # Levels from which on a fused and a library operation can read an item.
    for_fused, for_library = [], []
    floor = 0  # nothing may be placed below: an item before it writes
    highest = 0
    ordered = 0
    for position, item in enumerate(state.items):
        fused = max([for_fused[i] for i in [*item.inputs, *item.after]], default=1)
        library = max([for_library[i] for i in [*item.inputs, *item.after]], default=0)
        if item.kind is Kind.FUSED:
            level = _next_of_kind(max(fused, floor), Kind.FUSED)
            fused, library = level + 2 * item.is_stored, level + 1
        elif item.kind is Kind.LIBRARY:
            level = max(library, floor, ordered if item.keeps_order else 0, highest if item.writes else 0)
            level = _next_of_kind(level, Kind.LIBRARY)
            if item.keeps_order:
                ordered = level
            if item.writes:
                floor = level
                state.floors.append(level)
            fused, library = level + 1, level
        else:
            level = None
            fused, library = max(fused, floor), max(library, floor)
        highest = max(highest, level or 0)
        state.level[position] = level
        for_fused.append(fused)
        for_library.append(library)


def _readers(items):
    """Items that read each one, through free ones; a graph's output reads as None."""
    readers = [[] for _ in items]
    for position in reversed(range(len(items))):
        item = items[position]
        if item.is_output:
            readers[position].append(None)
        through = list(dict.fromkeys(readers[position])) if item.kind is Kind.FREE else [position]
        for i in dict.fromkeys(item.inputs):
            readers[i].extend(through)
    return readers


def _followers(items):
    """Items that must come after each one."""
    followers = [[] for _ in items]
    for position, item in enumerate(items):
        for i in item.after:
            followers[i].append(position)
    return followers


def _sources(items):
    """Placed items that each one reads, through free ones."""
    through = []
    sources = []
    for position, item in enumerate(items):
        found = list(dict.fromkeys(source for i in item.inputs for source in through[i]))
        sources.append(found)
        through.append(found if item.kind is Kind.FREE else [position])
    return sources


def _as_late_as_it_pays(state):
    items, level = state.items, state.level
    readers, followers, sources = _readers(items), _followers(items), _sources(items)
    by_level = {}
    for position, item in enumerate(items):
        if item.kind is Kind.FUSED:
            by_level.setdefault(level[position], []).append(position)
    for current in sorted(by_level, reverse=True):
        _sink_level(state, current, by_level[current], readers, followers, sources)


def _latest(state, position, reader):
    """The last level of a fused operation at which `reader` still finds its result."""
    level = state.level[reader]
    return level - 2 * state.items[position].is_stored if state.items[reader].kind is Kind.FUSED else level - 1


def _sink_level(state, current, members, readers, followers, sources):
    level = state.level
    movable = {}  # position: the latest level for readers and followers outside of this level
    for position in reversed(members):
        latest = []
        for reader in [*readers[position], *followers[position]]:
            if reader is None:
                break  # stays: an output of the graph
            if level[reader] == current and state.items[reader].kind is Kind.FUSED:
                if reader not in movable:
                    break
            else:
                latest.append(_latest(state, position, reader))
        else:
            outside = min(latest, default=None)
            if (latest and outside > current) or (not latest and readers[position]):
                movable[position] = outside
    for piece in _connected(movable, sources):
        latest = [movable[position] for position in piece if movable[position] is not None]
        target = min(latest)
        barrier = bisect.bisect_right(state.floors, current)
        if barrier < len(state.floors):
            target = min(target, state.floors[barrier] - 1)
        if target > current and _pays(state, current, piece, readers, sources):
            for position in piece:
                level[position] = target


def _connected(movable, sources):
    """Pieces of `movable` that no edge joins."""
    parent = {position: position for position in movable}

    def find(position):
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    for position in movable:
        for source in sources[position]:
            if source in movable:
                parent[find(source)] = find(position)
    pieces = {}
    for position in sorted(movable):
        pieces.setdefault(find(position), []).append(position)
    return pieces.values()


def _pays(state, current, piece, readers, sources):
    """Whether the results of `piece` that cross to later levels are no smaller than what it would read across."""
    members = set(piece)
    crossing = sum(
        state.items[position].size for position in piece if any(reader not in members for reader in readers[position])
    )
    held_back = 0
    for source in dict.fromkeys(source for position in piece for source in sources[position]):
        inside = source in members or state.items[source].kind is not Kind.FUSED
        if inside or state.level[source] != current:
            continue
        if not any(reader is None or state.level[reader] != current for reader in readers[source]):
            held_back += state.items[source].size
    return held_back <= crossing
