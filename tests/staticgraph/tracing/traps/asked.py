"""What tensors and modules around a function say of themselves, which changes between two calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .trap import TENSORS, trap

Read = Callable[[Any, Any], Any]
"""What is read of something around, a number or a text; it is given the paradigm, too."""
Change = Callable[[Any, Any], object]


def _weight(t: Any) -> Any:
    return t.nn.Parameter(t.array(np.ones((3, 2), "float32")))


def _plain(t: Any) -> Any:
    return t.array(np.ones((3, 2), "float32"))


def _view(t: Any) -> Any:
    return t.array(np.ones((4, 2), "float32"))[1:]


def _made(t: Any) -> Any:
    return _weight(t) * 2


def _layer(t: Any) -> Any:
    layer = t.nn.Linear(3, 2)
    with t.xp.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(1.0)
    return layer


def _hook(*given: object) -> None:
    pass


def _zeros(t: Any, *shape: int, dtype: str = "float32") -> Any:
    return t.array(np.zeros(shape, dtype))


def _tagged(t: Any, x: Any) -> None:
    class Tagged(t.nn.Parameter):  # type: ignore[misc]
        pass

    x.__class__ = Tagged


def _number(value: Any) -> float:
    if isinstance(value, str):
        return float(len(value))
    if isinstance(value, tuple | list):
        return sum((i + 2.0) * float(one) for i, one in enumerate(value))
    return float(value)


ASKED: dict[str, tuple[Callable[[Any], Any], Read, Change]] = {
    "dtype": (_plain, lambda t, w: w.dtype == t.xp.float64,
              lambda t, w: setattr(w, "data", _zeros(t, 3, 2, dtype="float64"))),
    "text_of_dtype": (_plain, lambda t, w: str(w.dtype),
                      lambda t, w: setattr(w, "data", _zeros(t, 3, 2, dtype="int64"))),
    "is_floating": (_plain, lambda t, w: w.is_floating_point(),
                    lambda t, w: setattr(w, "data", _zeros(t, 3, 2, dtype="int64"))),
    "element_size": (_plain, lambda t, w: w.element_size(),
                     lambda t, w: setattr(w, "data", _zeros(t, 3, 2, dtype="float64"))),
    "shape": (_plain, lambda t, w: w.shape, lambda t, w: setattr(w, "data", _zeros(t, 5, 2))),
    "size_of_an_axis": (_plain, lambda t, w: w.size(0),
                        lambda t, w: setattr(w, "data", _zeros(t, 5, 2))),
    "number_of_axes": (_weight, lambda t, w: w.dim(),
                       lambda t, w: setattr(w, "data", _zeros(t, 3, 2, 1))),
    "number_of_elements": (_weight, lambda t, w: w.numel(),
                           lambda t, w: setattr(w, "data", _zeros(t, 7))),
    "length": (_plain, len, lambda t, w: setattr(w, "data", _zeros(t, 9, 1))),
    "strides": (_plain, lambda t, w: w.stride(),
                lambda t, w: setattr(w, "data", _zeros(t, 2, 3).t())),
    "is_contiguous": (_plain, lambda t, w: w.is_contiguous(),
                      lambda t, w: setattr(w, "data", _zeros(t, 2, 3).t())),
    "strides_after_a_transpose_in_place": (_plain, lambda t, w: w.stride(0),
                                           lambda t, w: w.t_()),
    "offset": (_view, lambda t, w: w.storage_offset(),
               lambda t, w: setattr(w, "data", _zeros(t, 6, 2)[3:])),
    "same_memory": (_weight, lambda t, w: w.data_ptr() == t.kept.setdefault("at", w.data_ptr()),
                    lambda t, w: setattr(w, "data", _zeros(t, 3, 2))),
    "class": (_weight, lambda t, w: type(w).__name__, _tagged),
    "exact_class": (_weight, lambda t, w: type(w) is t.nn.Parameter, _tagged),
    "requires_grad": (_weight, lambda t, w: w.requires_grad,
                      lambda t, w: w.requires_grad_(False)),
    "requires_grad_later": (_plain, lambda t, w: w.requires_grad, lambda t, w: w.requires_grad_()),
    "is_leaf": (_made, lambda t, w: w.is_leaf, lambda t, w: w.detach_()),
    "has_a_gradient": (_weight, lambda t, w: w.grad is None,
                       lambda t, w: setattr(w, "grad", _zeros(t, 3, 2))),
    "retains_its_gradient": (_made, lambda t, w: w.retains_grad, lambda t, w: w.retain_grad()),
    "hooks": (_weight, lambda t, w: bool(w._backward_hooks), lambda t, w: w.register_hook(_hook)),
    "a_tag": (_weight, lambda t, w: getattr(w, "tag", 1.0), lambda t, w: setattr(w, "tag", 3.0)),
    "whether_it_has_a_tag": (_plain, lambda t, w: hasattr(w, "tag"),
                             lambda t, w: setattr(w, "tag", 3.0)),
    "all_tags": (_plain, lambda t, w: len(vars(w)), lambda t, w: setattr(w, "tag", 3.0)),
    "version": (_plain, lambda t, w: w._version, lambda t, w: w.add_(1)),
    "is_training": (_layer, lambda t, m: m.training, lambda t, m: m.eval()),
    "a_size_of_a_layer": (_layer, lambda t, m: m.out_features,
                          lambda t, m: setattr(m, "out_features", 7)),
    "a_bias_that_goes": (_layer, lambda t, m: m.bias is None,
                         lambda t, m: setattr(m, "bias", None)),
    "number_of_parameters": (_layer, lambda t, m: sum(1 for _ in m.parameters()),
                             lambda t, m: setattr(m, "more", _weight(t))),
    "names_of_buffers": (_layer, lambda t, m: [len(name) for name, _ in m.named_buffers()],
                         lambda t, m: m.register_buffer("kept", _plain(t))),
    "a_state_dict": (_layer, lambda t, m: len(m.state_dict()),
                     lambda t, m: m.register_buffer("kept", _plain(t))),
    "frozen_parameters": (_layer, lambda t, m: sum(p.requires_grad for p in m.parameters()),
                          lambda t, m: m.bias.requires_grad_(False)),
    "hooks_of_a_layer": (_layer, lambda t, m: len(m._forward_hooks),
                         lambda t, m: m.register_forward_hook(_hook)),
    "children": (_layer, lambda t, m: len(list(m.children())),
                 lambda t, m: setattr(m, "part", t.nn.Tanh())),
    "dtype_of_a_parameter": (_layer, lambda t, m: str(next(m.parameters()).dtype),
                             lambda t, m: m.double()),
}  # fmt: skip


class _Keeping:
    """A paradigm, and what a reader keeps of before."""

    def __init__(self, t: Any) -> None:
        self.kept: dict[str, Any] = {}
        self._t = t

    def __getattr__(self, name: str) -> Any:
        return getattr(self._t, name)


def _program(make: Callable[[Any], Any], read: Any, change: Change) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        owner, keeping = make(t), _Keeping(t)
        asks = (lambda: read(owner)) if read is len else (lambda: read(keeping, owner))
        if "at" in (read.__code__.co_consts if read is not len else ()):
            keeping.kept["at"] = owner.data_ptr()
        f = t.capture(lambda x: x + _number(asks()))
        yield f(t.x)
        yield f(t.x)
        change(t, owner)
        yield f(t.x)

    return program


for _name, _given in ASKED.items():
    _made_program = _program(*_given)
    _made_program.__name__ = _name
    trap(*TENSORS)(_made_program)
