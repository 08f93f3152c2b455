"""Vector: a list of sizes, some of which are known only when the fusion runs."""


class Vector(list):
    """Scalars of a fusion and numbers; `vector[i]` and `vector.at(i)` are a Scalar where `scalar_of` makes one."""

    def __init__(self, items=(), scalar_of=None):
        super().__init__(items)
        self._scalar_of = scalar_of

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Vector(super().__getitem__(index), self._scalar_of)
        item = super().__getitem__(index)
        return self._scalar_of(item) if self._scalar_of is not None and isinstance(item, int) else item

    def at(self, index):
        """The entry; negative counts from the end."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"at: there is no entry {index}; the vector has {len(self)}")
        return self[index]

    @property
    def size(self):
        """The number of entries."""
        return len(self)
