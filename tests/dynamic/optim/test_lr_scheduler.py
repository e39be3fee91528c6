"""Schedulers against PyTorch's, recorded in `tests/data`; saving, warnings and errors."""

import copy
import json
import warnings

import numpy as np
import pytest

import dynamic
from staticgraph.dynamic.optim import SGD, Adagrad, Adam, lr_scheduler
from staticgraph.dynamic.optim.lr_scheduler import decay
from tests.data.optim_cases import EPOCHS, SCHEDULERS, metric, schedule
from tests.paths import TESTS

RECORDED = np.load(TESTS / "data" / "optim_trajectories.npz")
FACTS = json.loads(str(RECORDED["facts"]))["schedulers"]
NAMES = list(SCHEDULERS)


def optimizer_of(groups=1, make=SGD, **options):
    leaves = [dynamic.tensor([1.0], requires_grad=True) for _ in range(groups)]
    return make([{"params": [leaf]} for leaf in leaves], **{"lr": 0.5, **options})


def step(scheduler, epoch):
    scheduler.optimizer.step()
    plateau = isinstance(scheduler, lr_scheduler.ReduceLROnPlateau)
    scheduler.step(*([metric(epoch)] if plateau else []))
    return scheduler.get_last_lr()


@pytest.mark.parametrize("name", NAMES)
def test_rates_and_momenta_follow_pytorch_to_rounding(name):
    path, scheduler = schedule(dynamic, name)
    expected = RECORDED["rates"][NAMES.index(name)]
    np.testing.assert_allclose(path, expected, rtol=1e-12, atol=1e-15)
    assert scheduler.get_last_lr() == path[-1, :, 0].tolist()
    assert sorted(scheduler.state_dict()) == FACTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_scheduler_continues_where_the_saved_one_was(name):
    optimizer = optimizer_of(2, momentum=0.9)
    scheduler = SCHEDULERS[name](lr_scheduler, optimizer)
    for epoch in range(11):
        step(scheduler, epoch)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    other = SCHEDULERS[name](lr_scheduler, optimizer_of(2, momentum=0.9))
    other.optimizer.load_state_dict(saved[0])
    other.load_state_dict(saved[1])
    for epoch in range(11, EPOCHS):
        assert step(other, epoch) == step(scheduler, epoch)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if "LR" in name and not name.startswith(("Reduce", "Seq")) and "resumed" not in name
    ],
)
def test_an_epoch_by_number_gives_the_rate_of_that_epoch(name):
    path, _ = schedule(dynamic, name)
    optimizer = optimizer_of(2, momentum=0.9)
    optimizer.param_groups[0]["lr"], optimizer.param_groups[1]["lr"] = 0.2, 0.3
    scheduler = SCHEDULERS[name](lr_scheduler, optimizer)
    optimizer.step()
    for epoch in (3, 19):
        if name == "MultiplicativeLR":  # it has no closed form: the factor is applied once
            expected = np.array(scheduler.get_last_lr()) * (1 - 1 / (epoch + 1))
        else:
            expected = path[epoch, :, 0]
        with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
            scheduler.step(epoch)
        np.testing.assert_allclose(scheduler.get_last_lr(), expected, atol=1e-15)


def test_warm_restarts_take_fractions_of_epochs():
    for growth, epoch, expected in ((1, 2.5, 0.5), (1, 7.5, 0.5), (2, 10.0, 0.5), (2, 0.0, 1.0)):
        scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(lr=1.0), 5, growth)
        scheduler.step(epoch)
        assert scheduler.get_last_lr() == pytest.approx([expected])
    with pytest.raises(ValueError, match="Expected non-negative epoch, but got -1"):
        scheduler.step(-1)


def test_what_others_do_to_the_rate_is_kept():
    scheduler = lr_scheduler.ExponentialLR(optimizer_of(), 0.5)
    scheduler.optimizer.param_groups[0]["lr"] = 8.0
    assert step(scheduler, 0) == [4]


def test_the_rate_may_be_a_tensor_which_is_changed_in_place():
    lr = dynamic.tensor(0.5, dtype=dynamic.float64)
    for make in (
        lambda o: lr_scheduler.StepLR(o, 1),
        lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.1**epoch),
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2, eta_min=-0.4),
    ):
        lr.fill_(0.5)
        optimizer = optimizer_of(lr=lr)
        scheduler = make(optimizer)
        first = scheduler.get_last_lr()[0]
        step(scheduler, 0)
        assert optimizer.param_groups[0]["lr"] is lr
        assert lr.item() == pytest.approx(0.05)
        assert first.item() == 0.5


