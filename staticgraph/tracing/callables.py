"""What captures follow of what is called and is no function: methods, partial calls, caches."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Op
from staticgraph.compiler.core.whose_code import is_library
from staticgraph.tracing.deferred import Deferred
from staticgraph.tracing.inspection import file_of
from staticgraph.tracing.library_states import Results, of_cache, results_of
from staticgraph.tracing.objects import Objects

PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type(...), np.dtype, BuiltinFunctionType, Op,
)  # fmt: skip
FEW_RESULTS = 64
"""The results of a cache that are compared one by one; of more, how often it computed one."""
_OF_PARTIALS = ("func", "args", "keywords")


class Callables(Objects):
    """What is found of what is called; `Surroundings` follows everything else."""

    deferred: Deferred

    def _of_library(self, value: object, name: str, place: str) -> None:
        """What a function of a library calls: functions of the user's, which it was given."""
        if isinstance(value, FunctionType | MethodType | functools.partial):
            self._value(value, name, place)
        elif isinstance(value, Mapping):
            for one in [*value.values()]:
                self._of_library(one, name, place)
        elif not isinstance(value, PLAIN) and not is_library(file_of(type(value))):
            self._value(value, name, place)

    def _method(self, method: MethodType, name: str, place: str) -> None:
        self._value(method.__self__, name, place)
        self._value(method.__func__, name, place)

    def _partial(self, part: Any, name: str, place: str) -> None:
        if part in self.deferred and self._names.keys().isdisjoint(_OF_PARTIALS):
            return  # what it calls is handed over with what it was given
        for key in ("func", "args"):
            self._slot(part, key, f"{name}.{key}", place)
        self._value(part.keywords, name, place)

    def _wrapper(self, value: object, name: str, place: str) -> None:
        for key in ("__func__", "fget", "fset", "func", "dispatcher", "__wrapped__"):
            inner = getattr(value, key, None)
            if inner is not None:
                self._value(inner, name, place)

    def _memoized(self, value: Any, name: str, place: str) -> None:
        """What has a cache: a call may fill it, and `cache_clear` empties it."""
        self.cached.add((id(value), ""))
        self._read("misses", value, "", value.cache_info().misses, f"the cache of {name}", place)
        if value.cache_info().currsize <= FEW_RESULTS:  # it may be emptied and filled again
            kept = f"the results of {name}"
            self._read("state", value, Results, Results(value), kept, place)
        if "cache_info" in self._names:
            self._read("state", value, of_cache, of_cache(value), f"the cache of {name}", place)
        self._wrapper(value, name, place)
        for one in results_of(value):
            self._value(one, f"a result of {name}", place)
