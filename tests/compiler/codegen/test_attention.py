"""Attention block by block of queries, against attention that keeps all weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.codegen.listing import listing
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.ops.attending import ROWS, attention_weights
from tests.graphs import kernel

SIZES = [(130, 70, 8, 5), (ROWS, 200, 4, 4), (ROWS + 1, ROWS - 1, 1, 1), (1, 3, 2, 2)]
BOUND = {"float64": 1e-13, "float32": 2e-5}


def arrays(
    size: Sequence[int], lead: tuple[int, ...] = (2, 3), dtype: str = "float64"
) -> list[np.ndarray]:
    queries, keys, inner, outer = size
    rng = np.random.default_rng(0)
    shapes = [(queries, inner), (keys, inner), (keys, outer), (queries, outer)]
    return [rng.normal(size=(*lead, *shape)).astype(dtype) for shape in shapes]


def leaves(given: Sequence[np.ndarray], known: bool) -> list[sg.Expression]:
    return [
        sg.placeholder(name, one.shape if known else (None,) * one.ndim, one.dtype.name)
        for name, one in zip("qkvg", given, strict=True)
    ]


def outputs(q: Any, k: Any, v: Any, g: Any, causal: bool, whole: bool) -> list[Any]:
    if whole:
        found = sg.matmul(attention_weights(q, k, 0.3, causal), v)
    else:
        found = sg.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.3)
    return [found, *sg.grad(sg.sum(found * g), [q, k, v])]


def close(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], bound: float) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound)
        assert one.dtype == other.dtype


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "causal"), [("float64", False), ("float32", True)])
def test_values_and_gradients_of_all_sizes(dtype: str, causal: bool) -> None:
    given = [arrays(size, dtype=dtype) for size in SIZES]
    placed = leaves(given[0], known=False)
    blocks = sg.compile(placed, outputs(*placed, causal, whole=False))
    whole = sg.compile(placed, outputs(*placed, causal, whole=True))
    for one in given:
        close(blocks(*one), whole(*one), BOUND[dtype])


def test_bits_are_the_same_for_any_number_of_threads() -> None:
    given = arrays((200, 200, 16, 16), (6,), "float32")
    placed = leaves(given, known=True)
    found = outputs(*placed, True, whole=False)
    first = sg.compile(placed, found, threads=1)(*given)
    for threads in (2, 3):
        for one, other in zip(
            sg.compile(placed, found, threads=threads)(*given), first, strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_the_weights_are_never_all_in_memory() -> None:
    size = (4096, 4096, 8, 8)
    placed = leaves(arrays(size, (1,), "float32"), known=True)
    plan = sg.compile(placed, outputs(*placed, True, whole=False)).plan
    assert plan.peak_bytes({}) < 4 * 4096 * 4096 / 3


def test_only_gradients_that_are_read_are_computed() -> None:
    q, k, v, g = placed = leaves(arrays((70, 70, 3, 2), (2,)), known=False)
    loss = sg.sum(sg.scaled_dot_product_attention(q, k, v, scale=0.3) * g)
    for i, leaf in enumerate((q, k, v)):
        found = listing(kernel((placed, [sg.grad(loss, leaf)], {})))
        assert found.count("gemm_f64(") == (3, 3, 2)[i]


def test_queries_are_keys_and_values_and_lie_in_any_order() -> None:
    x = np.random.default_rng(1).normal(size=(70, 4, 2))
    leaf = sg.placeholder("x", (70, 4, 2), "float64")
    turned = sg.transpose(leaf, (2, 0, 1))
    found = sg.scaled_dot_product_attention(turned, turned, turned, is_causal=True, scale=0.3)
    expected = sg.matmul(attention_weights(turned, turned, 0.3, True), turned)
    pairs = [sg.compile([leaf], [one, sg.grad(sg.sum(one**2), leaf)]) for one in (found, expected)]
    close(pairs[0](x), pairs[1](x), 1e-13)
    view = np.random.default_rng(1).normal(size=(2, 70, 4)).transpose(1, 2, 0)
    close(pairs[0](view), pairs[1](view), 1e-13)


def test_vmap_over_some_operands_and_scan() -> None:
    q, k, v, _ = arrays((5, 4, 3, 2), (6,))

    def one(query: Any) -> Any:
        return sg.scaled_dot_product_attention(query, k[0], v[0], is_causal=True)

    expected = [one(each) for each in q]
    np.testing.assert_allclose(sg.vmap(one)(q), expected, rtol=1e-13)
    leaf = sg.placeholder("q", (6, 5, 3), "float64")
    _, stacked = sg.scan(lambda carry, each: (carry, one(each)), sg.constant(0.0), leaf)
    np.testing.assert_allclose(sg.compile([leaf], stacked)(q), expected, rtol=1e-13)


def test_the_width_of_queries_is_not_known() -> None:
    q, k, v, _ = given = arrays((5, 4, 3, 2))
    placed = leaves(given, known=False)[:3]
    found = sg.compile(placed, sg.scaled_dot_product_attention(*placed))(q, k, v)
    np.testing.assert_allclose(found, sg.scaled_dot_product_attention(q, k, v), rtol=1e-13)


def test_nothing_is_seen_and_nothing_is_asked() -> None:
    placed = leaves(arrays(SIZES[0]), known=False)
    f = sg.compile(placed, outputs(*placed, True, whole=False))
    for size in [(0, 3, 2, 2), (3, 0, 2, 2), (3, 3, 0, 2), (3, 3, 2, 0)]:
        q, k, v, g = given = arrays(size)
        found, *gradients = f(*given)
        uniform = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
        np.testing.assert_allclose(found, uniform @ v if size[2] == 0 else np.zeros(g.shape))
        assert [one.shape for one in gradients] == [q.shape, k.shape, v.shape]
        assert all(np.isfinite(one).all() for one in gradients)


def test_nan_and_inf_are_those_of_a_softmax() -> None:
    q, k, v, g = arrays((3, 4, 2, 2), ())
    q[0], q[1, 0], k[0, 0] = np.nan, np.inf, 1.0
    placed = leaves([q, k, v, g], known=True)
    both = [outputs(*placed, False, whole=whole)[0] for whole in (False, True)]
    pairs = sg.compile(placed[:3], both)(q, k, v)
    np.testing.assert_array_equal(np.isnan(pairs[0]), np.isnan(pairs[1]))
    assert np.isnan(pairs[0][:2]).all()
    np.testing.assert_allclose(pairs[0][2], pairs[1][2])


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_eager_tensors_small_and_large(causal: bool) -> None:
    for size, lead in (((5, 4, 3, 2), (2,)), ((130, 130, 32, 32), (2, 16))):
        given = arrays(size, lead, "float32")
        *operands, g = (dynamic.tensor(one, requires_grad=True) for one in given)
        attention = dynamic.nn.functional.scaled_dot_product_attention
        attention(*operands, is_causal=causal, scale=0.3).backward(g)
        placed = leaves(given, known=True)
        expected = sg.compile(placed, outputs(*placed, causal, whole=True))(*given)
        close([one.grad.numpy() for one in operands], expected[1:], BOUND["float32"])


def test_a_mask_and_what_it_lets_through() -> None:
    q, k, v, _ = arrays((4, 4, 3, 2))
    seen = np.tri(4, dtype=bool)
    found = sg.scaled_dot_product_attention(q, k, v, seen)
    expected = sg.scaled_dot_product_attention(q, k, v, is_causal=True)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    added = np.where(seen, 0.0, -np.inf)
    np.testing.assert_allclose(sg.scaled_dot_product_attention(q, k, v, added), expected)


def test_what_does_not_fit_is_refused() -> None:
    q, k, v = (np.zeros(shape) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 1)))
    x = sg.placeholder("x", (2, 3, 4), "float64")
    with pytest.raises(ShapeError, match="last axes of queries and keys differ"):
        sg.scaled_dot_product_attention(x, k[..., 1:], v)
    with pytest.raises(ShapeError, match="numbers of keys and values differ"):
        sg.scaled_dot_product_attention(x, k, v[:, 1:])
    with pytest.raises(ShapeError, match="leading axes"):
        sg.scaled_dot_product_attention(x, np.zeros((3, 5, 4)), np.zeros((3, 5, 1)))
    with pytest.raises(ShapeError, match="two axes"):
        sg.scaled_dot_product_attention(x[0, 0], k[0], v[0])
    for one in (k.astype("float32"), k > 0):
        with pytest.raises(DTypeError, match="of one dtype"):
            sg.scaled_dot_product_attention(x, one, v)
    with pytest.raises(DTypeError, match="of one dtype"):
        sg.scaled_dot_product_attention(q > 0, k > 0, v > 0)
    with pytest.raises(OptionError, match="is_causal=True"):
        sg.scaled_dot_product_attention(q, k, v, np.ones((3, 5), bool), is_causal=True)


@pytest.mark.parametrize("bools", [True, False])
def test_a_query_that_may_see_no_key_has_the_value_zero(bools: bool) -> None:
    """As in PyTorch, and no gradient: nan before."""
    q, k = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([[1.0, 0.0], [0.0, 3.0], [2.0, 2.0]])
    seen = np.array([[False, False, False], [True, True, False]])
    mask = seen if bools else np.where(seen, 0.0, -np.inf)

    def attended(q: Any) -> Any:
        return sg.scaled_dot_product_attention(q, k, k, mask)

    expected = sg.scaled_dot_product_attention(q[1:], k[:2], k[:2])
    for found in (attended(q), sg.function(attended)(q)):
        np.testing.assert_allclose(found, [[0, 0], expected[0]], rtol=1e-12)
    slopes = sg.grad(lambda q: sg.sum(attended(q)))(q)
    assert slopes[0].tolist() == [0, 0]
    assert np.isfinite(slopes).all()
    tensors = [dynamic.tensor(one) for one in (q, k, k, mask)]
    eager = dynamic.nn.functional.scaled_dot_product_attention(*tensors)
    np.testing.assert_allclose(eager.numpy(), attended(q), rtol=1e-12)


def test_sizes_that_are_known_at_the_call_are_compared_there() -> None:
    placed = leaves(arrays((5, 4, 3, 2)), known=False)
    f = sg.compile(placed, list(ops.attention_gradients(*placed, scale=0.3, causal=True)))
    f(*arrays((5, 4, 3, 2)))
    wrong = [(0, (3, 3, 5, 3)), (1, (2, 3, 6, 3)), (3, (2, 3, 4, 2)), (3, (2, 3, 5, 1))]
    for place, shape in wrong:
        given = arrays((5, 4, 3, 2))
        given[place] = np.zeros(shape)
        with pytest.raises(ShapeError):
            f(*given)
    with pytest.raises(ShapeError, match="attention_gradients: the gradient"):
        ops.attention_gradients(*placed[:3], np.zeros((3, 5, 2)), scale=1.0, causal=True)


def test_eager_tensors_of_other_dtypes_are_refused_as_pytorch_does() -> None:
    attention = dynamic.nn.functional.scaled_dot_product_attention
    x, y = dynamic.zeros(2, 2), dynamic.zeros(2, 2, dtype=dynamic.float64)
    with pytest.raises(
        RuntimeError, match=r"query.dtype: float key.dtype: float and value.dtype: "
    ):
        attention(x, x, y)
    with pytest.raises(RuntimeError, match="same dtype, but got: float != long int"):
        attention(x.long(), x.long(), x.long())
