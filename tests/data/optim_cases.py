"""What optimizers and schedulers are compared on; `torch` is PyTorch, or dynamic in its place."""

from __future__ import annotations

import numpy as np

STEPS = (1, 2, 3, 5, 10, 20, 50, 100)
EPOCHS = 40
WOLFE = {"line_search_fn": "strong_wolfe"}

OPTIMIZERS = (
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "nesterov": True}),
    ("SGD", {"lr": 0.001, "maximize": True}),
    ("SGD", {"lr": 0.001, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.02}),
    ("Adam", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3}),
    ("Adam", {"lr": 0.02, "amsgrad": True}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("AdamW", {"lr": 0.02}),
    ("AdamW", {"lr": 0.02, "weight_decay": 0.3, "amsgrad": True}),
    ("AdamW", {"lr": 0.01, "maximize": True}),
    ("NAdam", {"lr": 0.02}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("NAdam", {"lr": 0.01, "betas": (0.8, 0.95), "maximize": True}),
    ("RAdam", {"lr": 0.02}),
    ("RAdam", {"lr": 0.02, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.02, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "eps": 1e-3, "centered": True}),
    ("RMSprop", {"lr": 0.005, "momentum": 0.8}),
    ("RMSprop", {"lr": 0.005, "momentum": 0.8, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.005, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adagrad", {"lr": 0.1, "weight_decay": 0.1, "eps": 1e-2}),
    ("Adagrad", {"lr": 0.05, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.01, "beta2_decay": -0.5, "eps": (1e-6, 1e-2), "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "d": 2.0, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}),
    ("Adadelta", {"maximize": True}),
    ("Adamax", {"lr": 0.02}),
    ("Adamax", {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-2, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.01, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2)}),
    ("Rprop", {"maximize": True, "step_sizes": (1e-6, 0.02)}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 15, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.001, "maximize": True, "t0": 50}),
    ("LBFGS", {"lr": 0.1, "max_iter": 1}),
    ("LBFGS", {"lr": 0.05, "max_iter": 3, "history_size": 2}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4, "tolerance_change": 1e-3}),
    ("LBFGS", {"lr": 0.1, "max_iter": 4, "tolerance_grad": 1e-2}),
    ("LBFGS", {"max_iter": 2, "history_size": 3, "tolerance_grad": 1e-5, **WOLFE}),
    ("LBFGS", {"lr": 0.01, "max_iter": 1, "max_eval": 4, "tolerance_grad": 1e-5, **WOLFE}),
    ("LBFGS", {"lr": 0.1, "max_iter": 1, "max_eval": 4, "tolerance_grad": 1e-3, **WOLFE}),
    ("LBFGS", {"lr": 5, "max_iter": 2, **WOLFE}),
    ("LBFGS", {"lr": 30, "max_iter": 2, **WOLFE}),
)


def _resumed(optimizer):
    for group in optimizer.param_groups:
        group["initial_lr"] = 0.5
    return optimizer


SCHEDULERS = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR of each": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 0.9**e]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1 - 1 / (epoch + 1)),
    "StepLR": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 10, 10, 25], gamma=0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, factor=0.4, total_iters=8),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.8, total_iters=12),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=20, power=2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 9, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5),
    "CosineAnnealingWarmRestarts of growing length": lambda s, o: (
        s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.01)
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.5, 0.1], total_steps=EPOCHS + 1),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=11, steps_per_epoch=4, anneal_strategy="linear", div_factor=10.0
    ),
    "OneCycleLR of three phases": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=50, three_phase=True, pct_start=0.25, cycle_momentum=False
    ),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.5, step_size_up=6, step_size_down=3),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(
        o, [0.01, 0.02], [0.5, 0.3], step_size_up=5, mode="triangular2", cycle_momentum=False
    ),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, step_size_up=4, mode="exp_range", gamma=0.95
    ),
    "CyclicLR of a function": lambda s, o: s.CyclicLR(
        o, 0.01, 0.5, step_size_up=4, scale_fn=lambda x: 1 / x, scale_mode="cycle"
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2),
    "ReduceLROnPlateau bounded": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.3, patience=1, threshold=0.05, threshold_mode="abs", cooldown=2,
        min_lr=[0.01, 0.02],
    ),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.7, patience=3, eps=1e-3),
    "ReduceLROnPlateau abs": lambda s, o: s.ReduceLROnPlateau(
        o, factor=0.6, patience=1, threshold=0.1, threshold_mode="abs"
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)], [5, 20]
    ),
    "SequentialLR of cosines": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 100), s.CosineAnnealingLR(o, 10)], [4]
    ),
    "LambdaLR resumed": lambda s, o: s.LambdaLR(_resumed(o), lambda epoch: 0.95**epoch, 4),
    "MultiplicativeLR resumed": lambda s, o: s.MultiplicativeLR(_resumed(o), lambda e: 0.9, 4),
    "StepLR resumed": lambda s, o: s.StepLR(_resumed(o), 3, last_epoch=4),
    "MultiStepLR resumed": lambda s, o: s.MultiStepLR(_resumed(o), [5, 7, 9], last_epoch=4),
    "ConstantLR resumed": lambda s, o: s.ConstantLR(_resumed(o), 0.4, 7, last_epoch=4),
    "LinearLR resumed": lambda s, o: s.LinearLR(_resumed(o), 0.2, 0.8, 9, last_epoch=4),
    "ExponentialLR resumed": lambda s, o: s.ExponentialLR(_resumed(o), 0.9, last_epoch=4),
    "PolynomialLR resumed": lambda s, o: s.PolynomialLR(_resumed(o), 20, 2.0, last_epoch=4),
    "CosineAnnealingLR resumed": lambda s, o: s.CosineAnnealingLR(_resumed(o), 9, last_epoch=4),
    "CosineAnnealingWarmRestarts resumed": lambda s, o: (
        s.CosineAnnealingWarmRestarts(_resumed(o), 5, last_epoch=4)
    ),
    "CyclicLR resumed": lambda s, o: s.CyclicLR(_resumed(o), 0.1, 0.5, 6, last_epoch=4),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.LinearLR(o, 0.5, total_iters=4), s.ExponentialLR(o, 0.95), s.CosineAnnealingLR(o, 15)]
    ),
}  # fmt: skip
"""Name -> the scheduler, given the module of schedulers and an optimizer with two groups."""


