"""Every op on complex numbers does the same with their parts, or what NumPy does, or refuses."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import (
    ComplexError,
    DTypeError,
    GraphError,
    OptionError,
    OutputError,
    ShapeError,
    StaticGraphError,
)
from staticgraph.compiler.core.op import Op, op_named
from tests.samples import SAMPLES

MADE_BY_PASSES = {"gemm"}


def _complex(value: Any) -> Any:
    """A floating array with an imaginary part."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        made = np.empty(value.shape, np.result_type(value.dtype, np.complex64))
        made.real, made.imag = value, np.flip(value)
        return made
    if isinstance(value, list | tuple):
        return type(value)([_complex(one) for one in value])
    return value


def _flat(value: Any) -> list[Any]:
    return (
        [one for part in value for one in _flat(part)]
        if isinstance(value, tuple | list)
        else [value]
    )


def _part(value: Any, part: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":
        return np.array(getattr(value, part))
    if isinstance(value, list | tuple):
        return type(value)([_part(one, part) for one in value])
    return value


def _kind(name: str) -> str:
    try:
        return op_named(name).complex
    except GraphError:
        return "function"


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - MADE_BY_PASSES))
def test_every_op_agrees_or_refuses(name: str) -> None:
    function: Any = getattr(ops, name, None) or op_named(name)
    sample = SAMPLES[name][0]
    args = [_complex(one) for one in sample.args]
    changed = any(isinstance(one, np.ndarray) and one.dtype.kind == "c" for one in _flat(args))
    if not changed:
        return
    try:
        with np.errstate(all="ignore"):
            found = function(*args, **sample.options)
    except StaticGraphError as error:
        assert isinstance(error, DTypeError | OptionError | ShapeError), error
        assert isinstance(error, ComplexError) or "complex" in str(error), error
        tensors = [dynamic.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        if isinstance(function, Op) and isinstance(error, ComplexError):
            assert str(error).startswith(f"{name}: complex128[")
            with pytest.raises(NotImplementedError, match=f"{name}: complex128"):
                function(*tensors, **sample.options)
        return
    assert _kind(name) in ("linear", "holomorphic", "own", "any", "function"), name
    if _kind(name) == "linear" and name not in ("embed", "pad"):
        with np.errstate(all="ignore"):
            re, im = (function(*_part(args, part), **sample.options) for part in ("real", "imag"))
        np.testing.assert_allclose(_flat(found)[0], re + 1j * im, rtol=1e-12, atol=1e-13)


X = np.array([1 + 2j, 3.0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: sg.placeholder("x", (2,), "complex64") < 1, ComplexError, "less: complex64[2] is"),
        (lambda: sg.maximum(X, X), ComplexError, "maximum: complex128[2] is complex"),
        (lambda: sg.grad(lambda z: sg.sum(z))(X), OutputError, "a loss is real: take real or abs"),
        (lambda: sg.complex(X, X), DTypeError, "complex: parts of complex128 and complex128"),
        (lambda: sg.complex(np.ones(2, "float16"), np.ones(2, "float16")), DTypeError,
         "no complex numbers have parts of float16"),
        (lambda: sg.view_as_real(np.ones(2)), DTypeError, "view_as_real: float64[2] is not"),
        (lambda: sg.view_as_complex(X), DTypeError, "view_as_complex: complex128[2] is not"),
        (lambda: sg.view_as_complex(np.ones(3)), ShapeError, "the last axis of float64[3] has not"),
        (lambda: ops.dft(sg.constant([1.0]), (0,)), DTypeError, "dft: float32[1] is not complex"),
        (lambda: ops.real_dft.infer_type(sg.constant([1]).type, axis=0, norm="ortho"), DTypeError,
         "rfft: int64[1] is not of real"),
        (lambda: ops.real_inverse_dft(sg.constant([1.0]), 1), DTypeError, "irfft: float32[1] is"),
        (lambda: ops.op_named("eig").infer_type(sg.constant(np.eye(2)).type), DTypeError,
         "eig: float64[2, 2] is not complex"),
        (lambda: ops.make_complex(sg.constant([1]), sg.constant([1j])), DTypeError,
         "complex: parts complex128[1] and complex128[1]"),
    ],
)  # fmt: skip
def test_errors_name_op_and_dtype(call: Callable[[], object], error: Any, text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_a_complex_loss_is_refused() -> None:
    z = sg.placeholder("z", (2,), "complex128")
    with pytest.raises(GraphError, match="is complex, and gradients are of real losses"):
        sg.grad(sg.sum(z), [z])


def test_a_cast_to_real_warns_at_the_users_line() -> None:
    z = sg.placeholder("z", (2,), "complex128")
    for one in (X, z, dynamic.tensor(X)):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as got:
            sg.astype(one, "float64")
        assert got[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.astype(X, "bool").all()


def test_complex_feeds_are_checked() -> None:
    z = sg.placeholder("z", (2,), "complex64")
    f = sg.compile([z], z * 2)
    np.testing.assert_array_equal(f(np.ones(2, "float32")), [2, 2])
    np.testing.assert_array_equal(f([1j, 2]), [2j, 4])
    with pytest.raises(DTypeError, match="complex128"):
        f(X)
    x = sg.placeholder("x", (2,))
    with pytest.raises(DTypeError, match="complex128"):
        sg.compile([x], x * 2)(X)