def test_lambdas_that_are_objects_are_saved():
    class Power:
        def __init__(self, base):
            self.base = base

        def __call__(self, epoch):
            return self.base**epoch

    for make in (lr_scheduler.LambdaLR, lr_scheduler.MultiplicativeLR):
        scheduler = make(optimizer_of(), Power(0.5))
        saved = scheduler.state_dict()
        assert saved["lr_lambdas"] == [{"base": 0.5}]
        other = make(optimizer_of(), Power(0.1))
        other.load_state_dict(saved)
        assert other.lr_lambdas[0].base == 0.5
    cyclic = lr_scheduler.CyclicLR(
        optimizer_of(), 0.1, 0.2, scale_fn=Power(0.5), cycle_momentum=False
    )
    other = lr_scheduler.CyclicLR(
        optimizer_of(), 0.1, 0.2, scale_fn=Power(0.1), cycle_momentum=False
    )
    other.load_state_dict(cyclic.state_dict())
    assert other.scale_fn(2) == 0.25


@pytest.mark.parametrize("name", ["OneCycleLR", "CyclicLR"])
def test_the_first_of_the_betas_is_a_momentum(name):
    optimizer = optimizer_of(2, Adam)
    scheduler = SCHEDULERS[name](lr_scheduler, optimizer)
    expected = RECORDED["rates"][NAMES.index(name)][:, 0, 1]
    for epoch in range(EPOCHS):
        first, second = optimizer.param_groups[0]["betas"]
        assert (first, second) == (pytest.approx(expected[epoch]), 0.999)
        step(scheduler, epoch)


def test_a_step_before_that_of_the_optimizer_warns_once():
    optimizer = optimizer_of()
    optimizer.step()  # before the scheduler was attached: does not count
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler\.step\(\)` before"):
        scheduler.step()
    scheduler.step()
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lr_scheduler.StepLR(optimizer, 3).step()


def test_a_replaced_step_warns():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer\.step\(\)` has been overridden after"):
        scheduler.step()


def test_get_lr_is_for_step_to_call():
    scheduler = lr_scheduler.ExponentialLR(optimizer_of(), 0.5)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        assert scheduler.get_lr() == [0.25]


def test_a_subclass_defines_get_lr():
    class Halved(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    scheduler = Halved(optimizer_of())
    assert step(scheduler, 0) == [0.25]
    with pytest.raises(NotImplementedError, match="LRScheduler: get_lr is not defined"):
        lr_scheduler.LRScheduler(optimizer_of())


def test_a_factor_is_defined_by_a_subclass():
    class Halved(decay.FactorLR):
        def _factor(self):
            return 0.5

    with pytest.raises(NotImplementedError, match="FactorLR: _factor is not defined"):
        decay.FactorLR(optimizer_of())
    scheduler = Halved(optimizer_of())
    assert step(scheduler, 0) == [0.125]
    with (
        pytest.warns(UserWarning, match="The epoch parameter"),
        pytest.raises(NotImplementedError, match="Halved: _total is not defined"),
    ):
        scheduler.step(3)


def test_a_plateau_follows_groups_that_are_added():
    extra = {"params": [dynamic.tensor([1.0], requires_grad=True)]}
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer_of(), patience=0, min_lr=0.1)
    bounded = lr_scheduler.ReduceLROnPlateau(optimizer_of(), patience=0, min_lr=[0.1])
    for one in (scheduler, bounded):
        one.optimizer.add_param_group(dict(extra))
        one.step(dynamic.tensor(1.0))
    scheduler.step(2.0)
    assert scheduler.get_last_lr() == [0.1, 0.1]
    with pytest.raises(RuntimeError, match=r"groups in the `optimizer` \(2\) differs .* \(1\)"):
        bounded.step(2.0)
    with pytest.warns(UserWarning, match="The epoch parameter"):
        scheduler.step(2.0, epoch=7)
    assert scheduler.last_epoch == 7


def _two(o):
    return [lr_scheduler.StepLR(o, 1), lr_scheduler.StepLR(o, 2)]


