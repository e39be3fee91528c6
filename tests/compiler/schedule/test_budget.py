"""Groups that run again within a budget of memory: less memory, the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import staticgraph as sg
from staticgraph.compiler.graph.build import verify
from staticgraph.compiler.inspect.interpret import interpret
from staticgraph.compiler.runtime.cache.loader import counts
from staticgraph.compiler.schedule.budget import Search, Step
from tests.combinations import some

WIDTH, ROWS = 32, 64
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, WIDTH)).astype("f4")
LABELS = np.arange(ROWS) % WIDTH
IMAGES = RNG.normal(size=(4, 3, 12, 12)).astype("f4")


def normal(*shape: int) -> sg.Variable:
    made = np.random.default_rng(sum(shape)).normal(size=shape)
    return sg.variable((made * (2 / shape[-1]) ** 0.5).astype("f4"))


def deep(layers: int = 8, **options: Any) -> tuple[sg.Executable, list[sg.Variable]]:
    """A training step of a deep network with momentum."""
    x, y = sg.placeholder("x", ("n", WIDTH)), sg.placeholder("y", ("n",), "int64")
    ws = [normal(WIDTH, WIDTH) for _ in range(layers)]
    h = x
    for w in ws:
        h = sg.gelu(h @ w)
    loss = sg.cross_entropy(h, y)
    updates = sg.optim.SGD(lr=0.05, momentum=0.9).minimize(loss)
    return sg.compile([x, y], loss, updates, **options), ws


def budget(executable: sg.Executable, part: float, **sizes: int) -> int:
    """The bytes that are so large a part of the arena, and all that is beside it."""
    arena = executable.plan.arena_bytes(sizes)
    return executable.plan.peak_bytes(sizes) - arena + int(part * arena)


@pytest.mark.parametrize("part", some([0.5, 0.8, 0.6], 1))
def test_training_takes_no_more_and_has_the_same_bits_step_by_step(part: float) -> None:
    kept, expected = deep()
    limit = budget(kept, part, n=ROWS)
    again, found = deep(memory=limit, memory_at={"n": ROWS})
    for _ in range(3):
        assert_array_equal(again(X, LABELS), kept(X, LABELS))
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one.value, other.value)
    assert again.plan.peak_bytes(n=ROWS) <= limit < kept.plan.peak_bytes(n=ROWS)
    # the kernel is for any sizes
    assert_array_equal(again(X[:5], LABELS[:5]), kept(X[:5], LABELS[:5]))


def attention(x: Any) -> Any:
    q, k, v = (sg.reshape(x @ normal(WIDTH, WIDTH), (4, 16, 2, 16)) for _ in range(3))
    q, k, v = (sg.transpose(one, (0, 2, 1, 3)) for one in (q, k, v))
    scores = sg.softmax(q @ sg.transpose(k, (0, 1, 3, 2)) * 0.25)
    return sg.reshape(sg.transpose(scores @ v, (0, 2, 1, 3)), (ROWS, WIDTH))


def transformer(x: Any) -> Any:
    for _ in range(2):
        x = x + attention(sg.layer_norm(x, WIDTH)) @ normal(WIDTH, WIDTH)
        x = x + sg.gelu(sg.layer_norm(x, WIDTH) @ normal(WIDTH, 64)) @ normal(64, WIDTH)
    return x


def convolutions(x: Any) -> Any:
    h, channels = x, 3
    for out in (8, 8, 8):
        h = sg.relu(sg.conv2d(h, normal(out, channels, 3, 3), padding=1))
        h = (h - sg.mean(h, axis=(0, 2, 3), keepdims=True)) * 1.5
        channels = out
    return sg.max_pool2d(h, 2)


def joined(x: Any) -> Any:
    for _ in range(4):
        half = x.shape[1] // 2
        x = sg.concatenate([sg.tanh(x[:, half:] @ normal(half, half)), sg.sin(x[:, :half])], 1)
    return x


NETWORKS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "transformer": (transformer, X), "convolutions": (convolutions, IMAGES), "joined": (joined, X),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_have_the_same_bits(name: str) -> None:
    network, given = NETWORKS[name]
    x = sg.placeholder("x", given.shape)
    loss = sg.mean(sg.square(network(x)))
    outputs = [loss, sg.grad(loss, x)]
    kept = sg.compile([x], outputs, threads=1)
    limit = budget(kept, 0.9)
    again = sg.compile([x], outputs, threads=2, memory=limit)
    assert again.plan.peak_bytes() <= limit
    assert len(again.lowered) > len(kept.lowered)
    for one, other in zip(again(given), kept(given), strict=True):
        assert_array_equal(one, other)
    verify(again.lowered)
    lowered = again.runner.lowered
    made = lowered.expressions()
    (fed,) = (made[node] for node in lowered.inputs)
    wanted = [made[node] for node in lowered.outputs]
    variables = [one for one in made if one.op.name == "variable"]
    feeds = {fed: given, **{one: one.attrs["key"].copy() for one in variables}}
    for one, other in zip(interpret(wanted, feeds), again(given), strict=True):
        assert_allclose(one, other, rtol=0, atol=2e-5 * np.abs(other).max())


def test_a_budget_below_what_is_held_ends_the_search() -> None:
    x = sg.placeholder("x", (64, 64))
    y = sg.tanh(x @ x)
    with pytest.raises(
        sg.OptionError, match="of which outputs, variables and constants take 16388"
    ):
        sg.compile([x], [sg.sum(y), y], memory=0.9)


def test_the_least_that_is_said_is_met_and_a_byte_less_is_refused() -> None:
    kept, _ = deep()
    whole = kept.plan.peak_bytes(n=ROWS)
    with pytest.raises(sg.OptionError, match=r"the least that was found is \d+, of which") as told:
        deep(memory=1, memory_at={"n": ROWS})
    assert str(told.value).startswith("compile: memory=1 is 1 bytes, n = 64: ")
    assert str(told.value).endswith(f"; without a budget it is {whole}")
    least = int(re.findall(r"found is (\d+)", str(told.value))[0])
    assert least < 0.7 * whole
    fitted, _ = deep(memory=least, memory_at={"n": ROWS})
    assert fitted.plan.peak_bytes(n=ROWS) <= least
    with pytest.raises(sg.OptionError, match=f"found is {least}"):
        deep(memory=least - 1, memory_at={"n": ROWS})


def test_a_part_is_of_what_it_takes_without() -> None:
    kept, _ = deep()
    whole = kept.plan.peak_bytes(n=ROWS)
    part, _ = deep(memory=0.6, memory_at={"n": ROWS})
    assert part.plan.peak_bytes(n=ROWS) <= 0.6 * whole
    all_of_it, _ = deep(memory=1.0, memory_at={"n": ROWS})
    assert all_of_it.plan.peak_bytes(n=ROWS) == whole
    assert len(all_of_it.lowered) == len(kept.lowered)


def test_memory_of_a_deep_network_falls_as_by_checkpoints() -> None:
    def step(layers: int) -> tuple[Any, Any]:
        x = sg.placeholder("x", (ROWS, WIDTH))
        h = x
        for _ in range(layers):
            h = sg.tanh(h @ normal(WIDTH, WIDTH))
        return x, [sg.grad(sg.sum(h), x)]

    x, outputs = step(36)
    kept = sg.compile([x], outputs)
    assert kept.plan.arena_bytes() >= 36 * X.nbytes
    # by segments of 6: 6 inputs, 6 layers of one, and what one layer's gradient takes
    again = sg.compile([x], outputs, memory=15 * X.nbytes + X.nbytes + constants(kept))
    assert again.plan.arena_bytes() <= 15 * X.nbytes
    assert_array_equal(again(X)[0], kept(X)[0])


def constants(executable: sg.Executable) -> int:
    slots = executable.plan.memory.slots
    return sum(one.bytes({}) for one in slots if one.kind in ("constant", "variable"))


def test_it_can_be_switched_off_and_is_then_only_checked() -> None:
    kept, _ = deep()
    whole = kept.plan.peak_bytes(n=ROWS)
    off: dict[str, Any] = {"memory_at": {"n": ROWS}, "disable": ["recompute_groups"]}
    with pytest.raises(sg.OptionError, match=f"found is {whole}, of which"):
        deep(memory=whole - 1, **off)
    assert deep(memory=whole, **off)[0].plan.peak_bytes(n=ROWS) == whole


@pytest.mark.parametrize("options", some([{"on_nonfinite": "raise"}, {"fuse": False}], 1))
def test_with_other_options(options: Any) -> None:
    kept, _ = deep(4, **options)
    limit = budget(kept, 0.8, n=ROWS)
    again, ws = deep(4, memory=limit, memory_at={"n": ROWS}, **options)
    assert again.plan.peak_bytes(n=ROWS) <= limit
    for _ in range(2):
        assert_array_equal(again(X, LABELS), kept(X, LABELS))
    if "on_nonfinite" in options:
        before = [w.value.copy() for w in ws]
        with pytest.raises(sg.NonFiniteError, match="not finite"):
            again(np.full_like(X, np.inf), LABELS)
        for w, old in zip(ws, before, strict=True):
            assert_array_equal(w.value, old)


def test_it_is_kept_by_files_and_by_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STATICGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    options: dict[str, Any] = {"memory": 0.7, "memory_at": {"n": ROWS}}
    first, _ = deep(4, **options)
    before = counts["launch_plans"]
    second, _ = deep(4, **options)
    assert counts["launch_plans"] == before + 1
    assert second.plan.peak_bytes(n=ROWS) == first.plan.peak_bytes(n=ROWS)
    plain, _ = deep(4)  # another entry
    assert plain.plan.peak_bytes(n=ROWS) > first.plan.peak_bytes(n=ROWS)
    first.save(tmp_path / "step")
    loaded = sg.load(tmp_path / "step")
    assert (loaded.options.memory, loaded.options.memory_at) == (0.7, (("n", ROWS),))
    assert_array_equal(loaded(X, LABELS), first(X, LABELS))


def test_an_explanation_says_what_runs_again() -> None:
    again, _ = deep(4, memory=0.7, memory_at={"n": ROWS})
    assert "its group runs once more, within the budget of memory" in str(again.explain())


def test_large_inputs_in_another_order_are_copied() -> None:
    x = sg.placeholder("x", ("n", 512))
    f = sg.compile([x], sg.exp(x).sum(1), memory=10**9, memory_at={"n": 1024})
    given = np.asfortranarray(RNG.normal(size=(1024, 512)).astype("f4"))
    assert_array_equal(f(given), f(given.copy()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": "1 GB"}, "memory is a number of bytes, or a part as a float .*, not '1 GB'"),
        ({"memory": True}, "memory is a number of bytes, .*, not True"),
        ({"memory": 1.5}, "memory is a number of bytes, .*, not 1.5"),
        ({"memory": 0.0}, "memory is a number of bytes, .*, not 0.0"),
        ({"memory": -1}, "memory is a number of bytes, .*, not -1"),
        ({"memory_at": {"n": 3}}, r"memory_at=\{'n': 3\} is given without memory"),
        ({"memory": 0.5, "memory_at": 3}, "memory_at is a dict of sizes by names, not 3"),
        ({"memory": 0.5, "memory_at": {"n": "3"}}, "memory_at has names with ints from 0, not"),
        ({"memory": 0.5, "memory_at": {"n": -3}}, "memory_at has names with ints from 0, not"),
        ({"memory": 0.5}, r"the sizes \[\] are given by memory_at, \['n'\] are unknown"),
        ({"memory": 0.5, "memory_at": {"m": 3}}, r"the sizes \['m'\] are given by memory_at"),
    ],
)
def test_what_is_no_budget_is_refused(options: Any, message: str) -> None:
    with pytest.raises(sg.OptionError, match=f"compile: .*{message}"):
        deep(1, **options)


# -- the search, on steps that are numbers alone ----------------------------------------------


def chain(layers: int, kept: int = 1) -> tuple[list[Step], dict[int, int]]:
    """A forward pass, of which each step reads the last value, and a reverse pass."""
    end = 2 * layers + 1
    steps = [Step((), (0,), (), 0, 1, True, end)]
    steps += [Step((i - 1,), (i,), (), 0, 1, True, end) for i in range(1, layers)]
    for i in reversed(range(layers)):
        before = (100 + i + 1,) if i + 1 < layers else ()
        steps.append(Step((i, *before), (100 + i,), (), 0, 1, False, end))
    return steps, {value: kept for step in steps for value in step.writes}


def followed(steps: Sequence[Step], size: Mapping[int, int], schedule: Sequence[int]) -> int:
    """The most bytes in use, with each value freed after its last read before it is made again."""
    most = 0
    held: set[int] = set()
    for at, index in enumerate(schedule):
        assert held.issuperset(steps[index].reads), "a value is read that is not there"
        held.update(steps[index].writes)
        most = max(most, sum(size[value] for value in held) + steps[index].scratch)
        for value in list(held):
            for later in schedule[at + 1 :]:
                if value in steps[later].reads:
                    break
                if value in steps[later].writes:
                    held.discard(value)
                    break
            else:
                held.discard(value)
    return most


@pytest.mark.parametrize("layers", [4, 16, 49])
def test_a_schedule_computes_what_it_reads_in_the_memory_that_it_says(layers: int) -> None:
    steps, size = chain(layers)
    search = Search(steps, size)
    assert search.most == followed(steps, size, search.schedule) == layers + 1
    for target in (layers - 1, layers // 2 + 2):
        assert search.reach(target)
        assert followed(steps, size, search.schedule) == search.most <= target
    assert not search.reach(1)
    assert followed(steps, size, search.schedule) == search.most
    # Chen et al.: two square roots, and here the cotangents that are read and written
    assert search.most <= 2 * layers**0.5 + 3


def test_what_takes_more_work_is_dropped_last() -> None:
    steps, size = chain(4)
    dear = Step(steps[1].reads, steps[1].writes, (), 0, 1000, True, 9)
    search = Search([steps[0], dear, *steps[2:]], size)
    assert search.reach(4)
    assert search.schedule.count(1) == 1


def test_what_reads_a_variable_has_no_run_after_it_has_changed() -> None:
    steps, size = chain(4)
    size = {**size, 200: 0}
    bound = [Step(one.reads, one.writes, (), 0, 1, True, 4) for one in steps[:4]]
    changes = Step(steps[4].reads, (*steps[4].writes, 200), (), 0, 1, False, 9)
    assert not Search([*bound, changes, *steps[5:]], size).reach(4)
    free = Search([*steps[:4], changes, *steps[5:]], size)
    assert free.reach(4)


def test_what_must_not_run_again_does_not() -> None:
    steps, size = chain(6)
    once = [Step(one.reads, one.writes, (), 0, 1, False, 99) for one in steps]
    search = Search(once, size)
    assert not search.reach(5)
    assert search.schedule == list(range(len(steps)))


def test_it_is_named_among_the_rewrites() -> None:
    with pytest.raises(sg.OptionError, match="recompute_groups"):
        deep(1, disable=["recompute_group"])
