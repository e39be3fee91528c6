"""What makes lists and dicts of the classes that functions are given, of their parts."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.refusals import user_place


@frozen
class Defaulting:
    """Makes dicts that make what is missing in them.

    Attributes:
        factory: makes it.
    """

    factory: Any

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        """The dict of some pairs."""
        return defaultdict(self.factory, pairs)


def kind_of_dict(name: str, value: dict[Any, Any]) -> Hashable:
    """What makes a dict like this one of pairs."""
    kind = type(value)
    if kind is defaultdict:
        return Defaulting(value.default_factory)  # type: ignore[attr-defined]
    if kind is Counter:
        return _counted
    require_plain(name, value, OrderedDict if issubclass(kind, OrderedDict) else dict)
    return kind


def _counted(pairs: Iterable[tuple[Any, Any]]) -> Any:
    return Counter(dict(pairs))


def require_plain(name: str, value: Any, base: type) -> None:
    """OptionError for a container of a class of the user's that its parts alone do not make."""
    kind = type(value)
    if kind is base or hasattr(kind, "_fields"):
        return
    made_alike = all(getattr(kind, one) is getattr(base, one) for one in ("__init__", "__new__"))
    if not made_alike or getattr(value, "__dict__", None):
        raise OptionError(
            f"{name}: a {kind.__name__} is given or returned, a class of {base.__name__}s with "
            f"more than its items: pass a {base.__name__} of them, or register the class with "
            f"sg.register_pytree ({user_place()})"
        )