ERRORS = [
    (TypeError, "int is not an Optimizer", lambda s, o: s.StepLR(3, 1)),
    (TypeError, "int is not an Optimizer", lambda s, o: s.ReduceLROnPlateau(3)),
    (TypeError, "int is not an Optimizer", lambda s, o: s.CyclicLR(3, 0.1, 0.2)),
    (TypeError, "int is not an Optimizer", lambda s, o: s.OneCycleLR(3, 0.1, 9)),
    (
        KeyError, r"param 'initial_lr' is not specified in param_groups\[0\]",
        lambda s, o: s.StepLR(o, 1, last_epoch=3),
    ),
    (ValueError, "Expected 2 lr_lambdas, but got 1", lambda s, o: s.LambdaLR(o, [abs])),
    (ValueError, "Expected 2 lr_lambdas, but got 1", lambda s, o: s.MultiplicativeLR(o, [abs])),
    (
        TypeError, "lr_lambda should be a function, but got int",
        lambda s, o: s.MultiplicativeLR(o, [1, 2]),
    ),
    (
        ValueError, "Constant multiplicative factor expected to be between 0 and 1",
        lambda s, o: s.ConstantLR(o, 1.1),
    ),
    (
        ValueError, "Starting multiplicative factor expected to be greater than 0",
        lambda s, o: s.LinearLR(o, 0.0),
    ),
    (
        ValueError, "Ending multiplicative factor expected to be between 0 and 1",
        lambda s, o: s.LinearLR(o, 0.5, 1.1),
    ),
    (
        ValueError, "Expected positive integer T_0, but got 0",
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    ),
    (
        ValueError, "Expected integer T_mult >= 1, but got 1.5",
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1.5),
    ),
    (
        ValueError, "Expected float or int eta_min, but got 0 of type <class 'str'>",
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "0"),
    ),
    (ValueError, "You must define either total_steps OR", lambda s, o: s.OneCycleLR(o, 1.0)),
    (
        ValueError, "Expected positive integer total_steps, but got 0",
        lambda s, o: s.OneCycleLR(o, 1.0, 0),
    ),
    (
        ValueError, "Expected positive integer epochs, but got -1",
        lambda s, o: s.OneCycleLR(o, 1.0, epochs=-1, steps_per_epoch=2),
    ),
    (
        ValueError, "Expected positive integer steps_per_epoch, but got 2.5",
        lambda s, o: s.OneCycleLR(o, 1.0, epochs=1, steps_per_epoch=2.5),
    ),
    (
        ValueError, "Expected float between 0 and 1 pct_start, but got 2",
        lambda s, o: s.OneCycleLR(o, 1.0, 9, pct_start=2),
    ),
    (
        ValueError, "anneal_strategy must be one of 'cos' or 'linear', instead got sin",
        lambda s, o: s.OneCycleLR(o, 1.0, 9, anneal_strategy="sin"),
    ),
    (
        ValueError, "max_lr must have the same length as optimizer.param_groups. max_lr has 3",
        lambda s, o: s.OneCycleLR(o, [1.0, 1.0, 1.0], 9),
    ),
    (
        ValueError, "mode is invalid and scale_fn is None",
        lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    ),
    (
        ValueError, "optimizer must support momentum or beta1 with `cycle_momentum`",
        lambda s, o: s.CyclicLR(optimizer_of(make=Adagrad), 0.1, 0.2),
    ),
    (
        ValueError, "optimizer must support momentum or beta1 with `cycle_momentum`",
        lambda s, o: s.OneCycleLR(optimizer_of(make=Adagrad), 0.1, 5),
    ),
    (ValueError, r"Factor should be < 1\.0", lambda s, o: s.ReduceLROnPlateau(o, factor=1.0)),
    (ValueError, "mode low is unknown!", lambda s, o: s.ReduceLROnPlateau(o, "low")),
    (
        ValueError, "threshold mode near is unknown!",
        lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="near"),
    ),
    (ValueError, "expected 2 min_lrs, got 1", lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1])),
    (
        ValueError, "SequentialLR expects at least one scheduler, but got no scheduler",
        lambda s, o: s.SequentialLR(o, [], []),
    ),
    (
        ValueError, "number of schedulers 2 and the number of milestones to be equal to 2",
        lambda s, o: s.SequentialLR(o, _two(o), [1, 2]),
    ),
    (
        ValueError, "all schedulers to belong to the same optimizer, .* StepLR at index 0",
        lambda s, o: s.SequentialLR(optimizer_of(), _two(o), [1]),
    ),
    (
        ValueError, "SequentialLR does not support `ReduceLROnPlateau` .* at index 0",
        lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    ),
    (
        ValueError, "ChainedScheduler expects at least one scheduler to be chained",
        lambda s, o: s.ChainedScheduler([]),
    ),
    (
        TypeError, "ChainedScheduler at index 0 should have `optimizer` as its attribute",
        lambda s, o: s.ChainedScheduler([3]),
    ),
    (
        ValueError, "all schedulers to belong to the same optimizer, .* StepLR at index 1",
        lambda s, o: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(optimizer_of(), 1)]),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "make"), ERRORS)
def test_errors_are_those_of_pytorch(kind, text, make):
    with pytest.raises(kind, match=text):
        make(lr_scheduler, optimizer_of(2))


def test_one_cycle_ends():
    scheduler = lr_scheduler.OneCycleLR(optimizer_of(momentum=0.9), 1.0, 3)
    for epoch in range(3):
        step(scheduler, epoch)
    with pytest.raises(ValueError, match=r"Tried to step 4 times\. .* total steps is 3"):
        scheduler.step()
