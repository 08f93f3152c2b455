"""A sample of what is in neither list before it, written without a look at how any of it does: `--list later`."""

from . import layers, objectives, pictures, series, serving, simulation

TABLES = [kind.TABLE for kind in (simulation, pictures, layers, objectives, serving, series)]
