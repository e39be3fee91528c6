"""Modules made from a declaration: hyper-parameters with defaults, and a function of them.

    class ELU(Declared, functional=F.elu):
        alpha: float = 1.0
        inplace: bool = False

has the constructor `ELU(alpha=1.0, inplace=False)`, and `forward(input)`, which returns
`F.elu(input, self.alpha, self.inplace)`. Both are functions with signatures of their own, written
as `dataclasses` writes constructors: help shows them, Python's errors about arguments name the
class, and a call costs what a method written by hand does. They are written when they are first
asked for, since most modules are never used.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, dataclass_transform

from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.nn.module import Module

_NO_DEFAULT = inspect.Parameter.empty
_KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


@frozen
class _Hyperparameter:
    """Its annotation, its default if it has one, and whether it is given by keyword alone."""

    type: str
    default: Any
    keyword_only: bool

    @property
    def is_kept(self) -> bool:
        """Whether it becomes an attribute; an `InitVar` does not."""
        return not self.type.startswith("InitVar")


@dataclass_transform(eq_default=False)
class Declared(Module):
    """A module whose annotated names are its hyper-parameters; abstract.

    Their order is that of a dataclass: those of the bases first, and after `_: KW_ONLY` those that
    are given by keyword alone. A subclass outside the package inherits the constructor.
    """

    _hyperparameters: ClassVar[Mapping[str, _Hyperparameter]] = {}
    _attributes: ClassVar[tuple[str, ...]] = ("training",)
    """What `forward` passes on from the module besides the hyper-parameters."""
    _optional: ClassVar[tuple[str, ...]] = ()
    """The arguments of `forward` that may be left out: they are None then."""
    _shown: ClassVar[tuple[str, ...]] = ()
    """The attributes that the representation shows."""

    _functional: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, functional: Callable[..., object] | None = None) -> None:
        if cls.__module__.startswith("staticgraph.dynamic."):
            cls._hyperparameters = {**cls._hyperparameters, **_declared(cls)}
            setattr(cls, "__init__", _Unwritten(cls, "__init__", _constructor))  # noqa: B010
            if functional is not None:
                cls._functional = staticmethod(functional)
                setattr(cls, "forward", _Unwritten(cls, "forward", _forward))  # noqa: B010
        super().__init_subclass__()

    def _assign(self, values: dict[str, Any]) -> None:
        """What the constructor does with the hyper-parameters."""
        Module.__init__(self)
        for name, value in values.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        """The hyper-parameters that are shown."""
        return ", ".join([f"{name}={getattr(self, name)}" for name in self._shown])


def _declared(cls: type[Declared]) -> dict[str, _Hyperparameter]:
    """The hyper-parameters of a class itself; their defaults are no attributes of it any more."""
    found, keyword_only = {}, False
    for name, annotation in inspect.get_annotations(cls).items():
        if annotation == "KW_ONLY":
            keyword_only = True
        elif not annotation.startswith("ClassVar"):
            default = vars(cls).get(name, _NO_DEFAULT)
            found[name] = _Hyperparameter(annotation, default, keyword_only)
            if name in vars(cls):
                delattr(cls, name)
    return found


class _Unwritten:
    """Stands for a method until that is asked for, which then takes its place."""

    def __init__(
        self, cls: type[Declared], name: str, write: Callable[[type[Declared]], Any]
    ) -> None:
        self.cls, self.name, self.write = cls, name, write

    def __get__(self, instance: object, owner: object = None) -> Any:
        method = self.write(self.cls)
        method.__qualname__ = f"{self.cls.__qualname__}.{self.name}"
        setattr(self.cls, self.name, method)
        return method.__get__(instance, owner)


def _constructor(cls: type[Declared]) -> Any:
    parameters: list[str] = []
    for name, one in sorted(cls._hyperparameters.items(), key=lambda pair: pair[1].keyword_only):
        if one.keyword_only and "*" not in parameters:
            parameters.append("*")
        has_default = one.default is not _NO_DEFAULT
        parameters.append(f"{name}=declared[{name!r}].default" if has_default else name)
    given = ", ".join(f"{name!r}: {name}" for name in cls._hyperparameters)
    names = {"declared": cls._hyperparameters}
    method = _written(cls, "__init__", parameters, f"self._assign({{{given}}})", names)
    method.__annotations__ = {
        name: one.type if one.is_kept else one.type.removeprefix("InitVar[").removesuffix("]")
        for name, one in cls._hyperparameters.items()
    }
    return method


def _forward(cls: type[Declared]) -> Any:
    """Its arguments are those of the functional that no attribute gives."""
    kept = {name for name, one in cls._hyperparameters.items() if one.is_kept}
    operands, given, in_order = {}, [], True
    for name, parameter in inspect.signature(cls._functional).parameters.items():
        in_order = in_order and parameter.kind is not _KEYWORD_ONLY
        value = name
        if name in kept or name in cls._attributes:
            value = f"self.{name}"
        elif parameter.default is _NO_DEFAULT:
            operands[name] = name
        elif name in cls._optional:
            operands[name] = f"{name}=None"
        else:
            in_order = False  # left at its default: what follows is named
            continue
        given.append(value if in_order else f"{name}={value}")
    body, names = f"return functional({', '.join(given)})", {"functional": cls._functional}
    method = _written(cls, "forward", list(operands.values()), body, names)
    method.__annotations__ = dict.fromkeys((*operands, "return"), "Any")
    method.__doc__ = cls._functional.__doc__
    return method


def _written(cls: type, name: str, parameters: list[str], body: str, names: dict[str, Any]) -> Any:
    source = f"def {name}({', '.join(['self', *parameters])}):\n    {body}\n"
    # named so that the line counts as the package's own, and shows in tracebacks
    file = f"{__file__}:{cls.__name__}.{name}"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {**vars(sys.modules[cls.__module__]), "Any": Any, **names}  # for its annotations
    exec(compile(source, file, "exec"), space)
    return space[name]
