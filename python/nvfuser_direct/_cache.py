"""Functions that define fusions, with executors shared among equal definitions."""

import functools

from nvfuser._C.direct import LRUCache

from ._definition import FusionDefinition


class LruFusionCache:
    """Decorates a function that gives a FusionDefinition: equal definitions share one executor.

    The wrapper's stats() tells of hits, num_fusions() how many definitions are kept.
    """

    def __init__(self, max_fusions=16384):
        self._cache = LRUCache(max_fusions)

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            definition = function(*args, **kwargs)
            if not isinstance(definition, FusionDefinition):
                kind = type(definition).__name__
                raise TypeError(f"LruFusionCache: {function.__name__} gives a {kind}, not a FusionDefinition")
            definition._require_defined()
            definition.fec = self._cache.cache_compile(definition.fusion)
            del definition._fusion
            return definition

        wrapper.stats = self._cache.stats
        wrapper.num_fusions = self._cache.num_fusions
        return wrapper
