"""Collectives on threads that stand for ranks: values, gradients, refusals, order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import dynamic
import staticgraph as sg
import staticgraph.distributed as dist
from staticgraph.compiler.reference.ranks import Alone, Job, Ranks, current

RANKS = 3
ROWS = np.random.default_rng(0).normal(size=(RANKS, RANKS, 2))  # of each rank an array
SEEDS = np.random.default_rng(1).normal(size=(RANKS, RANKS, RANKS, 2))

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (dist.sum, lambda x: np.stack([x.sum(0)] * RANKS)),
    "mean": (dist.mean, lambda x: np.stack([x.mean(0)] * RANKS)),
    "max": (dist.max, lambda x: np.stack([x.max(0)] * RANKS)),
    "min": (dist.min, lambda x: np.stack([x.min(0)] * RANKS)),
    "broadcast": (lambda x: dist.broadcast(x, 1), lambda x: np.stack([x[1]] * RANKS)),
    "reduce": (
        lambda x: dist.reduce(x, 2),
        lambda x: np.stack([x.sum(0) if rank == 2 else 0 * x[0] for rank in range(RANKS)]),
    ),
    "all_gather": (dist.all_gather, lambda x: np.stack([x] * RANKS)),
    "reduce_scatter": (dist.reduce_scatter, lambda x: x.sum(0)),
    "weighted": (
        lambda x: dist.mean(x, weight=dist.rank),
        lambda x: np.stack([(x[1] + 2 * x[2]) / 3] * RANKS),
    ),
}
"""Each as it is written, and in NumPy: from the arrays of all ranks to the results of all."""


def _slopes(world: Callable[[Any], Any], seeds: Any) -> Any:
    """The derivatives of all ranks' results, weighted, by all ranks' arrays: by differences."""
    found = np.empty_like(ROWS)
    for place in np.ndindex(*ROWS.shape):
        step = np.zeros_like(ROWS)
        step[place] = 1e-6
        found[place] = ((world(ROWS + step) - world(ROWS - step)) * seeds).sum() / 2e-6
    return found


def _seed_of(name: str, rank: int) -> Any:
    shape = CASES[name][1](ROWS)[rank].shape
    return np.resize(SEEDS[rank], shape)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_all_ranks_together(name: str) -> None:
    """Compiled, of arrays and of tensors: all against NumPy, and its differences."""
    function, world = CASES[name]
    wanted = world(ROWS)
    slopes = _slopes(world, np.stack([_seed_of(name, rank) for rank in range(RANKS)]))

    def run() -> list[Any]:
        own, seed = ROWS[dist.rank], _seed_of(name, dist.rank)
        x, s = sg.placeholder("x", own.shape, "float64"), sg.placeholder("s", seed.shape, "float64")
        loss = sg.sum(function(x) * s)
        compiled = sg.compile([x, s], [function(x), sg.grad(loss, x)], lint="off")
        tensor = dynamic.tensor(own, requires_grad=True)
        eager = function(tensor)
        (eager * dynamic.tensor(seed)).sum().backward()
        assert tensor.grad is not None
        return [compiled(own, seed), [eager.detach().numpy(), tensor.grad.numpy()], function(own)]

    for rank, (compiled, eager, plain) in enumerate(dist.simulate(run, RANKS)):
        for value in (compiled[0], eager[0], plain):
            assert_allclose(value, wanted[rank], rtol=1e-12)
        for slope in (compiled[1], eager[1]):
            assert_allclose(slope, slopes[rank], rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_maximum_is_shared_by_ranks_that_are_equal() -> None:
    def run() -> Any:
        x = sg.placeholder("x", (2,), "float64")
        return sg.compile([x], sg.grad(sg.sum(dist.max(x)), x))(np.array([1.0, dist.rank]))

    assert_array_equal(dist.simulate(run, 2), [[1.0, 0.0], [1.0, 2.0]])


def test_second_derivatives_by_variables_are_those_of_the_mean() -> None:
    """Of mean over ranks of c_r w**4: 12 mean(c) w**2."""

    def run() -> Any:
        w, scale = sg.variable(np.array(2.0), "w"), sg.variable(np.array(dist.rank * 1.0), "scale")
        first = sg.grad(dist.mean(scale * w**4), w)
        return sg.compile([], [first, sg.grad(first, w)])()

    assert_allclose(dist.simulate(run, 4), [[4 * 1.5 * 8, 12 * 1.5 * 4]] * 4)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int64"])
def test_any_dtype_is_moved(dtype: str) -> None:
    def run() -> Any:
        own = np.array([dist.rank, 1, 0], dtype)
        x = sg.placeholder("x", (None,), dtype)
        return sg.compile([x], [dist.all_gather(x), dist.broadcast(x, 1)])(own)

    for gathered, sent in dist.simulate(run, 2):
        assert gathered.dtype == sent.dtype == dtype
        assert_array_equal(gathered, np.array([[0, 1, 0], [1, 1, 0]], dtype))
        assert_array_equal(sent, np.array([1, 1, 0], dtype))


def test_alone_a_collective_is_what_it_is_given() -> None:
    x = sg.placeholder("x", (3, 2), "float64")
    f = sg.compile([x], [dist.mean(x), dist.all_gather(x), dist.reduce_scatter(x[:1])])
    mean, gathered, scattered = f(ROWS[0])
    assert_array_equal(mean, ROWS[0])
    assert_array_equal(gathered, ROWS[0][None])
    assert_array_equal(scattered, ROWS[0][0])
    assert (dist.rank, dist.size) == (0, 1)
    dist.barrier()


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: dist.sum(np.array([True])), sg.DTypeError, r"bool\[1\]: cast it to float32"),
    (lambda: dist.sum(np.ones(1, "float16")), sg.DTypeError, r"all_reduce: float16\[1\]: cast it"),
    (lambda: dist.mean(np.ones(1, int)), sg.DTypeError, r"the mean of int64\[1\]: cast"),
    (lambda: dist.mean(np.ones(1, int), 2), sg.DTypeError, "mean: int64 is not floating point"),
    (lambda: dist.sum(np.ones(1, complex)), sg.DTypeError, "is complex, and all_reduce is of real"),
    (lambda: dist.all_reduce(np.ones(1), "prod"), sg.OptionError, "kind is one of .*, not 'prod'"),
    (lambda: dist.broadcast(np.ones(1), 1), sg.OptionError, "a rank from 0 to 0, not 1"),
    (
        lambda: dist.reduce_scatter(np.ones((2, 3))),
        sg.ShapeError,
        r"reduce_scatter: float64\[2, 3\]: the first axis is of 1 ranks, one place each",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_what_ranks_cannot_combine_is_refused(
    call: Callable[[], Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_batches_loops_and_branches_are_refused_at_their_lines() -> None:
    x = sg.placeholder("x", (4,), "float64")
    message = r"vmap: all_reduce of a batch: ranks combine whole arrays"
    with pytest.raises(sg.GraphError, match=message):
        sg.compile([x], sg.vmap(lambda one: dist.sum(one) * 2)(x))
    with pytest.raises(sg.GraphError, match=message):
        dynamic.func.vmap(dist.sum)(dynamic.ones(3))
    _, found = sg.scan(lambda carry, one: (carry, dist.sum(one)), 0.0, x)
    message = r"f: all_reduce \(.*test_collectives.py:\d+\) in a scan \(.*:\d+\): ranks may differ"
    with pytest.raises(sg.GraphError, match=message):
        sg.compile([x], found, name="f")
    nested = sg.cond(x[0] > 0, lambda: sg.while_loop(lambda s: s < 3, dist.sum, x[1]), lambda: x[2])
    with pytest.raises(sg.GraphError, match=r"all_reduce \(.*\) in a cond"):
        sg.compile([x], nested)


def test_steps_are_begun_early_and_ended_late() -> None:
    """Each bucket right after its gradients, and all waited for after the reverse pass."""

    def run() -> list[str]:
        dist.set_bucket_bytes(1)
        x = sg.placeholder("x", (None, 40))
        h, rng = x, np.random.default_rng(0)
        for i in range(3):
            h = sg.tanh(h @ sg.variable(rng.normal(size=(40, 40)).astype("float32"), f"w{i}"))
        loss = dist.mean(sg.mean(h))
        train = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss))
        train(np.ones((2, 40), "float32"))
        dist.check_same(train)
        lines = train.source.rpartition("def ")[2].splitlines()
        ops = [line.rpartition("= ")[2].partition("(")[0] for line in lines if "host(t" in line]
        products = [line.strip(" #").split()[0] for line in lines if line.startswith("    # ")]
        return [*ops, "|", *(one for one in products if one in ("matmul", "collective_begin"))]

    ops, products = " ".join(dist.simulate(run, 2)[0]).split(" | ")
    begun, ended = ["collective_begin"] * 4, ["collective_end"] * 4
    assert ops.split() == ["collective_announce", *begun, *ended]
    # the loss after three products, then a gradient after another one and what it needs
    wanted = ["matmul"] * 3 + ["collective_begin"]
    wanted += ["matmul", "collective_begin"] + ["matmul", "matmul", "collective_begin"] * 2
    assert products.split() == wanted


def test_small_gradients_share_a_buffer_of_each_dtype() -> None:
    def run() -> Any:
        names = ("float32", "float64")
        ws = [sg.variable(np.full(3, 1.0 + dist.rank, dtype), f"w{i}")
              for i, dtype in enumerate(names * 3)]  # fmt: skip
        dist.synchronise(*ws)
        scale = sg.variable(np.array(1.0 + dist.rank), "scale")
        loss = dist.mean(sum(sg.sum(sg.astype(w, "float64") ** 2) for w in ws) * scale)
        train = sg.compile([], loss, updates=sg.optim.SGD(lr=0.1).minimize(loss, ws))
        train()
        count = sum(node.op.name == "collective_begin" for node in train.definition.nodes)
        return count, [w.value for w in ws]

    (count, values), other = dist.simulate(run, 2)
    assert count == 3  # the loss, and a buffer of each dtype
    for one, same in zip(values, other[1], strict=True):
        assert_array_equal(one, same)
        assert_allclose(one, 1 - 0.1 * 1.5 * 2, rtol=1e-6)


def test_a_graph_is_differentiated_again_after_it_was_compiled() -> None:
    """What it was compiled to has steps; its gradient needs the collectives."""

    def run() -> Any:
        x = sg.placeholder("x", (2,), "float64")
        f = sg.compile([x], dist.sum(sg.sum(x**3)))
        given = f.scipy(np.array([1.0, 2.0]))
        return given.jac(np.array([1.0, 2.0]) + dist.rank)

    assert_allclose(dist.simulate(run, 2), [[2 * 3.0, 2 * 12.0], [2 * 12.0, 2 * 27.0]])


def test_alone_there_is_nobody_to_send_anything_to() -> None:
    with pytest.raises(sg.DistributedError, match="broadcast: there is one rank"):
        Alone().start(Job("broadcast"), np.ones(1), np.ones(1))
    ranks = Ranks(Alone())
    assert ranks.texts("a") == ["a"]
    assert ranks.close() == ""
    assert current().size == 1


@pytest.mark.slow
def test_a_profile_runs_as_often_on_all_ranks() -> None:
    """Ranks that are done at different times would be out of step at the next call."""

    def twice() -> None:
        x = sg.placeholder("x", (None,), "float64")
        f = sg.compile([x], dist.sum(sg.sin(x)))
        runs = f.profile(np.ones(3)).runs
        gathered = dist.all_gather(np.array(runs))
        assert (gathered == runs).all()
        assert_allclose(f(np.ones(3)), 2 * np.sin(1))

    dist.simulate(twice, size=2)


def test_files_of_one_process_refuse_what_ranks_combine(tmp_path: Path) -> None:
    """Neither a kernel's file nor a model has ranks."""

    def written() -> None:
        x = sg.placeholder("x", (None,), "float64")
        f = sg.compile([x], dist.sum(x))
        with pytest.raises(sg.OptionError, match="cannot do: it combines the arrays of ranks"):
            f.export(tmp_path / "kernel.py", np.ones(3))
        with pytest.raises(sg.GraphError, match="it combines the arrays of ranks, and a model"):
            sg.onnx.save(f, tmp_path / "net.onnx")

    dist.simulate(written, size=2)
