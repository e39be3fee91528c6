"""Transforms of functions: values against the eager engine and by hand, structures as JAX's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import OutputError
from staticgraph.tracing import tracing

RNG = np.random.default_rng(0)
A, B, V, W = (RNG.normal(size=shape) for shape in ((3, 4), (4, 2), (4,), (4,)))
BATCH = RNG.normal(size=(5, 3, 4))


def energy(x: Any, w: Any) -> Any:
    return (sg.tanh(x @ w) ** 2).sum()


def vector(x: Any) -> Any:
    return sg.exp(x) * sg.flip(x, 0) + x.sum()


def nested(p: Any, s: Any) -> Any:
    return {"o": (sg.sin(p["a"]) * s).sum(), "q": [p["b"][0] * p["a"], p["b"][1]]}


def _close(found: Any, expected: Any) -> None:
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def _eager(transform: Any, *arrays: Any) -> Any:
    return transform(*(dynamic.tensor(array) for array in arrays))


def test_grad_and_value_and_grad() -> None:
    value, (by_x, by_w) = sg.value_and_grad(energy, argnums=(0, 1))(A, B)
    expected = _eager(dynamic.func.grad(energy, argnums=(0, 1)), A, B)
    _close(value, energy(A, B))
    _close(by_x, expected[0])
    _close(by_w, expected[1])
    _close(sg.grad(energy)(A, B), by_x)
    _close(sg.grad(energy, 1)(A, B), by_w)
    _close(sg.grad(energy, argnums=-1)(A, B), by_w)
    swapped = sg.grad(energy, argnums=[1, 0])(A, B)
    assert isinstance(swapped, tuple)
    _close(swapped[0], by_w)


def test_gradients_by_structures() -> None:
    found = sg.grad(lambda p, s: nested(p, s)["o"])({"a": V, "b": [W, 2.0]}, W)
    assert list(found) == ["a", "b"]
    _close(found["a"], np.cos(V) * W)
    _close(found["b"][0], np.zeros(4))
    assert found["b"][1] == 0


def test_aux() -> None:
    def f(x: Any, w: Any) -> Any:
        return (x * w).sum(), {"difference": x - w}

    found, aux = sg.grad(f, has_aux=True)(V, W)
    _close(found, W)
    _close(aux["difference"], V - W)
    (value, aux), found = sg.value_and_grad(f, argnums=1, has_aux=True)(V, W)
    _close(value, V @ W)
    _close(aux["difference"], V - W)
    _close(found, V)


def test_grad_of_expressions_is_as_before() -> None:
    x = sg.placeholder("x", (3,))
    assert sg.run(sg.grad((x * x).sum(), x), {x: np.ones(3, "float32")}).tolist() == [2, 2, 2]
    (found,) = sg.grad(x * x, [x], seed=sg.ones((3,)))
    assert found.shape == (3,)


def test_derivatives_of_derivatives() -> None:
    assert sg.grad(sg.grad(sg.grad(lambda x: x**4)))(2.0) == 48
    # an inner gradient by a variable that the outer function uses too
    assert sg.grad(lambda x: x * sg.grad(lambda y: x * y * y)(x))(3.0) == 54


def test_jacobian() -> None:
    _close(sg.jacobian(vector)(V), _eager(dynamic.func.jacrev(vector), V))
    found = sg.jacobian(lambda x, w: sg.softmax(x @ w), argnums=(0, 1))(A, B)
    expected = _eager(dynamic.func.jacrev(lambda x, w: sg.softmax(x @ w), argnums=(0, 1)), A, B)
    for one, other in zip(found, expected, strict=True):
        _close(one, other)


def test_structure_of_a_jacobian() -> None:
    found = sg.jacobian(nested)({"a": V, "b": (W, 3.0)}, W)
    _close(found["o"]["a"], np.cos(V) * W)
    _close(found["q"][0]["b"][0], np.diag(V))
    _close(found["q"][0]["a"], np.diag(W))
    assert found["q"][1]["b"][1] == 1
    assert found["q"][0]["b"][1].shape == (4,)
    rows, aux = sg.jacobian(lambda x: (x[:2], x.sum()), has_aux=True)(V)
    _close(rows, np.eye(2, 4))
    _close(aux, V.sum())


def test_a_jacobian_of_what_does_not_depend_on_the_argument() -> None:
    _close(sg.jacobian(lambda x, w: w * 2)(V, W), np.zeros((4, 4)))


@pytest.mark.slow
def test_hessian() -> None:
    _close(sg.hessian(energy)(A, B), _eager(dynamic.func.hessian(energy), A, B))
    found = sg.hessian(energy, argnums=(0, 1))(A, B)
    expected = _eager(dynamic.func.hessian(energy, argnums=(0, 1)), A, B)
    for row, others in zip(found, expected, strict=True):
        for one, other in zip(row, others, strict=True):
            _close(one, other)
    _close(sg.hessian(vector)(V), _eager(dynamic.func.hessian(vector), V))


def test_a_hessian_serves_all_sizes() -> None:
    compiled = sg.hessian(lambda x: (x**3).sum())
    for size in (3, 5, 2):
        x = np.arange(1.0, size + 1)
        _close(compiled(x), np.diag(6 * x))
    assert len(compiled.traces) == 1


def test_jvp() -> None:
    value, tangent = sg.jvp(vector, (V,), (W,))
    _close(value, vector(V))
    _close(tangent, sg.jacobian(vector)(V) @ W)
    value, tangent, aux = sg.jvp(lambda x: (x * x, x + 1), [V], [W], has_aux=True)
    _close(tangent, 2 * V * W)
    _close(aux, V + 1)
    value, tangent = sg.jvp(nested, ({"a": V, "b": [W, 3.0]}, W), ({"a": W, "b": [V, 1.0]}, V))
    _close(tangent["o"], (np.cos(V) * W * W + np.sin(V) * V).sum())
    _close(tangent["q"][0], V * V + W * W)
    assert tangent["q"][1] == 1


def test_the_tangent_of_integers_is_0() -> None:
    (best, _), (zero, tangent) = sg.jvp(lambda x: (sg.argmax(x), 2 * x), (V,), (W,))
    assert best == V.argmax()
    assert zero == 0
    _close(tangent, 2 * W)


def test_vjp() -> None:
    value, pull = sg.vjp(energy, A, B)
    _close(value, energy(A, B))
    by_x, by_w = pull(3.0)
    expected = sg.grad(energy, argnums=(0, 1))(A, B)
    _close(by_x, 3 * expected[0])
    _close(by_w, 3 * expected[1])
    value, pull, aux = sg.vjp(lambda x: (vector(x), x.sum()), V, has_aux=True)
    (found,) = pull(W)
    _close(found, W @ sg.jacobian(vector)(V))
    _close(aux, V.sum())
    value, pull = sg.vjp(nested, {"a": V, "b": [W, 3.0]}, W)
    found = pull({"o": 2.0, "q": [V, 1.5]})
    _close(found[0]["a"], 2 * np.cos(V) * W + V * W)
    _close(found[0]["b"][1], 1.5)
    _close(found[1], 2 * np.sin(V))


def test_vmap() -> None:
    found = sg.vmap(energy, in_axes=(0, None))(BATCH, B)
    _close(found, [energy(one, B) for one in BATCH])
    found = sg.vmap(lambda x, y: x * y, in_axes=(1, 0), out_axes=1)(A, np.stack([W[:3]] * 4))
    _close(found, A * W[:3, None])
    found = sg.vmap(lambda x: x.sum(), in_axes=-1)(A)
    _close(found, A.sum(0))
    _close(sg.vmap(sg.vmap(lambda x: sg.exp(x).sum()))(BATCH), np.exp(BATCH).sum(-1))


def test_axes_of_structures() -> None:
    def f(d: Any, *, scale: Any) -> Any:
        return {"s": d["a"].sum() * scale, "t": d["b"]}

    mapped = sg.vmap(f, in_axes=({"a": 0, "b": None},), out_axes={"s": 0, "t": None})
    found = mapped({"a": BATCH, "b": V}, scale=np.arange(5.0))
    _close(found["s"], BATCH.sum((1, 2)) * np.arange(5))
    _close(found["t"], V)


def test_results_that_are_the_same_for_all_examples() -> None:
    found = sg.vmap(lambda x: (3.0, V), out_axes=(0, None))(A)
    _close(found[0], np.full(3, 3.0))
    _close(found[1], V)


def test_what_is_no_array_is_shared() -> None:
    found = sg.vmap(lambda x, f, name: f(x) if name == "f" else x)(A, sg.exp, "f")
    _close(found, np.exp(A))


@pytest.mark.slow
def test_transforms_nest() -> None:
    per_example = sg.vmap(sg.grad(energy), in_axes=(0, None))(BATCH, B)
    for one, x in zip(per_example, BATCH, strict=True):
        _close(one, sg.grad(energy)(x, B))
    found = sg.grad(lambda x: sg.vmap(vector)(x).sum())(A)
    _close(found, [np.ones(4) @ sg.jacobian(vector)(row) for row in A])
    _, found = sg.jvp(sg.grad(energy), (A, B), (A, B))
    eager = [dynamic.tensor(one) for one in (A, B)]
    _, expected = dynamic.func.jvp(dynamic.func.grad(energy), tuple(eager), tuple(eager))
    _close(found, expected)
    found = sg.vmap(lambda x, t: sg.jvp(vector, (x,), (t,))[1])(A, 2 * A)
    _close(found, [sg.jacobian(vector)(row) @ (2 * row) for row in A])
    found = sg.vmap(lambda x, t: sg.vjp(vector, x)[1](t)[0])(A, 2 * A)
    _close(found, [(2 * row) @ sg.jacobian(vector)(row) for row in A])
    _close(sg.function(sg.grad(energy))(A, B), sg.grad(energy)(A, B))


def test_transforms_inside_a_graph() -> None:
    x = sg.placeholder("x", (None, 4), "float64")
    gradient = sg.vmap(sg.grad(lambda row: (row**3).sum()))(x)
    step = sg.compile([x], x - 0.1 * gradient)
    _close(step(A), A - 0.3 * A**2)


def test_transforms_of_tensors_are_recorded() -> None:
    x, w = (dynamic.tensor(one).requires_grad_() for one in (A, B))
    found = sg.grad(energy)(x, w)
    assert found.grad_fn.name() == "grad(energy)Backward"
    _close(found.detach(), sg.grad(energy)(A, B))
    (own,) = dynamic.autograd.grad((found**2).sum(), w)
    (by_x,) = dynamic.autograd.grad(energy(x, w), x, create_graph=True)
    _close(own, dynamic.autograd.grad((by_x**2).sum(), w)[0])
    _, pull = sg.vjp(energy, x, w)
    _close(pull(dynamic.tensor(1.0, dtype=dynamic.float64))[0].detach(), found.detach())


def test_a_transform_is_compiled_once(monkeypatch: Any) -> None:
    traces, trace = [], tracing.trace

    def counted(name: str, *args: Any) -> Any:
        traces.append(name)
        return trace(name, *args)

    def f(x: Any) -> Any:
        return (x * x).sum()

    monkeypatch.setattr(tracing, "trace", counted)
    for _ in range(3):
        _close(sg.grad(f)(V), 2 * V)
        sg.jvp(f, (V,), (V,))
    assert len(traces) == 2
    assert sg.grad(f) is sg.grad(f, argnums=0, has_aux=False)
    assert sg.grad(f) is not sg.grad(f, argnums=(0,))


@pytest.mark.slow
def test_float32_stays_float32() -> None:
    x, w = A.astype("float32"), B.astype("float32")
    for found in (
        sg.grad(energy)(x, w),
        sg.hessian(energy)(x, w),
        sg.jvp(energy, (x, w), (x, w))[1],
        sg.vjp(energy, x, w)[1](2.0)[0],
    ):
        assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: sg.grad(vector)(V), OutputError, r"grad: .* float64\[4\] .* no scalar: reduce"),
        (lambda: sg.grad(vector)(V), TypeError, "no scalar"),
        (lambda: sg.grad(lambda x: (x, x))(V), OutputError, "returns a tuple, no scalar"),
        (lambda: sg.grad(sg.argmax)(V), OutputError, r"returns int64\[\] .* only floating point"),
        (lambda: sg.jacobian(sg.argmax)(V), OutputError, r"jacobian: .* only floating point"),
        (lambda: sg.grad(sg.sum)(np.arange(3)), sg.DTypeError, r"grad: an argument is int64\[3\]"),
        (lambda: sg.grad(sg.sum)(3), TypeError, r"an argument is int64\[\]: only floating"),
        (lambda: sg.grad(lambda x: x)("text"), sg.DTypeError, "the argument 'text' is no array"),
        (lambda: sg.grad(energy, 2)(A, B), ValueError, "grad: argnums=2: no argument 2 among 2"),
        (lambda: sg.grad(energy, (0, -2))(A, B), sg.OptionError, "does not name arguments, each"),
        (lambda: sg.grad(energy, "x")(A, B), sg.OptionError, "argnums is an int or a sequence"),
        (lambda: sg.grad(energy, ())(A, B), sg.OptionError, "does not name arguments"),
        (lambda: sg.grad(3), sg.OptionError, "grad: 3 cannot be called"),
        (lambda: sg.grad(sg.sum, has_aux=True)(V), OutputError, r"returns a pair \(output, aux\)"),
        (lambda: sg.jvp(vector, V, W), sg.OptionError, "the primals are a tuple or a list, not"),
        (lambda: sg.jvp(vector, (V,), W), sg.OptionError, "the tangents are a tuple or a list"),
        (lambda: sg.jvp(vector, (V,), ()), sg.OptionError, r"the tangents \(\)"),
        (lambda: sg.jvp(vector, (V,), (W[:3],)), sg.ShapeError, r"a tangent is float64\[3\], not"),
        (lambda: sg.jvp(vector, (V,), (W.astype("float32"),)), sg.DTypeError, "a tangent is float"),
        (lambda: sg.jvp(vector, (np.arange(4),), (W,)), sg.DTypeError, "jvp: an argument is int"),
        (lambda: sg.vjp(vector, V)[1]((W, W)), sg.OptionError, "the cotangents have the structure"),
        (lambda: sg.vjp(vector, V)[1](W[:3]), sg.ShapeError, r"a cotangent is float64\[3\], not"),
        (lambda: sg.vmap(energy, in_axes=(0,))(A, B), ValueError, "1 entries for 2 arguments"),
        (lambda: sg.vmap(energy, in_axes="a"), sg.OptionError, "in_axes is an int or a tuple"),
        (lambda: sg.vmap(sg.exp, in_axes=("a",))(A), sg.OptionError, "'a' is no axis"),
        (lambda: sg.vmap(sg.exp, in_axes=((0, 0),))(A), sg.OptionError, "does not fit the argum"),
        (lambda: sg.vmap(sg.exp, in_axes=2)(A), ValueError, r"has axis 2 for an argument float64"),
        (lambda: sg.vmap(sg.exp, in_axes=(None,))(A), sg.OptionError, "maps no array"),
        (lambda: sg.vmap(lambda x, y: (x, y))(A, B), ValueError, r"\[3, 4\] examples along"),
        (lambda: sg.vmap(sg.exp, out_axes=None)(A), sg.OptionError, "out_axes is None for a res"),
        (lambda: sg.vmap(sg.exp, out_axes=3)(A), sg.OptionError, "axis 3 for results of 2 axes"),
        (lambda: sg.vmap(sg.exp, out_axes="a")(A), sg.OptionError, "out_axes: 'a' is no axis"),
        (lambda: sg.vmap(sg.exp, out_axes=(0, 0))(A), sg.OptionError, "out_axes=.* does not fit"),
    ],
)  # fmt: skip
def test_errors(run: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        run()


def test_a_batch_that_an_op_does_not_know_is_refused() -> None:
    made = sg.op(lambda x: x, like=0, name="transforms.same")
    made.batching(lambda size, batched, x: None)
    with pytest.raises(sg.GraphError, match=r"vmap: transforms\.same has no batching rule"):
        sg.vmap(made)(A)
    several = sg.op(lambda x: (x, x), results=lambda x: [x, x], name="transforms.twice")
    several.batching(lambda size, batched, x: None)
    with pytest.raises(sg.GraphError, match=r"vmap: transforms\.twice has no batching rule"):
        sg.vmap(several)(A)


def test_sizes_that_vmap_takes_for_equal_are_compared() -> None:
    f = sg.vmap(lambda x, y: (x * 2, y * 2))
    x, y = np.ones((3, 2)), np.ones((3, 5))
    assert f(x, y)[1].shape == (3, 5)
    with pytest.raises(sg.ShapeError, match=r"the arguments have \[3, 4\] examples"):
        f(x, np.ones((4, 5)))


def test_transforms_on_arrays_close_over_traced_values() -> None:
    def summed(w: Any) -> Any:
        return sg.sum(sg.vmap(lambda a: sg.tanh(a @ w))(A))

    slope = 1 - np.tanh(A @ W) ** 2
    _close(sg.grad(summed)(W), slope @ A)
    _close(sg.hessian(summed)(W), np.einsum("i,ij,ik", -2 * np.tanh(A @ W) * slope, A, A))
    _close(sg.vmap(lambda x: sg.vmap(lambda y: x * y)(V))(W), np.outer(W, V))
    _close(sg.grad(lambda x: x * sg.grad(lambda y: y * y * x)(2.0))(3.0), 24)
    _close(sg.vmap(lambda x: sg.grad(lambda y: y**2 * x)(3.0))(V), 6 * V)
    _close(sg.grad(lambda w: sg.jvp(lambda a: a * w, (2.0,), (5.0,))[1])(3.0), 5)
    _close(sg.grad(lambda w: sg.vjp(lambda a: a * w, 2.0)[1](np.array(5.0))[0])(3.0), 5)
    _close(sg.function(lambda w: sg.function(lambda a: a * w)(V))(W), V * W)


def test_transforms_on_arrays_close_over_placeholders() -> None:
    w = sg.placeholder("w", (4,), "float64")
    summed = sg.sum(sg.vmap(lambda a: sg.tanh(a @ w))(A))
    _close(sg.compile([w], sg.grad(summed, w))(W), (1 - np.tanh(A @ W) ** 2) @ A)
