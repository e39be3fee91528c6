"""Settings of the eager engine, and what tells tensors apart beside their values."""

from __future__ import annotations

import random
import sys
import types
from typing import Any

import numpy as np

from .trap import TENSORS, trap


def _module(**values: Any) -> Any:
    made = types.ModuleType("settings_of_a_trap")
    vars(made).update(values)
    sys.modules[made.__name__] = made
    return made


@trap()
def an_attribute_of_a_module_by_a_computed_name(t: Any) -> Any:
    module, key = _module(SCALE=2.0), "".join(["SC", "ALE"])
    f = t.capture(lambda x: x * getattr(module, key))
    yield f(t.x)
    module.SCALE = 3.0
    yield f(t.x)


@trap()
def the_table_of_a_module_by_a_computed_name(t: Any) -> Any:
    module, key = _module(SCALE=2.0), "".join(["SC", "ALE"])
    f = t.capture(lambda x: x * vars(module)[key])
    yield f(t.x)
    module.SCALE = 3.0
    yield f(t.x)


@trap()
def a_list_of_a_module_by_a_computed_name(t: Any) -> Any:
    module, key = _module(VALUES=[2.0]), "".join(["VAL", "UES"])
    f = t.capture(lambda x: x * sum(module.__dict__[key]))
    yield f(t.x)
    module.VALUES.append(3.0)
    yield f(t.x)


@trap()
def an_attribute_of_a_class_by_a_computed_name(t: Any) -> Any:
    class Table:
        SCALE = 2.0

    key = "".join(["SC", "ALE"])
    f = t.capture(lambda x: x * getattr(Table, key))
    yield f(t.x)
    Table.SCALE = 3.0
    yield f(t.x)


@trap()
def globals_of_a_function_by_a_computed_name(t: Any) -> Any:
    module, key = _module(SCALE=2.0), "".join(["SC", "ALE"])
    exec("def helper(x):\n    return x", vars(module))
    helper = module.helper
    f = t.capture(lambda x: x * helper.__globals__[key])
    yield f(t.x)
    module.SCALE = 3.0
    yield f(t.x)


@trap()
def a_date_of_numpy_of_now(t: Any) -> Any:
    f = t.capture(lambda x: x + (np.datetime64("now", "us") - np.datetime64(0, "us")).astype(int))
    yield (f(t.x) == f(t.x)).all()


@trap()
def a_generator_of_random_without_a_seed(t: Any) -> Any:
    f = t.capture(lambda x: x + random.Random().random())
    yield (f(t.x) == f(t.x)).all()


@trap()
def a_generator_of_numpy_without_a_seed(t: Any) -> Any:
    f = t.capture(lambda x: x + float(np.random.default_rng().random()))
    yield (f(t.x) == f(t.x)).all()


@trap()
def an_entropy_of_numpy(t: Any) -> Any:
    f = t.capture(lambda x: x + np.random.SeedSequence().entropy % 1000 / 1000)
    yield (f(t.x) == f(t.x)).all()


@trap()
def a_generator_of_the_system(t: Any) -> Any:
    f = t.capture(lambda x: x + random.SystemRandom().random())
    yield (f(t.x) == f(t.x)).all()


@trap()
def a_generator_of_numpy_with_a_seed(t: Any) -> Any:
    seed = [1]
    f = t.capture(lambda x: x + float(np.random.default_rng(seed[0]).random()))
    yield f(t.x), f(t.x)
    seed[0] = 2
    yield f(t.x)


@trap(*TENSORS)
def the_number_of_threads(t: Any) -> Any:
    before = t.xp.get_num_threads()
    f = t.capture(lambda x: x * t.xp.get_num_threads())
    yield f(t.x)
    t.xp.set_num_threads(before + 1)
    try:
        yield f(t.x)
    finally:
        t.xp.set_num_threads(before)


@trap(*TENSORS)
def the_seed_that_was_set(t: Any) -> Any:
    t.xp.manual_seed(3)
    f = t.capture(lambda x: x + t.xp.initial_seed())
    yield f(t.x)
    t.xp.manual_seed(4)
    yield f(t.x)


@trap(*TENSORS)
def the_state_of_random_numbers(t: Any) -> Any:
    def f(x: Any) -> Any:
        state = t.xp.get_rng_state()
        a = t.xp.rand(3)
        t.xp.set_rng_state(state)
        return a - t.xp.rand(3) + x

    g = t.capture(f)
    t.xp.manual_seed(1)
    yield g(t.x)
    yield g(t.x)


@trap(*TENSORS)
def whether_autocast_is_on(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if t.xp.is_autocast_enabled("cpu") else x)
    yield f(t.x)
    with t.xp.autocast("cpu", dtype=t.xp.bfloat16):
        yield f(t.x)


@trap(*TENSORS)
def whether_it_is_inference(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if t.xp.is_inference_mode_enabled() else x)
    yield f(t.x)
    with t.xp.inference_mode():
        yield f(t.x)


