"""What PyTorch's test files import from `torch.testing._internal`, for tensors of `dynamic`."""

from __future__ import annotations

import contextlib
import gc
import inspect
import itertools
import re
import unittest
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.pytorch_autograd.order import execution_order
from staticgraph import dynamic as torch
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.multi_grad import following
from staticgraph.dynamic.tape.nodes import GraphNode
from staticgraph.dynamic.testing import assert_close

Test = Callable[..., Any]
Decorator = Callable[[Test], Test]

TEST_CUDA = TEST_WITH_TORCHDYNAMO = IS_WINDOWS = IS_MACOS = IS_FBCODE = False


class TestCase(unittest.TestCase):
    """`unittest.TestCase` with the assertions of PyTorch's."""

    maxDiff = None

    def setUp(self) -> None:
        torch.manual_seed(1234)

    def assertEqual(  # noqa: N802
        self,
        first: Any,
        second: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        exact_dtype: bool = True,
        **others: object,
    ) -> None:
        first, second = _held(first), _held(second)
        if not _holds_tensors(first) and not _holds_tensors(second):
            super().assertEqual(first, second, msg)
            return
        tolerances = {"atol": atol or 0.0, "rtol": rtol or 0.0}
        if atol is None and rtol is None:
            tolerances = {}
        if isinstance(first, torch.Tensor) != isinstance(second, torch.Tensor):
            first, second, exact_dtype = torch.as_tensor(first), torch.as_tensor(second), False
        assert_close(first, second, equal_nan=True, check_dtype=exact_dtype, **tolerances)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **others: Any) -> None:  # noqa: N802
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(first, second, msg, **others)

    def assertNotWarn(self, function: Callable[[], object], msg: str = "") -> None:  # noqa: N802
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            function()
        self.assertTrue(not seen, msg)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:  # noqa: N802
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
        texts = [str(one.message) for one in seen if one.category is category]
        self.assertTrue(any(re.match(regex, text) for text in texts), f"{regex}, {texts}")

    def assertExpectedInline(self, actual: object, expect: str, skip: int = 0) -> None:  # noqa: N802
        super().assertEqual(str(actual), expect)

    def assertExpected(self, text: str, subname: str = "") -> None:  # noqa: N802
        folder = Path(inspect.getfile(type(self))).parent / "expect"
        _, _, name = self.id().partition(".")
        recorded = (folder / f"{name}-{subname}.expect").read_text()
        super().assertEqual(text.strip(), recorded.strip())


def _holds_tensors(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_tensors, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_tensors, value))
    return isinstance(value, torch.Tensor)


def gradcheck(function: Callable[..., object], inputs: object, **options: Any) -> bool:
    """With the options that PyTorch's tests have unless they say otherwise."""
    return torch.autograd.gradcheck(function, inputs, **_thorough(options))


def gradgradcheck(
    function: Callable[..., object], inputs: object, grad_outputs: object = None, **options: Any
) -> bool:
    """With the options that PyTorch's tests have unless they say otherwise."""
    return torch.autograd.gradgradcheck(function, inputs, grad_outputs, **_thorough(options))