def parameters(dtype):
    """A matrix, a vector and a number, as ndarrays."""
    return (
        (np.sin(np.arange(12.0)).reshape(3, 4) * 0.7).astype(dtype),
        np.array([0.3, -0.2, 0.1]).astype(dtype),
        np.array(0.5).astype(dtype),
    )


def points(dtype):
    """10 points that a tanh layer nearly made: inputs and outputs, as ndarrays."""
    x = np.cos(np.arange(40.0) ** 1.1).reshape(10, 4)
    noise = 0.05 * np.sin(np.arange(30.0) * 1.7).reshape(10, 3)
    y = 0.9 * np.tanh(x @ np.cos(np.arange(12.0)).reshape(4, 3) - 0.2) + noise
    return x.astype(dtype), y.astype(dtype)


def ridge_regression(torch, x, y, weight, bias, rate, ridge):
    """The loss of a tanh layer with a decay on points; `torch` may be staticgraph too."""
    residual = torch.tanh(x @ weight.T + bias) * torch.exp(-rate * rate) - y
    square = (weight * weight).sum() + (bias * bias).sum() + rate * rate
    return (residual * residual).mean() + ridge * square


def loss(torch, weight, bias, rate, ridge):
    """The same of leaves, which are tensors."""
    x, y = (torch.tensor(one) for one in points(weight.detach().numpy().dtype))
    return ridge_regression(torch, x, y, weight, bias, rate, ridge)


def trajectory(torch, name, options, dtype):
    """The parameters after each of STEPS, flat, and the optimizer that made them."""
    leaves = [torch.tensor(one, requires_grad=True) for one in parameters(dtype)]
    optimizer = getattr(torch.optim, name)(leaves, **options)
    # a quasi-Newton method magnifies rounding unless the problem is well conditioned; the others
    # do so at the minimum, which the ridge would let them reach
    ridge = 0.02 if name == "LBFGS" else 0.0

    def closure():
        optimizer.zero_grad()
        value = loss(torch, *leaves, ridge)
        value.backward()
        return value

    rows = []
    for step in range(1, max(STEPS) + 1):
        optimizer.step(closure)
        if step in STEPS:
            rows.append(np.concatenate([leaf.detach().numpy().reshape(-1) for leaf in leaves]))
    return np.array(rows), optimizer


def metric(epoch):
    """What ReduceLROnPlateau watches: falling, then on a plateau, then rising and falling."""
    return 1 / (1 + epoch) if epoch < 8 else 0.125 + 0.2 * np.sin(epoch / 4) ** 2


def schedule(torch, name):
    """(1 + EPOCHS, 2 groups, 2): the rates and the momenta; and the scheduler."""
    groups = [
        {"params": [torch.tensor([1.0], requires_grad=True)]},
        {"params": [torch.tensor([2.0], requires_grad=True)], "lr": 0.3, "momentum": 0.7},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.2, momentum=0.9)
    scheduler = SCHEDULERS[name](torch.optim.lr_scheduler, optimizer)
    rows = [[(group["lr"], group["momentum"]) for group in optimizer.param_groups]]
    for epoch in range(EPOCHS):
        optimizer.step()
        scheduler.step(*([metric(epoch)] if name.startswith("Reduce") else []))
        rows.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
    return np.array(rows), scheduler
