"""Errors of modules, with PyTorch's classes under the project's root error, and warnings."""

from __future__ import annotations

from staticgraph.compiler.core.errors import OptionError, StaticGraphError


class ModuleError(StaticGraphError, RuntimeError):
    """A module is not in the state that the call needs, or a state dict does not fit it."""


class ModuleAttributeError(StaticGraphError, AttributeError):
    """A module has no attribute of this name, or was not initialised before it was given one."""


class ModuleKeyError(StaticGraphError, KeyError):
    """A parameter, buffer or child cannot have this name."""


class IndivisibleError(OptionError, AssertionError):
    """Sizes of a module that have to divide each other do not; PyTorch asserts it."""


class AssertedError(OptionError, AssertionError):
    """A size or an index does not fit a module; PyTorch asserts it."""


class MissingForwardError(StaticGraphError, NotImplementedError):
    """A module was called that defines no `forward`."""


class UnsupportedError(StaticGraphError, NotImplementedError):
    """A combination of options that there is no code for."""
