"""Arrays and tensors that a function does not take as arguments change between calls."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from .trap import trap

TABLE: Any = None


def _a(*values: float) -> Any:
    return np.array(values, "float32")


@trap()
def an_array_changes_in_place(t: Any) -> Any:
    w = _a(1, 2, 3)
    f = t.capture(lambda x: x * t.array(w))
    yield f(t.x)
    w[1] = 10
    yield f(t.x)


@trap("arrays")
def an_array_meets_the_argument(t: Any) -> Any:
    w = _a(1, 2, 3)
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    w += 1
    yield f(t.x)


@trap("arrays")
def an_array_is_rebound(t: Any) -> Any:
    w = _a(1, 2, 3)
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    w = w * 2
    yield f(t.x)
    w = np.float32([[1], [2]])
    yield f(t.x)


@trap("arrays")
def numpy_computes_with_an_array_first(t: Any) -> Any:
    w = _a(1, 2, 3)
    f = t.capture(lambda x: x * float(np.sum(w)) + np.outer(w, w))
    yield f(t.x)
    w[0] = 5
    yield f(t.x)


@trap("arrays")
def an_array_of_a_global(t: Any) -> Any:
    globals()["TABLE"] = _a(1, 2, 3)
    f = t.capture(lambda x: x + TABLE)
    yield f(t.x)
    TABLE[2] = 9
    yield f(t.x)


@trap("arrays")
def an_array_of_an_attribute(t: Any) -> Any:
    config = types.SimpleNamespace(w=_a(1, 2, 3))
    f = t.capture(lambda x: x + config.w)
    yield f(t.x)
    config.w *= 2
    yield f(t.x)
    config.w = config.w * 2
    yield f(t.x)


@trap("arrays")
def an_array_in_a_list(t: Any) -> Any:
    weights = [_a(1, 2, 3)]
    f = t.capture(lambda x: x + weights[0])
    yield f(t.x)
    weights[0][0] = 7
    yield f(t.x)
    weights[0] = _a(0, 0, 0)
    yield f(t.x)


@trap("arrays")
def an_array_in_a_dict(t: Any) -> Any:
    weights = {"w": _a(1, 2, 3)}
    f = t.capture(lambda x: x + weights["w"])
    yield f(t.x)
    weights["w"][0] = 7
    yield f(t.x)


@trap("arrays")
def an_array_that_a_view_changes(t: Any) -> Any:
    memory = np.arange(6, dtype="float32")
    w = memory[::2]
    f = t.capture(lambda x: x + w)
    yield f(t.x)
    memory[:] = 1
    yield f(t.x)


@trap("arrays")
def a_large_array(t: Any) -> Any:
    w = np.zeros((300, 300), "float32")
    f = t.capture(lambda x: x + w.sum() + w[200, 7])
    yield f(t.x)
    w[200, 7] = 1
    yield f(t.x)


@trap("arrays")
def a_large_array_in_columns(t: Any) -> Any:
    w = np.zeros((300, 300), "float32").T[::2]
    f = t.capture(lambda x: (x + w[:3, :3]).sum())
    yield f(t.x)
    w[1, 1] = 1
    yield f(t.x)


@trap("arrays")
def an_array_of_indices(t: Any) -> Any:
    places = np.array([0, 1])
    f = t.capture(lambda x: x[places])
    yield f(t.x)
    places[0] = 2
    yield f(t.x)


@trap("arrays")
def a_mask(t: Any) -> Any:
    mask = np.array([True, False, True])
    f = t.capture(lambda x: t.xp.where(mask, x, 0.0))
    yield f(t.x)
    mask[1] = True
    yield f(t.x)


@trap("arrays")
def the_shape_of_an_array(t: Any) -> Any:
    w = np.ones((2, 3), "float32")
    f = t.capture(lambda x: x + w.shape[0])
    yield f(t.x)
    w.shape = (3, 2)
    yield f(t.x)


@trap("arrays")
def an_array_is_sorted(t: Any) -> Any:
    w = _a(3, 1, 2)
    f = t.capture(lambda x: x + w)
    yield f(t.x)
    w.sort()
    yield f(t.x)


@trap("arrays")
def an_array_with_nan_stays(t: Any) -> Any:
    w = _a(np.nan, 1, 2)
    f = t.capture(lambda x: x + w)
    yield f(t.x)
    yield f(t.x)
    w[0] = 3
    yield f(t.x)


@trap("arrays")
def an_array_of_no_axes(t: Any) -> Any:
    w = np.array(2.0, "float32")
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    w[...] = 3
    yield f(t.x)


@trap("arrays")
def a_scalar_of_numpy(t: Any) -> Any:
    k: Any = np.float32(2)
    f = t.capture(lambda x: x * k)
    yield f(t.x)
    k = np.float64(2)
    yield f(t.x)


@trap("arrays")
def an_array_of_objects(t: Any) -> Any:
    table = np.array([2.0, "a"], dtype=object)
    f = t.capture(lambda x: x * table[0])
    yield f(t.x)
    table[0] = 3.0
    yield f(t.x)


@trap("arrays")
def memory_that_others_change(t: Any) -> Any:
    memory = bytearray(12)
    w = np.frombuffer(memory, "float32")
    f = t.capture(lambda x: x + w)
    yield f(t.x)
    memory[3] = 64
    yield f(t.x)


@trap("arrays")
def an_array_written_with_out(t: Any) -> Any:
    w = _a(1, 2, 3)
    f = t.capture(lambda x: x + w)
    yield f(t.x)
    np.multiply(w, 2, out=w)
    yield f(t.x)


@trap("arrays")
def bytes_that_change(t: Any) -> Any:
    memory = bytearray(b"\x02")
    f = t.capture(lambda x: x * memory[0])
    yield f(t.x)
    memory[0] = 3
    yield f(t.x)


@trap("tensors", "torch")
def a_tensor_changes_in_place(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    w.add_(1)
    yield f(t.x)


@trap("tensors", "torch", "jax")
def a_tensor_is_rebound(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    w = t.array(_a(5, 5, 5))
    yield f(t.x)
    w = t.array(np.float32([[1], [2]]))
    yield f(t.x)


@trap("tensors", "torch")
def a_tensor_of_a_global_changes(t: Any) -> Any:
    globals()["TABLE"] = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x + TABLE)
    yield f(t.x)
    TABLE.mul_(2)
    yield f(t.x)


@trap("tensors", "torch")
def a_tensor_of_an_attribute_changes(t: Any) -> Any:
    config = types.SimpleNamespace(w=t.array(_a(1, 2, 3)))
    f = t.capture(lambda x: x + config.w)
    yield f(t.x)
    config.w[0] = 9
    yield f(t.x)


@trap("tensors", "torch", "jax")
def tensors_in_a_list(t: Any) -> Any:
    weights = [t.array(_a(1, 2, 3)), t.array(_a(4, 5, 6))]
    f = t.capture(lambda x: x * weights[0] + weights[1])
    yield f(t.x)
    weights[0] = t.array(_a(7, 8, 9))
    yield f(t.x)
    weights.reverse()
    yield f(t.x)


@trap("tensors", "torch")
def the_gradient_of_a_tensor_closed_over(t: Any) -> Any:
    w = t.array(_a(1, 2, 3)).requires_grad_()
    f = t.capture(lambda x: (x * w * w).sum())
    f(t.x).backward()
    yield w.grad


@trap("tensors", "torch")
def a_tensor_is_computed_with_alone(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x * (w * 2).sum())
    yield f(t.x)
    w.add_(1)
    yield f(t.x)


@trap("tensors", "torch")
def a_value_of_a_tensor(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x * w[1].item())
    yield f(t.x)
    w.add_(1)
    yield f(t.x)


@trap("tensors", "torch")
def a_tensor_and_a_branch_on_it(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x * 2 if w.sum() > 0 else x)
    yield f(t.x)
    w.mul_(-1)
    yield f(t.x)


@trap("tensors", "torch")
def whether_a_tensor_requires_grad(t: Any) -> Any:
    w = t.array(_a(1, 2, 3))
    f = t.capture(lambda x: x + 1 if w.requires_grad else x)
    yield f(t.x)
    w.requires_grad_()
    yield f(t.x).detach()


@trap("tensors", "torch")
def a_tensor_that_a_numpy_array_changes(t: Any) -> Any:
    memory = _a(1, 2, 3)
    w = t.xp.from_numpy(memory)
    f = t.capture(lambda x: x * w)
    yield f(t.x)
    memory[0] = 9
    yield f(t.x)