def _thorough(options: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    return {"check_batched_grad": True, "fast_mode": True, **given}


class subtest:  # noqa: N801 - PyTorch's name
    """One value, or tuple of values, of the parameters of a test."""

    def __init__(
        self, values: Any, name: str | None = None, decorators: Sequence[Decorator] = ()
    ) -> None:
        self.values, self.name, self.decorators = values, name, decorators


def parametrize(
    names: str, values: Sequence[Any], name_fn: Callable[..., str] | None = None
) -> Decorator:
    """Run a test once per value."""
    fields = [name.strip() for name in names.split(",")]

    def mark(test: Test) -> Test:
        test.__dict__.setdefault("parameters", []).insert(0, (fields, values, name_fn))
        return test

    return mark


def _part(field: str, value: object, index: int) -> str:
    plain = isinstance(value, bool | int | float | complex | str | torch.dtype)
    return f"{field}_{value}" if plain else f"{field}{index}"


def _variants(test: Test) -> Iterator[tuple[str, dict[str, Any], list[Decorator]]]:
    axes = []
    for fields, values, name_fn in test.__dict__.get("parameters", []):
        axis = []
        for i, one in enumerate(values):
            case = one if isinstance(one, subtest) else subtest(one)
            row = case.values if len(fields) > 1 else (case.values,)
            name = case.name or (
                name_fn(*row)
                if name_fn
                else "_".join(_part(*pair, i) for pair in zip(fields, row, strict=True))
            )
            axis.append(
                (re.sub(r"\W", "_", name), dict(zip(fields, row, strict=True)), case.decorators)
            )
        axes.append(axis)
    for row in itertools.product(*axes):
        name = "".join(f"_{part}" for part, _, _ in row)
        merged = {key: value for _, part, _ in row for key, value in part.items()}
        yield name, merged, [one for _, _, part in row for one in part]


def instantiate_parametrized_tests(kind: type) -> type:
    """Replace each parametrized test of a class by one per value."""
    for name, test in list(vars(kind).items()):
        if name.startswith("test") and getattr(test, "parameters", None):
            delattr(kind, name)
            for suffix, values, decorators in _variants(test):
                _add(kind, name + suffix, test, values, decorators)
    return kind


def _add(
    kind: type, name: str, test: Test, values: dict[str, Any], decorators: Sequence[Decorator] = ()
) -> None:
    @wraps(test)
    def run(self: Any, *args: Any) -> object:
        return test(self, *args, **values)

    made: Test = run
    for decorate in decorators:
        made = decorate(made)
    setattr(kind, name, made)


def instantiate_device_type_tests(kind: type, scope: dict[str, Any], **options: object) -> None:
    """Replace a class of tests by that of the CPU."""
    del scope[kind.__name__]
    made = type(
        f"{kind.__name__}CPU", (kind,), {"device_type": "cpu", "__module__": kind.__module__}
    )
    for name, test in vars(kind).items():
        if not name.startswith("test"):
            continue
        setattr(made, name, None)
        for suffix, values, decorators in _variants(test):
            for dtype in getattr(test, "of_dtypes", (None,)):
                given = dict(values)
                if hasattr(test, "devices"):
                    given["devices"] = ["cpu"]
                elif "device" in inspect.signature(test).parameters:
                    given["device"] = "cpu"
                ending = "_cpu"
                if dtype is not None:
                    given["dtype"] = dtype
                    ending += f"_{str(dtype).removeprefix('torch.')}"
                _add(made, f"{name}{suffix}{ending}", test, given, decorators)
    scope[made.__name__] = made


def dtypes(*kinds: Any) -> Decorator:
    """Run a test once per dtype."""

    def mark(test: Test) -> Test:
        test.__dict__["of_dtypes"] = kinds[0] if isinstance(kinds[0], list | tuple) else kinds
        return test

    return mark


def deviceCountAtLeast(count: int) -> Decorator:  # noqa: N802 - PyTorch's name
    """Skip a test that needs several devices."""

    def mark(test: Test) -> Test:
        test.__dict__["devices"] = count
        if count < 2:
            return test
        return unittest.skip(f"fewer than {count} devices")(test)

    return mark


def _as_it_is(test: Test) -> Test:
    return test


def _marks_nothing(*arguments: object, **options: object) -> Decorator:
    return _as_it_is


only_cuda = unittest.skip("only with CUDA")
slow = unittest.skip("slow")


@contextlib.contextmanager
def disable_gc() -> Iterator[None]:
    """Inside, garbage is not collected."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def set_warn_always_context(new: bool) -> Iterator[None]:
    """PyTorch's switch for warnings that it gives once; these are given each time."""
    yield


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Inside, drawing numbers changes nothing for what comes after."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def mask_not_all_zeros(shape: Sequence[int]) -> Any:
    """A random mask with a True in it."""
    while True:
        mask = torch.randn(shape).gt(0)
        if mask.sum() > 0:
            return mask


def floating_types_and(*more: Any) -> tuple[Any, ...]:
    """The floating dtypes, and others."""
    return (torch.float32, torch.float64, *more)


class WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether nobody holds the tensor any more."""
        return self._reference() is None


class LoggingTensor(torch.Tensor):
    """A tensor that holds another one, on which its ops are computed."""

    __slots__ = ("elem",)

    def __new__(cls, elem: Any, requires_grad: bool = False) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), dtype=elem.dtype, requires_grad=requires_grad
        )
        made.elem = elem.detach() if requires_grad else elem
        return made

    def __init__(self, *arguments: object, **options: object) -> None:
        """It is made."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        held = [one.elem if isinstance(one, cls) else one for one in args]
        found = func(*held, **(kwargs or {}))
        if isinstance(found, tuple):
            return tuple(map(cls, found))
        return cls(found) if isinstance(found, torch.Tensor) else found


def _held(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_held, value))
    return value.elem if isinstance(value, LoggingTensor) else value


class _NoGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: object) -> None:
        """None."""


