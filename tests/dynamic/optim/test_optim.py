"""Optimizers: groups, options, errors, saving, hooks, and how a step changes memory."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import dynamic
from staticgraph.dynamic import optim
from staticgraph.dynamic.optim.blocks import BLOCK, in_blocks
from staticgraph.dynamic.optim.hooks import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from tests.combinations import some

ALL = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "NAdam": {},
    "RAdam": {}, "RMSprop": {"momentum": 0.5, "centered": True}, "Adagrad": {}, "Adadelta": {},
    "Adamax": {}, "ASGD": {"t0": 1}, "Rprop": {},
}  # fmt: skip


def leaf(*values, dtype=np.float64):
    return dynamic.tensor(np.array(values, dtype), requires_grad=True)


def closure_of(optimizer, *params):
    def closure():
        optimizer.zero_grad()
        loss = sum((param**2).sum() for param in params)
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("name", [*ALL, "LBFGS"])
def test_a_closure_is_run_with_grad_enabled_and_its_loss_returned(name):
    p = leaf(1.0, 2.0)
    optimizer = getattr(optim, name)([p])
    with dynamic.no_grad():
        loss = optimizer.step(closure_of(optimizer, p))
    assert loss.item() == 5
    assert (p.detach().numpy() < [1, 2]).all()
    assert p.is_leaf and p.requires_grad


@pytest.mark.parametrize("name", ALL)
def test_parameters_without_a_gradient_stay(name):
    p, q = leaf(1.0), leaf(2.0)
    optimizer = getattr(optim, name)([p, q], **ALL[name])
    p.grad = dynamic.tensor([1.0], dtype=dynamic.float64)
    assert optimizer.step() is None
    assert p.item() != 1 and q.item() == 2
    assert q._version == 0


@pytest.mark.parametrize("name", [*ALL, "LBFGS"])
def test_a_step_changes_memory_in_place_and_counts_as_a_mutation(name):
    p = leaf(1.0, 2.0)
    memory = p.detach().numpy()
    optimizer = getattr(optim, name)([p])
    saved = (p * p).sum()
    before = p._version
    optimizer.step(closure_of(optimizer, p))
    assert np.shares_memory(memory, p.detach().numpy())
    assert (memory != [1, 2]).all()
    assert p._version > before
    with pytest.raises(RuntimeError, match=r"modified by an inplace.*test_optim\.py"):
        saved.backward()


@pytest.mark.slow
@pytest.mark.parametrize("name", some(ALL, 5))
def test_large_and_transposed_memory_is_updated_as_small_memory(name):
    rng = np.random.default_rng(0)
    shape = (BLOCK // 100 + 3, 150)
    values, gradients = rng.standard_normal(shape), rng.standard_normal((3, *shape))
    rows = [leaf(*row) for row in values]
    layouts = {
        "C order": (values, gradients),
        "transposed gradient": (values, [np.asfortranarray(g) for g in gradients]),
        "transposed parameter": (np.asfortranarray(values), gradients),
    }
    more = {"maximize": True} if name == "Rprop" else {"maximize": True, "weight_decay": 0.1}
    for options in (ALL[name], {**ALL[name], **more}):
        small = getattr(optim, name)(rows := [leaf(*row) for row in values], **options)
        for g in gradients:
            for row, part in zip(rows, g, strict=True):
                row.grad = dynamic.from_numpy(part)
            small.step()
        expected = np.array([row.detach().numpy() for row in rows])
        for start, steps in layouts.values():
            large = dynamic.from_numpy(start.copy("K")).requires_grad_()
            optimizer = getattr(optim, name)([large], **options)
            for g in steps:
                large.grad = dynamic.from_numpy(g)
                optimizer.step()
            np.testing.assert_array_equal(large.detach().numpy(), expected)


def test_blocks_cover_each_element_once():
    array, sizes = np.arange(2.0 * BLOCK + 5), []

    def change(x, y, t, u):
        assert x.shape == y.shape == t.shape == u.shape and not np.shares_memory(t, u)
        sizes.append(x.size)
        np.add(x, 1, x)

    in_blocks(change, 2, array, array)
    assert sorted(sizes) == [5, BLOCK, BLOCK]
    np.testing.assert_array_equal(array, np.arange(2.0 * BLOCK + 5) + 1)


@pytest.mark.parametrize("name", ALL)
def test_a_number_is_a_parameter_too(name):
    p = dynamic.tensor(3.0, requires_grad=True)
    optimizer = getattr(optim, name)([p])
    optimizer.step(closure_of(optimizer, p))
    assert p.shape == () and p.item() < 3


def test_gradients_are_not_changed():
    for name, options in ALL.items():
        more = {} if name == "Rprop" else {"weight_decay": 0.5}
        p = leaf(1.0, 2.0)
        optimizer = getattr(optim, name)([p], **options, **more, maximize=True)
        p.grad = dynamic.tensor(np.array([3.0, -4.0]))
        optimizer.step()
        assert p.grad.tolist() == [3, -4]


def test_the_first_momentum_is_the_gradient_whatever_the_dampening():
    p = leaf(1.0)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9, dampening=0.5)
    optimizer.step(closure_of(optimizer, p))
    assert optimizer.state[p]["momentum_buffer"].tolist() == [2]
    assert not optim.SGD([p], lr=0.1).state


def test_a_rate_and_betas_may_be_tensors():
    paths = []
    for wrapped in (float, lambda value: dynamic.tensor(value, dtype=dynamic.float64)):
        p = leaf(1.0, 2.0)
        betas = (wrapped(0.8), wrapped(0.9))
        optimizer = optim.Adam([p], lr=wrapped(0.1), betas=betas)
        for _ in range(3):
            optimizer.step(closure_of(optimizer, p))
        paths.append(p.tolist())
    assert paths[0] == paths[1]


def test_groups_have_options_of_their_own():
    p, q, r = leaf(1.0), leaf(1.0), leaf(1.0)
    groups = [{"params": p}, {"params": iter([q]), "lr": 0.25}]
    optimizer = optim.SGD(groups, lr=0.5)
    added = {"params": [r], "lr": 0.0}
    optimizer.add_param_group(added)
    assert optimizer.param_groups[2] is added
    assert added["momentum"] == 0
    optimizer.step(closure_of(optimizer, p, q, r))
    assert [p.item(), q.item(), r.item()] == [0, 0.5, 1]


def test_parameters_may_come_from_a_generator_or_with_names():
    p, q = leaf(1.0), leaf(2.0)
    optimizer = optim.SGD(one for one in (p, q))
    assert optimizer.param_groups[0]["params"] == [p, q]
    named = optim.SGD([("weight", p), ("bias", q)])
    assert named.param_groups[0]["params"] == [p, q]
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match=r"cannot add param group without names"):
        named.add_param_group({"params": [leaf(1.0)]})
    with pytest.raises(ValueError, match=r"Some param names are missing"):
        optim.SGD([("weight", p), q])


def test_state_of_adagrad_is_there_before_the_first_step():
    p, q = leaf(1.0), leaf(2.0)
    optimizer = optim.Adagrad([p], initial_accumulator_value=0.5)
    assert optimizer.state_dict()["state"][0]["sum"].tolist() == [0.5]
    optimizer.add_param_group({"params": [q], "initial_accumulator_value": 0.25})
    assert optimizer.state[q]["sum"].tolist() == [0.25]


def test_zero_grad_drops_or_clears():
    p, q = leaf(1.0), leaf(2.0)
    optimizer = optim.SGD([p, q])
    p.grad = dynamic.tensor(np.array([1.0]))
    held = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is held and held.tolist() == [0] and q.grad is None
    optimizer.zero_grad()
    assert p.grad is None


BAD_OPTIONS = [
    *[(name, {"lr": -1.0}, "Invalid learning rate: -1.0") for name in [*ALL, "LBFGS"]],
    *[(name, {"lr": float("nan")}, "Invalid learning rate: nan") for name in ALL],
    *[
        (name, {"weight_decay": -1}, "Invalid weight_decay value: -1")
        for name in ALL if name != "Rprop"
    ],
    *[
        (name, {"eps": -1}, "Invalid epsilon value: -1")
        for name in ALL if name not in ("SGD", "ASGD", "Rprop")
    ],
    ("Rprop", {"etas": (1.1, 1.2)}, "Invalid eta values: 1.1, 1.2"),
    *[
        (name, {"betas": betas}, f"Invalid beta parameter at index {i}: {betas[i]}")
        for name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")
        for i, betas in enumerate([(1.0, 0.9), (0.9, -0.1)])
    ],
    ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    (
        "SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
        "Nesterov momentum requires a momentum and zero dampening",
    ),
    ("RMSprop", {"momentum": -1}, "Invalid momentum value: -1"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
    ("Adadelta", {"rho": 2}, "Invalid rho value: 2"),
    ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
    (
        "Adagrad", {"initial_accumulator_value": -1},
        "Invalid initial_accumulator_value value: -1",
    ),
    ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
    *[(name, {"foreach": True}, f"{name}: foreach=True: ") for name in ALL],
    *[(name, {"differentiable": True}, f"{name}: differentiable=True: ") for name in ALL],
    *[(name, {"fused": True}, f"{name}: fused=True: ") for name in ("SGD", "Adam", "Adagrad")],
    *[
        (name, {"capturable": True}, f"{name}: capturable=True: ")
        for name in ALL if name not in ("SGD", "Adagrad")
    ],
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "text"), BAD_OPTIONS)
def test_options_out_of_range_are_refused(name, options, text):
    with pytest.raises(ValueError) as raised:
        getattr(optim, name)([leaf(1.0)], **options)
    assert str(raised.value).startswith(text)


def test_tensors_as_options_have_one_element_and_come_in_pairs():
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        optim.Adam([leaf(1.0)], lr=dynamic.tensor([0.1, 0.1]))
    with pytest.raises(ValueError, match="betas must be either both floats or both Tensors"):
        optim.Adam([leaf(1.0)], betas=(0.9, dynamic.tensor(0.9)))
    with pytest.raises(ValueError, match=r"Invalid learning rate: -1\.0"):
        optim.SGD([leaf(1.0)], lr=dynamic.tensor(-1.0))


def test_parameters_that_cannot_be_optimized_are_refused():
    p = leaf(1.0)
    with pytest.raises(TypeError, match=r"should be an iterable .* but got torch\.DoubleTensor"):
        optim.SGD(p)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        optim.SGD([])
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        optim.SGD([p * 2])
    with pytest.raises(TypeError, match="one of the params is int"):
        optim.SGD([3])
    with pytest.raises(TypeError, match=r"one of the params is numpy\.ndarray"):
        optim.SGD([np.ones(3)])
    with pytest.raises(TypeError, match="ordered collections"):
        optim.SGD([{"params": {p}}])
    with pytest.raises(TypeError, match="param_group must be a dict, but got <class 'int'>"):
        optim.SGD([{"params": p}, 3])
    with pytest.raises(ValueError, match="some parameters appear in more than one"):
        optim.SGD([{"params": p}, {"params": p}])
    with pytest.warns(UserWarning, match="a parameter group with duplicate parameters"):
        optim.SGD([p, p])
    retained = p * 2
    retained.retain_grad()
    assert optim.SGD([retained]).param_groups[0]["params"] == [retained]


def test_lbfgs_has_one_group_and_one_line_search():
    p, q = leaf(1.0), leaf(2.0)
    with pytest.raises(ValueError, match="LBFGS doesn't support per-parameter options"):
        optim.LBFGS([{"params": p}, {"params": q}])
    optimizer = optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optimizer.step(closure_of(optimizer, p))
    optimizer.add_param_group({"params": q})
    with pytest.raises(AssertionError, match="Expected exactly one param_group, but got 2"):
        optimizer.step(closure_of(optimizer, p))


@pytest.mark.parametrize(
    ("search", "start"), [(None, [1.1, 1.1]), ("strong_wolfe", [-1.2, 1.0]), (None, [1.0, 0.9])]
)
def test_lbfgs_finds_the_minimum_of_rosenbrocks_function(search, start):
    p = leaf(*start)
    lr = 0.5 if search is None else 1
    optimizer = optim.LBFGS([p], lr, max_iter=200, line_search_fn=search, tolerance_change=0)

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(p.tolist(), [1, 1], atol=1e-8)


def test_lbfgs_stops_at_a_gradient_of_zero_and_ignores_parameters_without_one():
    p, q = leaf(0.0), leaf(1.0)
    optimizer = optim.LBFGS([p, q])
    optimizer.step(closure_of(optimizer, p))
    assert optimizer.state[p] == {"func_evals": 1, "n_iter": 0}
    assert (p.item(), q.item()) == (0, 1)


@pytest.mark.parametrize("name", [*ALL, "LBFGS"])
def test_a_loaded_optimizer_continues_where_the_saved_one_was(name):
    def run(p, optimizer, steps):
        for _ in range(steps):
            optimizer.step(closure_of(optimizer, p))
        return p.tolist()

    options = ALL.get(name, {"lr": 0.1, "max_iter": 2})
    p = leaf(1.0, 2.0)
    optimizer = getattr(optim, name)([p], **options)
    run(p, optimizer, 3)
    q = leaf(*p.tolist())
    other = getattr(optim, name)([q])
    other.load_state_dict(optimizer.state_dict())
    copied = copy.deepcopy((p, optimizer))
    unpickled = pickle.loads(pickle.dumps((p, optimizer)))
    expected = run(p, optimizer, 3)
    assert run(q, other, 3) == expected
    assert run(*copied, 3) == expected
    assert run(*unpickled, 3) == expected
    assert repr(other) == repr(optimizer)


def test_saved_parameters_are_numbered_through_the_groups():
    p, q, r = leaf(1.0), leaf(2.0), leaf(3.0)
    optimizer = optim.Adam([{"params": [p, q]}, {"params": r, "lr": 0.5}])
    optimizer.step(closure_of(optimizer, q, r))
    saved = optimizer.state_dict()
    assert [group["params"] for group in saved["param_groups"]] == [[0, 1], [2]]
    assert list(saved["state"]) == [1, 2]
    assert saved["state"][2]["exp_avg"] is optimizer.state[r]["exp_avg"]


def test_loaded_state_is_a_copy_in_the_dtype_of_the_parameter():
    p, q = leaf(1.0), leaf(1.0, dtype=np.float32)
    optimizer = optim.Adam([("p", p)])
    optimizer.step(closure_of(optimizer, p))
    saved = optimizer.state_dict()
    saved["state"]["note"] = ["kept"]
    del saved["param_groups"][0]["param_names"]
    other = optim.Adam([("q", q)])
    other.load_state_dict(saved)
    assert other.state[q]["exp_avg"].dtype == dynamic.float32
    assert other.state[q]["step"] is not optimizer.state[p]["step"]
    assert other.state["note"] == ["kept"]
    assert other.param_groups[0]["param_names"] == ["q"]
    assert other.param_groups[0]["params"] == [q]


def test_a_state_of_another_structure_is_refused():
    optimizer = optim.SGD([leaf(1.0)])
    with pytest.raises(ValueError, match="a different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_hooks_run_around_a_step_in_order():
    p = leaf(1.0)
    optimizer = optim.SGD([p], lr=0.25)
    seen = []

    def note(name):
        return lambda one, args, kwargs: seen.append((name, args[0] is one is optimizer, p.item()))

    with (
        register_optimizer_step_pre_hook(note("any before")),
        register_optimizer_step_post_hook(note("any after")),
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
    ):
        optimizer.step(closure_of(optimizer, p))
    assert seen == [
        ("any before", True, 1), ("before", True, 1), ("after", True, 0.5),
        ("any after", True, 0.5),
    ]  # fmt: skip
    optimizer.step()
    assert len(seen) == 4


def test_a_hook_may_replace_the_arguments_of_a_step():
    p = leaf(1.0)
    optimizer = optim.SGD([p])
    handle = optimizer.register_step_pre_hook(lambda one, args, kwargs: ((one, lambda: 7), {}))
    assert optimizer.step() == 7
    handle.remove()
    handle.remove()
    assert optimizer.step() is None
    optimizer.register_step_pre_hook(lambda one, args, kwargs: 5)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple .* but got 5"):
        optimizer.step()


def test_hooks_of_a_subclass_with_a_step_of_its_own():
    class Sign(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        def step(self):
            with dynamic.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.sub_(group["lr"])

    p, seen = leaf(1.0), []
    optimizer = Sign([p])
    optimizer.register_step_post_hook(lambda *_: seen.append(p.item()))
    optimizer.step()
    assert seen == [0.5]
    p.grad = dynamic.tensor(np.array([1.0]))
    with pytest.raises(NotImplementedError, match="Optimizer: neither step nor _update"):
        optim.Optimizer([p], {}).step()


def test_hooks_of_saving_and_loading():
    p, seen = leaf(1.0), []
    optimizer = optim.SGD([p])
    optimizer.register_state_dict_pre_hook(lambda one: seen.append("save"))
    optimizer.register_state_dict_pre_hook(lambda one: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda one, saved: {**saved, "note": 1})
    saved = optimizer.state_dict()
    assert seen == ["first", "save"] and saved["note"] == 1

    def faster(one, loaded):
        return {**loaded, "param_groups": [{**loaded["param_groups"][0], "lr": 9}]}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda one: seen.append(one.param_groups[0]["lr"]))
    optimizer.load_state_dict(saved)
    assert seen[-1] == 9 and saved["param_groups"][0]["lr"] == 1e-3


def test_a_handle_does_not_keep_its_optimizer():
    optimizer = optim.SGD([leaf(1.0)])
    handle = optimizer.register_step_pre_hook(print)
    held = weakref.ref(optimizer)
    del optimizer
    gc.collect()
    assert held() is None
    handle.remove()


def test_the_printed_form_names_each_group():
    groups = [{"params": leaf(1.0)}, {"params": leaf(1.0), "lr": 1}]
    text = repr(optim.LBFGS(groups[:1]))
    assert text.startswith("LBFGS (\nParameter Group 0\n    history_size: 100\n")
    assert repr(optim.SGD(groups)).count("Parameter Group") == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": -1}, "Learning rate should be >= 0 but is: -1"),
        ({"beta2_decay": 1}, "beta2_decay should be <= 0 but is: 1"),
        ({"eps": (-1, 1e-3)}, "epsilon1 should be >= 0 but is: -1"),
        ({"eps": (None, -1)}, "epsilon2 should be >= 0 but is: -1"),
        ({"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ({"weight_decay": -1}, "weight_decay should be >= 0 but is: -1"),
        ({"lr": dynamic.ones(2)}, "Tensor lr must be 1-element"),
    ],
)
def test_options_of_adafactor_out_of_range_are_refused(options, text):
    with pytest.raises(ValueError) as raised:
        optim.Adafactor([dynamic.ones(1, requires_grad=True)], **options)
    assert str(raised.value) == text
