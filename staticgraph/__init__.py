"""Define a computation graph once, compile it, run it many times.

    >>> x = sg.placeholder("x", (None, 2))
    >>> w = sg.variable(np.ones(2, "float32"), name="w")
    >>> loss = sg.mean((x @ w) ** 2)
    >>> step = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
    >>> step(np.ones((4, 2), "float32")), w.value
    (array(4., dtype=float32), array([0.6, 0.6], dtype=float32))

`help(sg.compile)` and the like say more; a name below has arguments, errors and an example there.

Leaves           placeholder, variable, constant, zeros, ones, full, arange
Run them         compile, run, save, load; what compile gives: Executable
Functions        function (compiled when it is called), op (one of your own), host_call
Derivatives      grad, value_and_grad, vjp, jvp, jacobian, jacfwd, hessian, hvp, linearize, vmap,
                 custom_vjp, custom_jvp, checkpoint
Loops, branches  scan, while_loop, fori_loop, map, associative_scan, cond, switch
Look inside      diff, check, print, scope; of an executable source, explain, replay, step, view
Settings         set_num_threads, set_default_dtype; `staticgraph env` lists what is read outside
Mathematics      the functions and constants of NumPy in its names, softmax, dropout, losses, ...
Modules          linalg, special, fft, nn, random, optim, distributed, onnx, sklearn, xp
The other side   dynamic: tensors that compute at once, in the names of PyTorch
"""

from importlib import import_module
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

try:
    from staticgraph.compiler.core import fork as _fork, provided as _provided
except ModuleNotFoundError as error:
    if error.name != "staticgraph.compiler":
        raise
    raise ImportError(
        "staticgraph: this checkout has no symbolic links: staticgraph/compiler and "
        "staticgraph/dynamic are to lead to the folders beside it. Clone it again with "
        "`git clone -c core.symlinks=true` (on Windows in developer mode), or install it as a "
        "package: `pip install .`"
    ) from None