@trap(*TENSORS)
def whether_a_result_requires_grad(t: Any) -> Any:
    w = t.xp.ones(3)
    f = t.capture(lambda x: x * 2 if (x * w).requires_grad else x)
    yield f(t.x)
    w.requires_grad_(True)
    yield f(t.x).detach()
    with t.xp.no_grad():
        yield f(t.x)


@trap(*TENSORS)
def whether_it_is_a_leaf(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.is_leaf else x)
    x = t.x.requires_grad_()
    yield f(x).detach()
    yield f(x * 1).detach()


@trap(*TENSORS)
def whether_there_is_a_gradient(t: Any) -> Any:
    w = t.xp.ones(3).requires_grad_()
    f = t.capture(lambda x: x * w.grad if w.grad is not None else x)
    yield f(t.x)
    w.grad = 2 * t.xp.ones(3)
    yield f(t.x)
    w.grad.fill_(5.0)
    yield f(t.x)
    w.grad = None
    yield f(t.x)


@trap(*TENSORS)
def the_history_of_an_argument(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.grad_fn is None else x)
    x = t.x.requires_grad_()
    yield f(x).detach()
    yield f(x * 1).detach()


@trap(*TENSORS)
def the_version_of_a_tensor(t: Any) -> Any:
    w = t.xp.ones(3)
    f = t.capture(lambda x: x * w._version)
    yield f(t.x)
    w.add_(1)
    yield f(t.x)


@trap(*TENSORS)
def the_steps_in_memory(t: Any) -> Any:
    f = t.capture(lambda x: x * x.stride()[0])
    yield f(t.x)
    yield f(t.xp.arange(6.0)[::2])


@trap(*TENSORS)
def the_offset_in_memory(t: Any) -> Any:
    f = t.capture(lambda x: x * x.storage_offset())
    yield f(t.x)
    yield f(t.xp.arange(4.0)[1:])


@trap(*TENSORS)
def the_bytes_of_an_element(t: Any) -> Any:
    f = t.capture(lambda x: x * x.element_size())
    yield f(t.x)
    yield f(t.x.double())


@trap(*TENSORS)
def the_storage_of_a_tensor(t: Any) -> Any:
    f = t.capture(lambda x: x * len(x.untyped_storage()))
    yield f(t.x)
    yield f(t.xp.arange(6.0)[:3])


@trap(*TENSORS)
def the_type_of_a_tensor(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.type().endswith("DoubleTensor") else x)
    yield f(t.x)
    yield f(t.x.double())


@trap(*TENSORS)
def whether_it_is_floating(t: Any) -> Any:
    f = t.capture(lambda x: x / 2 if x.is_floating_point() else x)
    yield f(t.x)
    yield f(t.x.long())


@trap(*TENSORS)
def the_number_of_elements(t: Any) -> Any:
    f = t.capture(lambda x: x.sum() / x.numel() + x.size(0) + x.nelement())
    yield f(t.x)
    yield f(t.x[:2])
    yield f(t.x.repeat(2))


@trap(*TENSORS)
def whether_two_are_one(t: Any) -> Any:
    f = t.capture(lambda x, y: x * 2 if x is y else x + y)
    x = t.x
    yield f(x, x)
    yield f(x, t.x)
    yield f(t.x, x)


@trap(*TENSORS)
def the_name_of_a_dtype(t: Any) -> Any:
    table = {"torch.float32": 2.0, "torch.float64": 3.0}
    f = t.capture(lambda x: x * table[str(x.dtype)])
    yield f(t.x)
    yield f(t.x.double())
    table["torch.float32"] = 9.0
    yield f(t.x)


@trap(*TENSORS)
def the_limits_of_a_dtype(t: Any) -> Any:
    f = t.capture(lambda x: x * t.xp.finfo(x.dtype).eps * 1e7)
    yield f(t.x)
    yield f(t.x.double())


@trap(*TENSORS)
def a_check_of_anomalies(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if t.xp.is_anomaly_enabled() else x)
    yield f(t.x)
    with t.xp.autograd.detect_anomaly(check_nan=False):
        yield f(t.x)


@trap(*TENSORS)
def a_parameter_becomes_a_buffer(t: Any) -> Any:
    class Net(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.w = t.nn.Parameter(t.xp.ones(3))

        def forward(self, x: Any) -> Any:
            return x * self.w

    net = Net()
    f = t.capture(net)
    yield f(t.x).requires_grad
    del net.w
    net.register_buffer("w", 2 * t.xp.ones(3))
    yield f(t.x).requires_grad, f(t.x)
    net.w = None
    net.w = t.xp.zeros(3)
    yield f(t.x)


@trap(*TENSORS)
def what_is_returned_are_numbers_too(t: Any) -> Any:
    f = t.capture(lambda x: (x, x.shape[0], "text", None, True, 2.5))
    found = f(t.x)
    yield found, [isinstance(found[1], int), type(found[4]) is bool, type(found[5]) is float]
    found = f(t.x[:2])
    yield found, [isinstance(found[1], int), type(found[4]) is bool, type(found[5]) is float]


@trap()
def a_number_that_is_returned_changes(t: Any) -> Any:
    held = [1]
    f = t.capture(lambda x: (x, held[0]))
    yield f(t.x)
    held[0] = 2
    yield f(t.x)
