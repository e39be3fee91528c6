"""Python asks for values, types and texts of what is traced."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np

from .trap import trap


def _both(t: Any, f: Any) -> Any:
    g = t.capture(f)
    yield g(t.x)
    yield g(-t.x)


@trap()
def if_(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x.sum() > 0 else x - 1)


@trap()
def while_(t: Any) -> Any:
    def f(x: Any) -> Any:
        while x.sum() < 10:
            x = x * 2 + 1
        return x

    yield from _both(t, f)


@trap()
def bool_(t: Any) -> Any:
    yield from _both(t, lambda x: x * bool(x[0] > 0))


@trap()
def and_(t: Any) -> Any:
    yield from _both(t, lambda x: (x[0] > 0) and (x[1] > 0))


@trap()
def not_(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if not x[0] > 0 else x)


@trap()
def assert_(t: Any) -> Any:
    def f(x: Any) -> Any:
        assert x[0] > 0, "negative"
        return x

    yield from _both(t, f)


@trap()
def a_chain_of_comparisons(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if 0 < x[0] < 2 else x)


@trap()
def in_(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if 1.0 in x else x)


@trap()
def in_a_list(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x[0] in [1.0, 2.0] else x)


@trap()
def max_of_python(t: Any) -> Any:
    yield from _both(t, lambda x: max(x[0], x[1]))


@trap()
def min_over_elements(t: Any) -> Any:
    yield from _both(t, lambda x: x + min(x))


@trap()
def sum_of_python(t: Any) -> Any:
    yield from _both(t, lambda x: x + sum(x))


@trap()
def sorted_(t: Any) -> Any:
    yield from _both(t, lambda x: sorted(x)[0] + x)


@trap()
def any_and_all(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if any(x > 2) else x)


@trap()
def float_(t: Any) -> Any:
    yield from _both(t, lambda x: x * float(x[0]))


@trap()
def int_(t: Any) -> Any:
    yield from _both(t, lambda x: x * int(x[2]))


@trap()
def item(t: Any) -> Any:
    yield from _both(t, lambda x: x * x[0].item())


@trap()
def tolist(t: Any) -> Any:
    yield from _both(t, lambda x: x * x.tolist()[0])


@trap()
def range_(t: Any) -> Any:
    f = t.capture(lambda n: sum([one * n for one in range(n)]))
    yield f(t.array(np.array(3)))
    yield f(t.array(np.array(4)))


@trap()
def an_index_of_a_list(t: Any) -> Any:
    scales = [1.0, 2.0, 3.0]
    f = t.capture(lambda x, i: x * scales[i])
    yield f(t.x, t.array(np.array(1)))
    yield f(t.x, t.array(np.array(2)))


@trap()
def a_key(t: Any) -> Any:
    scales = {1.0: 5.0}
    yield from _both(t, lambda x: x * scales.get(x[0], 2.0))


@trap("arrays")
def a_key_that_is_a_scalar(t: Any) -> Any:
    scales = {1.0: 5.0}
    yield from _both(t, lambda x: x * scales.get(x.sum(), 2.0))


@trap()
def a_text(t: Any) -> Any:
    yield from _both(t, lambda x: x * len(f"{x[0]:.6f}"))


@trap()
def a_text_without_a_format(t: Any) -> Any:
    yield from _both(t, lambda x: x * len(f"{x[0]}"))


@trap()
def str_(t: Any) -> Any:
    yield from _both(t, lambda x: x * len(str(x)))


@trap()
def repr_(t: Any) -> Any:
    yield from _both(t, lambda x: x * len(repr(x)))


@trap()
def a_text_with_percent(t: Any) -> Any:
    yield from _both(t, lambda x: x * len("%s" % x.sum()))  # noqa: UP031


@trap()
def a_key_that_is_a_text(t: Any) -> Any:
    yield from _both(t, lambda x: x * {"1.0": 2.0}.get(str(x[0]), 3.0))


@trap()
def json_(t: Any) -> Any:
    yield from _both(t, lambda x: x * len(json.dumps(float(x[0]))))


@trap()
def math_(t: Any) -> Any:
    yield from _both(t, lambda x: x * math.cos(x[0]))


@trap()
def round_(t: Any) -> Any:
    yield from _both(t, lambda x: x * round(float(x[0])))


@trap()
def np_asarray(t: Any) -> Any:
    yield from _both(t, lambda x: x * float(np.asarray(x)[0]))


@trap("arrays")
def a_ufunc(t: Any) -> Any:
    yield from _both(t, lambda x: np.sin(x))


@trap("arrays")
def a_ufunc_that_is_swallowed(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return np.sin(x)
        except TypeError:
            return x

    yield from _both(t, f)


@trap("arrays")
def a_function_of_numpy(t: Any) -> Any:
    yield from _both(t, lambda x: np.concatenate([x, x]))


@trap("arrays")
def a_sum_of_numpy(t: Any) -> Any:
    yield from _both(t, lambda x: x - np.sum(x))


@trap("arrays")
def a_reduction_of_numpy(t: Any) -> Any:
    yield from _both(t, lambda x: np.maximum.reduce(x) + np.dot(x, x))


@trap("arrays")
def where_of_numpy(t: Any) -> Any:
    yield from _both(t, lambda x: np.where(x > 0, x, 0))


@trap("arrays")
def an_array_and_a_ufunc(t: Any) -> Any:
    w = np.ones(3, "float32")
    yield from _both(t, lambda x: np.multiply(w, x) + w * x)


@trap()
def a_branch_that_is_swallowed(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * 2 if x[0] > 0 else x
        except Exception:
            return x * 100

    yield from _both(t, f)


@trap()
def a_branch_that_is_swallowed_by_all(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * 2 if x[0] > 0 else x
        except:  # noqa: E722
            return x * 100

    yield from _both(t, f)


@trap()
def a_branch_that_is_left_by_finally(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * 2 if x[0] > 0 else x
        finally:
            return x * 100  # noqa: B012, SIM107

    yield from _both(t, f)


@trap()
def a_number_that_is_swallowed(t: Any) -> Any:
    def f(x: Any) -> Any:
        try:
            return x * float(x[0])
        except (TypeError, ValueError, RuntimeError):
            return x

    yield from _both(t, f)


@trap("arrays")
def isinstance_of_ndarray(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if isinstance(x, np.ndarray) else x)


@trap("arrays")
def type_is_ndarray(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if type(x) is np.ndarray else x)


@trap("arrays")
def type_of_what_is_computed(t: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 2
        return y if type(y) is np.ndarray else x

    yield from _both(t, f)


@trap("arrays")
def the_name_of_the_class(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x.__class__.__name__ == "ndarray" else x)


@trap("arrays")
def a_match_on_the_class(t: Any) -> Any:
    def f(x: Any) -> Any:
        match x:
            case np.ndarray():
                return x * 2
        return x

    yield from _both(t, f)


@trap("arrays")
def an_attribute_that_arrays_have(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if hasattr(x, "flags") else x)


@trap("arrays")
def whether_it_is_contiguous(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x.flags.c_contiguous else x)


@trap("arrays")
def bytes_of_memory(t: Any) -> Any:
    yield from _both(t, lambda x: x * x.itemsize + x.nbytes)


@trap("arrays")
def a_number_among_elements(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if isinstance(x[0], np.floating) else x)


@trap("tensors", "torch")
def isinstance_of_tensor(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if isinstance(x, t.xp.Tensor) else x)


@trap("tensors", "torch")
def type_is_tensor(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if type(x) is t.xp.Tensor else x)


@trap("tensors", "torch")
def numpy_of_a_tensor(t: Any) -> Any:
    yield from _both(t, lambda x: x * float(x.numpy()[0]))


@trap("tensors", "torch")
def equal_of_tensors(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if t.xp.equal(x, abs(x)) else x)


@trap("tensors", "torch")
def the_address_of_memory(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x.data_ptr() else x)


@trap("tensors", "torch")
def whether_a_tensor_is_contiguous(t: Any) -> Any:
    f = t.capture(lambda x: x * 2 if x.is_contiguous() else x)
    matrix = t.array(np.arange(6, dtype="float32").reshape(2, 3))
    yield f(matrix)
    yield f(matrix.T)


@trap()
def is_none(t: Any) -> Any:
    yield from _both(t, lambda x: x * 2 if x is not None else 0)


@trap()
def a_copy(t: Any) -> Any:
    yield from _both(t, lambda x: copy.copy(x) * 2)


@trap()
def abs_and_power(t: Any) -> Any:
    yield from _both(t, lambda x: abs(x) ** 2 - x)


@trap()
def divmod_(t: Any) -> Any:
    yield from _both(t, lambda x: x // 2 + x % 2)


@trap()
def unpacked(t: Any) -> Any:
    def f(x: Any) -> Any:
        a, b, c = x
        return a * b + c

    yield from _both(t, f)


@trap()
def the_first_and_the_rest(t: Any) -> Any:
    def f(x: Any) -> Any:
        first, *rest = x
        return first * len(rest)

    yield from _both(t, f)


@trap()
def enumerated(t: Any) -> Any:
    yield from _both(t, lambda x: sum([i * one for i, one in enumerate(x)]))


@trap()
def the_dtype_in_a_branch(t: Any) -> Any:
    f = t.capture(lambda x: x / 2 if "float" in str(x.dtype) else x // 2)
    yield f(t.x)
    yield f(t.array(np.arange(3)))
