"""The tables of programs, and which of them a command asks for."""

from . import (
    casts,
    decoding,
    diffusion,
    experts,
    further,
    graphs,
    later,
    losses,
    optimizers,
    physics,
    recommenders,
    recurrent,
    signals,
    statistics,
    vision,
)

KINDS = (
    physics,
    vision,
    graphs,
    recommenders,
    recurrent,
    diffusion,
    decoding,
    experts,
    losses,
    signals,
    statistics,
    optimizers,
    casts,
)
ORDINARY = [kind.TABLE for kind in KINDS]
LISTS = {
    "ordinary": ORDINARY,
    "further": further.TABLES,
    "later": later.TABLES,
    "all": [*ORDINARY, *further.TABLES, *later.TABLES],
}


def cases_of(options):
    """Pairs of program and size; a size that equals the one in front of it is left out."""
    found = []
    for table in LISTS[options["list"]]:
        for program in table.programs:
            if any(text in f"{table.kind}: {program.name}" for text in options["only"]):
                sizes = {program.sizes[size]: size for size in options["size"]}
                found += [(program, size) for size in sizes.values()]
    return found


def name_of(case):
    program, size = case
    return f"{program.name}, {size}"