class Resize(torch.autograd.Function):
    """A view of other sizes."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: tuple[int, ...]) -> Any:
        ctx.sizes = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.contiguous().view(ctx.sizes), None


class UndefinedGrad:
    """The identity, through which no gradient comes."""

    def __call__(self, tensor: object) -> Any:
        return _NoGradient.apply(tensor)


class DelayedError(GraphNode):
    """The identity, whose backward raises."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__((), np.dtype(np.float32))
        self._message = message

    def __call__(self, tensor: object) -> Any:
        message = self._message

        class Raises(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, tensor: Any) -> Any:
                return tensor.view_as(tensor)

            @staticmethod
            def backward(ctx: Any, gradient: object) -> None:
                raise RuntimeError(message)

        return Raises.apply(tensor)


def set_versions(tensors: Sequence[Any], versions: Sequence[int]) -> None:
    """Have tensors count their changes from these versions on."""
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError("Cannot set a negative version")
        tensor._counter[0] = version


following.append(None)  # so that the engine describes its passes
torch.autograd.torch = torch  # which PyTorch's module imports
torch.autograd._functions = SimpleNamespace(Resize=Resize)


def will_execute(node: Any) -> bool:
    """Whether the reverse pass that is running runs a node."""
    if not isinstance(node, GraphNode):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got a tensor")
    if mode.task is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    if mode.task._wanted and type(node) is AccumulateGrad:
        raise RuntimeError("not for leaves, when you are currently running autograd.grad()")
    return bool(mode.task.reaches(node))


C = SimpleNamespace(
    _WeakTensorRef=WeakTensorRef,
    _functions=SimpleNamespace(
        UndefinedGrad=UndefinedGrad, DelayedError=DelayedError, AccumulateGrad=AccumulateGrad
    ),
    is_grad_enabled=torch.is_grad_enabled,
    _set_fwd_grad_enabled=torch.autograd.forward_ad._set_fwd_grad_enabled,
    _will_engine_execute_node=will_execute,
    _current_graph_task_id=lambda: mode.number,
    _current_graph_task_execution_order=execution_order,
    _autograd=SimpleNamespace(
        SavedTensor=torch.autograd.SavedTensor,
        _get_current_graph_task_keep_graph=lambda: mode.task.retains,
        _saved_tensors_hooks_is_enabled=lambda: mode.no_packing is None,
        _unsafe_set_version_counter=set_versions,
    ),
)
"""What the tests take of `torch._C`, by what is public here."""


def _module(name: str, **members: object) -> ModuleType:
    module = ModuleType(f"torch.testing._internal.{name}")
    module.__dict__.update(members)
    return module


MODULES = {
    "torch.testing._internal": _module(""),
    "torch.testing._internal.common_utils": _module(
        "common_utils",
        TestCase=TestCase,
        run_tests=unittest.main,
        gradcheck=gradcheck,
        gradgradcheck=gradgradcheck,
        subtest=subtest,
        parametrize=parametrize,
        instantiate_parametrized_tests=instantiate_parametrized_tests,
        disable_gc=disable_gc,
        set_warn_always_context=set_warn_always_context,
        freeze_rng_state=freeze_rng_state,
        slowTest=slow,
        TEST_CUDA=TEST_CUDA,
        TEST_WITH_TORCHDYNAMO=TEST_WITH_TORCHDYNAMO,
        IS_WINDOWS=IS_WINDOWS,
        IS_MACOS=IS_MACOS,
        IS_FBCODE=IS_FBCODE,
        markDynamoStrictTest=_as_it_is,
        skipIfNoLapack=_as_it_is,
        skipIfMPS=_as_it_is,
        skipIfRocm=_as_it_is,
        skipIfTorchDynamo=_marks_nothing,
        xfailIfTorchDynamo=_as_it_is,
    ),
    "torch.testing._internal.common_device_type": _module(
        "common_device_type",
        instantiate_device_type_tests=instantiate_device_type_tests,
        dtypes=dtypes,
        dtypesIfCUDA=_marks_nothing,
        dtypesIfMPS=_marks_nothing,
        deviceCountAtLeast=deviceCountAtLeast,
        onlyCPU=_as_it_is,
        onlyCUDA=only_cuda,
        skipMeta=_as_it_is,
    ),
    "torch._vmap_internals": _module("vmap", _vmap=torch.vmap),
    "torch.testing._internal.logging_tensor": _module(
        "logging_tensor", LoggingTensor=LoggingTensor
    ),
    "torch.testing._internal.common_dtype": _module(
        "common_dtype", floating_types_and=floating_types_and
    ),
    "torch.testing._internal.common_methods_invocations": _module(
        "common_methods_invocations", mask_not_all_zeros=mask_not_all_zeros
    ),
}
"""The modules by their names."""
