"""Streams: keys that advance with each call of what is compiled of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import dynamic
import staticgraph as sg
from staticgraph.compiler.core.errors import OptionError


def test_each_call_and_each_use_has_a_key_of_its_own() -> None:
    noise = sg.random.stream(7)
    draws = sg.compile([], [sg.random.bits(noise, (2,)), sg.random.bits(noise, (2,))])
    found = [draws() for _ in range(3)]
    for call, results in enumerate(found):
        for use, bits in enumerate(results):
            key = sg.random.fold_in(sg.random.fold_in(sg.random.key(7), call), use)
            assert_array_equal(bits, sg.random.bits(key, (2,)))
    assert noise.calls.value == 3
    noise.calls.value = 1
    assert_array_equal(draws(), found[1])


@pytest.mark.slow
def test_the_gradient_has_the_mask_of_its_call() -> None:
    x, w = sg.placeholder("x", (None, 8)), sg.variable(np.ones(8, "float32"), name="w")
    kept = sg.dropout(x * w, 0.5, key=sg.random.stream("dropout"))
    loss = sg.sum(kept)
    step = sg.compile([x], [kept, sg.grad(loss, w)], updates={w: w * 1})
    rows = np.ones((5, 8), "float32")
    first, second = step(rows), step(rows)
    for mask, slope in (first, second):
        assert set(np.unique(mask)) == {0.0, 2.0}
        assert_array_equal(slope, mask.sum(0))
    assert np.any(first[0] != second[0])


def test_executables_share_a_stream_and_a_file_keeps_it(tmp_path: Path) -> None:
    noise = sg.random.stream("noise")
    key = noise.next()
    one, two = sg.compile([], sg.random.bits(key)), sg.compile([], sg.random.bits(key))
    assert one() != two()
    assert noise.calls.value == 2
    one.save(tmp_path / "one.sg")
    again = sg.load(tmp_path / "one.sg")
    assert_array_equal([again(), again()], [one(), one()])


def test_an_update_of_the_users_takes_the_place_of_the_count() -> None:
    noise = sg.random.stream(1)
    held = sg.compile([], sg.random.bits(noise), updates={noise.calls: noise.calls * 1})
    assert held() == held()


def test_a_loop_folds_the_iteration_in() -> None:
    noise = sg.random.stream(2)
    key = noise.next()
    _, drawn = sg.scan(
        lambda total, i: (total, sg.random.uniform(sg.random.fold_in(key, i), (2,))),
        sg.zeros(()), sg.arange(3),
    )  # fmt: skip
    found = sg.compile([], drawn)()
    start = sg.random.fold_in(sg.random.fold_in(sg.random.key(2), 0), 0)
    keys = sg.random.split(start, 3)
    assert_array_equal(found, [sg.random.uniform(one, (2,)) for one in keys])


def test_texts_are_seeds_and_other_things_are_not() -> None:
    assert sg.random.stream("a").seed == sg.random.stream("a").seed != sg.random.stream("b").seed
    assert sg.random.stream("a").calls.name == "a"
    with pytest.raises(OptionError, match=r"stream: the seed is an int or a text, not 0\.5"):
        sg.random.stream(0.5)
    with pytest.raises(OptionError, match="stream: the seed 9223372036854775808 has more than 64"):
        sg.random.stream(1 << 63)
    with pytest.raises(OptionError, match="stream: the name is a string, not 3"):
        sg.random.stream(0, 3)  # type: ignore[arg-type]


def test_a_compiled_function_has_the_mask_of_its_call_in_the_reverse_pass() -> None:
    noise = sg.random.stream(9)
    f = sg.function(lambda x: sg.dropout(x, 0.5, key=noise))
    x = dynamic.tensor(np.ones((4, 6), "float32"), requires_grad=True)
    masks = []
    for _ in range(2):
        x.grad = None
        result = f(x)
        masks.append(result.detach().numpy())
        result.sum().backward()
        assert_array_equal(x.grad.numpy(), masks[-1])  # type: ignore[attr-defined]
    assert np.any(masks[0] != masks[1])
    assert noise.calls.value == 2
