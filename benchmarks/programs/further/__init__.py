"""More programs of the kinds beside this folder, written after these and of none of their rules: `--further`."""

from . import data, images, nets, numbers

TABLES = [kind.TABLE for kind in (images, nets, data, numbers)]