from staticgraph.compiler.core.default_dtype import (
    default_dtype as default_dtype,
    get_default_dtype as get_default_dtype,
    set_default_dtype as set_default_dtype,
)
from staticgraph.compiler.core.dims import Dim as Dim
from staticgraph.compiler.core.errors import (
    CaptureError as CaptureError,
    CheckError as CheckError,
    CompileError as CompileError,
    DistributedError as DistributedError,
    DTypeError as DTypeError,
    EffectError as EffectError,
    FeedError as FeedError,
    FormatError as FormatError,
    GraphError as GraphError,
    LinAlgError as LinAlgError,
    LintError as LintError,
    LintWarning as LintWarning,
    NonFiniteError as NonFiniteError,
    NonFiniteWarning as NonFiniteWarning,
    OptionError as OptionError,
    OutOfRangeError as OutOfRangeError,
    OutputError as OutputError,
    ShapeError as ShapeError,
    StaticGraphError as StaticGraphError,
)
from staticgraph.compiler.core.pytree import register_pytree as register_pytree
from staticgraph.compiler.functions import NAMES as _COMPOSED, function_named as _function_named
from staticgraph.compiler.graph.scope import scope as scope
from staticgraph.compiler.ops import public_named as _op_named
from staticgraph.compiler.runtime.threads import (
    get_num_threads as get_num_threads,
    set_num_threads as set_num_threads,
)
from staticgraph.leaves import (
    Variable as Variable,
    arange as arange,
    constant as constant,
    full as full,
    ones as ones,
    placeholder as placeholder,
    variable as variable,
    zeros as zeros,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from staticgraph import (
        distributed as distributed,
        fft as fft,
        linalg as linalg,
        nn as nn,
        optim as optim,
        random as random,
        special as special,
        xp as xp,
    )
    from staticgraph.compilation import compile as compile, run as run
    from staticgraph.compiler.functions.public import *
    from staticgraph.compiler.graph.expression import Expression as Expression
    from staticgraph.compiler.ops.public import *
    from staticgraph.compiler.transforms.control_flow import (
        cond as cond,
        scan as scan,
        while_loop as while_loop,
    )
    from staticgraph.compiler.transforms.custom_derivatives import (
        custom_jvp as custom_jvp,
        custom_vjp as custom_vjp,
    )
    from staticgraph.compiler.transforms.effects import check as check, print as print
    from staticgraph.compiler.transforms.loops import (
        associative_scan as associative_scan,
        fori_loop as fori_loop,
        map as map,
        switch as switch,
    )
    from staticgraph.creation import *
    from staticgraph.differences.diff import diff as diff
    from staticgraph.executables.executable import Executable as Executable
    from staticgraph.executables.saving import save as save
    from staticgraph.host_calls import TensorType as TensorType, host_call as host_call
    from staticgraph.loading import load as load
    from staticgraph.random import dropout as dropout
    from staticgraph.regions import checkpoint as checkpoint
    from staticgraph.tracing.functions import Function as Function, function as function
    from staticgraph.transforms.derivatives import (
        grad as grad,
        hessian as hessian,
        jacobian as jacobian,
        jvp as jvp,
        value_and_grad as value_and_grad,
        vjp as vjp,
    )
    from staticgraph.transforms.forward import (
        hvp as hvp,
        jacfwd as jacfwd,
        linearize as linearize,
    )
    from staticgraph.transforms.mapping import vmap as vmap
    from staticgraph.user_ops import UserOp as UserOp, op as op

__version__ = "0.1.0"

newaxis = None

_CREATED = (
    "array", "asarray", "bartlett", "blackman", "diag_indices", "diag_indices_from", "empty",
    "empty_like", "eye", "fromfunction", "full_like", "geomspace", "hamming", "hanning", "identity",
    "indices", "kaiser", "linspace", "logspace", "mask_indices", "ones_like", "tri", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from", "zeros_like",
)  # fmt: skip

if not TYPE_CHECKING:  # to which a name is public that is imported as itself, or with a star
    _NAMES = (  # beside the shared ops, which are listed where they are declared
        "CaptureError", "CheckError", "CompileError", "DTypeError", "Dim", "DistributedError",
        "EffectError", "Executable", "Expression", "FeedError", "FormatError", "Function",
        "GraphError", "LinAlgError", "LintError", "LintWarning", "NonFiniteError",
        "NonFiniteWarning", "OptionError", "OutOfRangeError", "OutputError", "ShapeError",
        "StaticGraphError", "TensorType", "UserOp",
        "Variable", "arange", "associative_scan", "check", "checkpoint", "compile", "cond",
        "constant", "custom_jvp", "custom_vjp", "default_dtype", "diff", "dropout", "e", "fft",
        "fori_loop",
        "full", "function", "get_default_dtype", "get_num_threads", "grad", "hessian", "host_call",
        "hvp", "inf",
        "jacfwd", "jacobian", "jvp", "linalg", "linearize", "load", "map", "nan", "newaxis", "nn",
        "ones", "op", "optim", "pi", "placeholder", "print", "random", "register_pytree",
        "run", "save", "scan", "scope", "set_default_dtype",
        "set_num_threads", "special", "switch", "value_and_grad", "variable", "vjp", "vmap",
        "while_loop", "xp", "zeros",
        *_CREATED, *_COMPOSED,
    )  # fmt: skip

# What a program does not use, it does not wait for.
_LATER = {
    "compiler.graph.expression": ("Expression",),
    "compiler.transforms.control_flow": ("cond", "scan", "while_loop"),
    "compiler.transforms.custom_derivatives": ("custom_jvp", "custom_vjp"),
    "compiler.transforms.effects": ("check", "print"),
    "compiler.transforms.loops": ("associative_scan", "fori_loop", "map", "switch"),
    "random": ("dropout",),
    "regions": ("checkpoint",),
    "compilation": ("compile", "run"),
    "creation": _CREATED,
    "executables.executable": ("Executable",),
    "tracing.functions": ("Function", "function"),
    "executables.saving": ("save",),
    "host_calls": ("TensorType", "host_call"),
    "loading": ("load",),
    "differences.diff": ("diff",),
    "user_ops": ("UserOp", "op"),
    "transforms.derivatives": ("grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"),
    "transforms.forward": ("hvp", "jacfwd", "linearize"),
    "transforms.mapping": ("vmap",),
}


def _for_scipy(executable: "Executable", start: object, data: "Mapping[str, object]") -> Any:
    from staticgraph.transforms.for_scipy import ScipyFunctions

    return ScipyFunctions(executable, start, data)


def _array_namespace(version: "str | None") -> Any:
    with _fork.importing():
        import_module("staticgraph.compiler.array_api").require_version(version)
        return import_module("staticgraph.xp")


def _picture(expression: Any) -> "str | None":
    from staticgraph.draw.notebook import picture

    return picture(expression)


_provided.picture.provide(_picture)
_provided.for_scipy.provide(_for_scipy)
_provided.array_namespace.provide(_array_namespace)

_MODULES = {
    "distributed", "draw", "fft", "linalg", "nn", "onnx", "optim", "random", "sklearn", "special",
    "view", "xp",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is not there yet."""
        with _fork.importing():
            if name in _MODULES:
                return import_module(f"staticgraph.{name}")
            found = _found(name)
        if found is None:
            raise AttributeError(f"module 'staticgraph' has no attribute {name!r}")
        globals()[name] = found
        return found

    def _found(name: str) -> Any:
        if name == "__all__":
            return [*_NAMES, *import_module("staticgraph.compiler.ops").PUBLIC]
        if name in _MODULE_OF:
            if name == "Expression":  # who asks for the class, and makes none, sees its methods
                import_module("staticgraph.compiler.ops.operators").add_methods()
            return getattr(import_module(f"staticgraph.{_MODULE_OF[name]}"), name)
        if name in _COMPOSED:
            return _function_named(name, _COMPOSED)
        return None if name.startswith("_") else _op_named(name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
