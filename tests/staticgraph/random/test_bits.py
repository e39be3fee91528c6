"""Keys and random bits: known answers, and the same bits whatever computes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from tests.combinations import some

ALL = -1
PI = (0x13198A2E03707344, 0x243F6A8885A308D3)


KNOWN = [
    (0, 0, 0x6B20015999BA4EFE),
    (ALL, ALL, 0x1CB996FCBB002BE7),
    (PI[0], PI[1], 0xC4923A9C483DF7A0),
]
"""Key, counter and block: kat_vectors of Random123, threefry2x32 with 20 rounds."""


def test_known_answers_of_random123() -> None:
    columns = np.array([[one % (1 << 64) for one in row] for row in KNOWN], np.uint64)
    keys, counters, expected = np.repeat(columns.view(np.int64).T, 7, axis=1)
    assert_array_equal(ops.threefry(keys, counters), expected)
    assert_array_equal(ops.threefry(keys[::7], counters[::7]), expected[::7])
    k, c = (sg.placeholder(name, (None,), "int64") for name in "kc")
    for backend in ("llvm", "numba"):
        found = sg.compile([k, c], ops.threefry(k, c), backend=backend)(keys, counters)
        assert_array_equal(found, expected)


def test_keys_and_uniform_numbers_are_those_of_jax() -> None:
    # JAX 0.10.2 with jax_threefry_partitionable, as it is unless told otherwise
    key = sg.random.key(42)
    assert_array_equal(sg.random.split(key), JAX_SPLIT)
    assert_array_equal(sg.random.fold_in(key, 7), JAX_FOLD)
    for dtype, expected in JAX_UNIFORM.items():
        assert_array_equal(sg.random.uniform(key, (3,), dtype), np.array(expected, dtype))
    found = sg.random.normal(key, (3,), "float64")
    np.testing.assert_allclose(found, JAX_NORMAL, rtol=1e-14)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    key, length = sg.placeholder("key", (), "int64"), sg.placeholder("n", (None, 0), "uint8")
    shape = (length.shape[0],)
    drawn = [sg.random.normal(key, shape), sg.random.randint(key, shape, 0, 1000)]
    one, two = (sg.compile([key, length], drawn, threads=count) for count in (1, 2))
    given = sg.random.key(3), np.empty((300_001, 0), np.uint8)
    for found, expected in zip(two(*given), one(*given), strict=True):
        assert_array_equal(found, expected)


DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "beta": lambda key, n: sg.random.beta(key, 2.0, 0.3, n) * 2 + 1,
    "uniform": lambda key, n: sg.random.uniform(key, n, "float32", -1.0, 2.5),
    "normal": lambda key, n: sg.random.normal(key, n),
    "exponential": lambda key, n: sg.random.exponential(key, n),
    "far": lambda key, n: sg.random.truncated_normal(key, 6.0, 7.0, n, "float64"),
    "gumbel": lambda key, n: sg.random.gumbel(key, n, "float64"),
    "truncated": lambda key, n: sg.random.truncated_normal(key, -1.0, 2.0, n),
    "gamma": lambda key, n: sg.random.gamma(key, 0.7, n),
    "poisson": lambda key, n: sg.random.poisson(key, 3.5, n),
    "binomial": lambda key, n: sg.random.binomial(key, 9, 0.4, n),
    "binomial far": lambda key, n: sg.random.binomial(key, 90, 0.6, n),
    "normal64": lambda key, n: sg.random.normal(key, n, "float64", 1.0, 3.0),
    "randint": lambda key, n: sg.random.randint(key, n, 0, 1 << 40),
    "poisson far": lambda key, n: sg.random.poisson(key, 35.0, n),
    "bernoulli": lambda key, n: sg.random.bernoulli(key, 0.3, n),
    "categorical": lambda key, n: sg.random.categorical(key, LOGITS, shape=n),
    "gamma of 1": lambda key, n: sg.random.gamma(key, 1.0, n),
    "choice": lambda key, n: sg.random.choice(key, 10**7, n, replace=False),
    "multinomial": lambda key, n: sg.random.multinomial(key, 30, CHANCES, (*n, 3)),
    "geometric": lambda key, n: sg.random.geometric(key, 1e-18, n),
}
CHANCES = np.array([0.2, 0.3, 0.5])
LOGITS = np.log(np.array([0.2, 0.3, 0.5]))


@pytest.mark.slow
@pytest.mark.parametrize("name", some(DRAWS, 1))
def test_the_same_key_gives_the_same_bits_however_it_is_asked(name: str, tmp_path: Path) -> None:
    draw, key, shape = DRAWS[name], sg.random.key(77), (37, 5)
    expected = draw(key, shape)
    assert_array_equal(draw(dynamic.tensor(key), shape).numpy(), expected)
    given, like = sg.placeholder("key", (), "int64"), sg.placeholder("like", (None, 5), "uint8")
    graph = draw(given, (like.shape[0], 5))
    rows = np.empty(shape, "uint8")
    for options in ({}, {"numerics": "exact"}, {"debug": True}):
        compiled = sg.compile([given, like], [graph, like + 1], **options)
        assert_array_equal(compiled(key, rows)[0], expected)
    sg.compile([given], draw(given, shape)).save(tmp_path / "draw.sg")
    assert_array_equal(sg.load(tmp_path / "draw.sg")(key), expected)
    assert_array_equal(sg.function(lambda key: draw(key, shape))(key), expected)
    keys = sg.random.split(key, 3)
    each = np.stack([draw(one, shape) for one in keys])
    assert_array_equal(sg.vmap(lambda key: draw(key, shape))(keys), each)
    batch = dynamic.func.vmap(lambda key: draw(key, shape))(dynamic.tensor(keys))
    assert_array_equal(batch.numpy(), each)
    many = sg.placeholder("keys", (None,), "int64")
    _, stacked = sg.scan(lambda total, key: (total, draw(key, shape)), sg.zeros(()), many)
    assert_array_equal(sg.compile([many], stacked)(keys), each)
    for empty in ((0,), (3, 0)):
        assert draw(key, empty).shape[: len(empty)] == empty


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWS)
def test_numba_has_the_same_bits(name: str) -> None:
    key, given = sg.random.key(77), sg.placeholder("key", (), "int64")
    compiled = sg.compile([given], DRAWS[name](given, (37, 5)), backend="numba")
    assert_array_equal(compiled(key), DRAWS[name](key, (37, 5)))


@pytest.mark.long
def test_known_parameters_give_the_bits_of_unknown_ones() -> None:
    # of which the kernels take ways that known ones leave out
    key, n = sg.random.key(13), 20_000
    first, second = sg.placeholder("a", (), "float64"), sg.placeholder("b", (), "float64")
    cases: list[tuple[Callable[..., Any], list[tuple[float, ...]]]] = [
        (lambda *a: sg.random.poisson(key, *a, (n,)), [(0.3,), (9.9,), (10.0,), (200.0,), (2e6,)]),
        (
            lambda *a: sg.random.binomial(key, *a, (n,)),
            [(7.0, 0.4), (16.0, 0.99), (40.0, 0.2), (50.0, 0.8), (2e6, 0.3), (2e9, 1e-9)],
        ),
        (lambda *a: sg.random.gamma(key, *a, (n,), "float64"), [(1.0,), (0.4,), (3.0,)]),
    ]
    for draw, parameters in cases:
        inputs = [first, second][: len(parameters[0])]
        unknown = sg.compile(inputs, draw(*inputs))
        for given in parameters:
            assert_array_equal(draw(*given), unknown(*given))
            mixed = draw(*(np.append(np.full(n - 1, one), 0.5) for one in given))
            assert_array_equal(mixed[:-1], draw(*given)[:-1])


def test_a_part_of_a_long_draw_is_the_short_one() -> None:
    key = sg.random.key(5)
    long = sg.random.normal(key, (70, 1000))
    assert_array_equal(sg.random.normal(key, (7, 10)).ravel(), long.ravel()[:70])


def test_keys_that_are_made_in_different_ways_agree() -> None:
    key = sg.random.key(11)
    many = sg.random.split(key, 200)
    assert_array_equal(many[:5], sg.random.split(key, 5))
    assert_array_equal(sg.random.split(key, (10, 20)).ravel(), many)
    assert_array_equal(sg.random.fold_in(key, np.arange(200)), many)
    assert_array_equal(sg.random.bits(key, 200), many)
    assert len(set(many.tolist())) == 200


def test_keys_are_the_same_when_many_were_made() -> None:
    key = sg.random.key(42)
    for _ in range(100):  # of which a kernel makes the later ones
        assert_array_equal(sg.random.split(key), JAX_SPLIT)
        assert sg.random.fold_in(key, 7) == JAX_FOLD
    many = sg.random.split(key, (2, 3))
    assert_array_equal(sg.random.fold_in(key, np.arange(6, dtype="uint8").reshape(2, 3)), many)
    assert sg.random.fold_in(key, np.zeros((0, 2), int)).shape == (0, 2)


def test_what_follows_the_loop_that_repeats_is_in_it() -> None:
    key = sg.placeholder("key", (), "int64")
    found = sg.random.randint(key, (1000,), 1, 1 << 40)
    assert "def unit_2" not in sg.compile([key], found).source
    units = sg.compile([key], sg.exp(found)).source.split("def unit_")
    assert "random_below(" in units[2]
    assert " = exp(" not in units[2]


def test_seeds_have_64_bits() -> None:
    assert sg.random.key((1 << 64) - 1) == sg.random.key(-1)
    with pytest.raises(OptionError, match=r"key: the seed 18446744073709551616 has more than 64"):
        sg.random.key(1 << 64)
    with pytest.raises(OptionError, match=r"key: the seed is an int, not 0\.5"):
        sg.random.key(0.5)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"key: the seed is an int, not array\(\[1, 2\]\)"):
        sg.random.key(np.array([1, 2]))  # type: ignore[arg-type]


def test_what_is_no_key_is_refused() -> None:
    with pytest.raises(DTypeError, match="normal: the key is float64, not int64"):
        sg.random.normal(np.array(0.5), (2,))
    with pytest.raises(ShapeError, match=r"bits: the key has the shape \(2,\): take one"):
        sg.random.bits(sg.random.split(sg.random.key(0)))
    with pytest.raises(ShapeError, match=r"uniform: \(2, 0\.5\) is no shape: 0\.5 is no size"):
        sg.random.uniform(sg.random.key(0), (2, 0.5))
    with pytest.raises(ShapeError, match=r"uniform: array\(\[2, 3\]\) is no shape"):
        sg.random.uniform(sg.random.key(0), np.array([2, 3]))
    with pytest.raises(DTypeError, match="uniform: int64 is not floating point"):
        sg.random.uniform(sg.random.key(0), (2,), "int64")
    with pytest.raises(DTypeError, match="fold_in: the data are float64, not integers"):
        sg.random.fold_in(sg.random.key(0), 0.5)
    with pytest.raises(DTypeError, match=r"threefry: float64\[\] is not int64, as keys"):
        k = sg.placeholder("k", (), "float64")
        ops.threefry(k, k)


JAX_SPLIT = [7871734211187709741, 276886910877598708]
JAX_FOLD = -7507406917103292001
JAX_UNIFORM = {
    "float32": [0.48870956897735596, 0.6797971725463867, 0.6162714958190918],
    "float64": [0.4267275666499091, 0.015010069515314584, 0.5741444178995352],
}
JAX_NORMAL = [-0.18471174528191162, -2.169824560397754, 0.18693555179382582]


def test_graphs_hold_no_positions_in_memory() -> None:
    given, x = sg.random.key(3), sg.placeholder("x", (None, 5))
    key = sg.placeholder("key", (), "int64")
    draw = sg.compile([key, x], x + sg.random.normal(key, x.shape))
    assert "arena" not in str(draw.source)
    assert_array_equal(draw(given, np.zeros((3, 5), "float32")), sg.random.normal(given, (3, 5)))
