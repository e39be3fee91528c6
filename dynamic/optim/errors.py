"""Errors of optimizers and schedulers, with the classes of PyTorch's."""

from __future__ import annotations

from staticgraph.compiler.core.errors import StaticGraphError


class MissingOptionError(StaticGraphError, KeyError):
    """A parameter group lacks an option that a scheduler reads."""


class GroupCountError(StaticGraphError, AssertionError):
    """An algorithm that has one parameter group was given another number of them."""


class AbstractMethodError(StaticGraphError, NotImplementedError):
    """A method that a subclass defines was called on the abstract class."""
