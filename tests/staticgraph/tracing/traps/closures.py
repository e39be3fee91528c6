"""What a function has closed over changes between calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trap import trap


@trap()
def a_number_is_rebound(t: Any) -> Any:
    k = 2.0
    f = t.capture(lambda x: x * k)
    yield f(t.x)
    k = 3.0
    yield f(t.x)


@trap()
def a_number_is_rebound_by_a_setter(t: Any) -> Any:
    k = 2.0

    def set_k(value: float) -> None:
        nonlocal k
        k = value

    f = t.capture(lambda x: x + k)
    yield f(t.x)
    set_k(5.0)
    yield f(t.x)


@trap()
def an_int_becomes_a_float(t: Any) -> Any:
    k: float = 2
    x = t.array(np.arange(3))
    f = t.capture(lambda x: x * k)
    yield f(x)
    k = 2.0
    yield f(x)


@trap()
def one_becomes_true(t: Any) -> Any:
    k: Any = 1
    f = t.capture(lambda x: x * 2 if k is True else x)
    yield f(t.x)
    k = True
    yield f(t.x)


@trap()
def zero_changes_its_sign(t: Any) -> Any:
    k = 0.0
    f = t.capture(lambda x: 1 / (x * k))
    with np.errstate(divide="ignore"):
        yield f(t.x)
        k = -0.0
        yield f(t.x)


@trap()
def a_flag(t: Any) -> Any:
    negate = False
    f = t.capture(lambda x: -x if negate else x)
    yield f(t.x)
    negate = True
    yield f(t.x)


@trap()
def a_string(t: Any) -> Any:
    mode = "sum"
    f = t.capture(lambda x: x.sum() if mode == "sum" else x)
    yield f(t.x)
    mode = "none"
    yield f(t.x)


@trap()
def none_becomes_a_number(t: Any) -> Any:
    bias = None
    f = t.capture(lambda x: x if bias is None else x + bias)
    yield f(t.x)
    bias = 1.0
    yield f(t.x)
    bias = None
    yield f(t.x)


@trap()
def a_function_is_replaced(t: Any) -> Any:
    activation = t.xp.tanh
    f = t.capture(lambda x: activation(x))
    yield f(t.x)
    activation = t.xp.exp
    yield f(t.x)


@trap()
def a_lambda_is_replaced(t: Any) -> Any:
    step = lambda x: x + 1  # noqa: E731
    f = t.capture(lambda x: step(x))
    yield f(t.x)
    step = lambda x: x - 1  # noqa: E731
    yield f(t.x)


@trap()
def a_tuple_is_rebound(t: Any) -> Any:
    pair = (1.0, 2.0)
    f = t.capture(lambda x: x * pair[0] + pair[1])
    yield f(t.x)
    pair = (2.0, 3.0)
    yield f(t.x)


@trap()
def an_item_of_a_list(t: Any) -> Any:
    scales = [1.0, 2.0]
    f = t.capture(lambda x: x * scales[1])
    yield f(t.x)
    scales[1] = 5.0
    yield f(t.x)


@trap()
def a_list_grows(t: Any) -> Any:
    scales = [2.0]

    def f(x: Any) -> Any:
        for one in scales:
            x = x * one
        return x

    g = t.capture(f)
    yield g(t.x)
    scales.append(3.0)
    yield g(t.x)
    scales.clear()
    yield g(t.x)


@trap()
def a_list_within_a_list(t: Any) -> Any:
    table = [[1.0, 2.0], [3.0]]
    f = t.capture(lambda x: x * table[0][1])
    yield f(t.x)
    table[0][1] = 7.0
    yield f(t.x)


@trap()
def a_list_within_a_tuple(t: Any) -> Any:
    table = ([1.0],)
    f = t.capture(lambda x: x * table[0][0])
    yield f(t.x)
    table[0][0] = 7.0
    yield f(t.x)


@trap()
def a_value_of_a_dict(t: Any) -> Any:
    config = {"scale": 2.0}
    f = t.capture(lambda x: x * config["scale"])
    yield f(t.x)
    config["scale"] = 4.0
    yield f(t.x)


@trap()
def a_key_of_a_dict(t: Any) -> Any:
    config: dict[str, float] = {}
    f = t.capture(lambda x: x * config.get("scale", 1.0))
    yield f(t.x)
    config["scale"] = 4.0
    yield f(t.x)
    del config["scale"]
    yield f(t.x)


@trap()
def the_order_of_a_dict(t: Any) -> Any:
    config = {"a": 2.0, "b": 3.0}

    def f(x: Any) -> Any:
        for one in config.values():
            x = x * one + 1
        return x

    g = t.capture(f)
    yield g(t.x)
    config["a"] = config.pop("a")
    yield g(t.x)


@trap()
def a_set(t: Any) -> Any:
    on = {"bias"}
    f = t.capture(lambda x: x + 1 if "bias" in on else x)
    yield f(t.x)
    on.clear()
    yield f(t.x)
    on.add("bias")
    yield f(t.x)


@trap()
def a_function_two_levels_up(t: Any) -> Any:
    k = 2.0

    def outer() -> Any:
        def inner(x: Any) -> Any:
            return x * k

        return inner

    f = t.capture(outer())
    yield f(t.x)
    k = 5.0
    yield f(t.x)


@trap()
def a_function_that_it_calls_has_closed_over_it(t: Any) -> Any:
    k = 2.0

    def scale(x: Any) -> Any:
        return x * k

    f = t.capture(lambda x: scale(x) + 1)
    yield f(t.x)
    k = 5.0
    yield f(t.x)


@trap()
def the_variable_of_a_loop(t: Any) -> Any:
    functions = [t.capture(lambda x: x * k) for k in (1.0, 2.0)]  # noqa: B023
    yield functions[0](t.x)
    for k in (3.0, 4.0):
        f = t.capture(lambda x: x * k)  # noqa: B023
        yield f(t.x)
        k = 10.0
        yield f(t.x)


@trap()
def a_variable_that_has_no_value_yet(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * k
        except NameError:
            return x

    g = t.capture(f)
    yield g(t.x)
    k = 2.0
    yield g(t.x)


@trap()
def what_a_factory_made(t: Any) -> Any:
    def scaled(k: float) -> Any:
        return lambda x: x * k

    step = scaled(2.0)
    f = t.capture(lambda x: step(x))
    yield f(t.x)
    step = scaled(3.0)
    yield f(t.x)


@trap()
def a_large_int_that_is_equal_but_another(t: Any) -> Any:
    n = int("1000")
    f = t.capture(lambda x: x * n)
    yield f(t.x)
    n = int("1000")
    yield f(t.x)
    n = int("1001")
    yield f(t.x)
