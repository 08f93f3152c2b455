"""More programs of the kinds beside this folder, written after these and of none of their rules: `--list further`."""

from . import bodies, cells, data, fields, images, learning, motions, moves, nets, numbers, scenes, sequences, unrolled

TABLES = [
    kind.TABLE
    for kind in (
        images,
        moves,
        unrolled,
        nets,
        data,
        numbers,
        sequences,
        scenes,
        learning,
        motions,
        cells,
        bodies,
        fields,
    )
]
