"""Every argument is used or refused: nothing that a call says is swallowed."""

from __future__ import annotations

import contextlib
import inspect

import numpy as np
import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic import autograd, func, linalg, nn, optim
from staticgraph.dynamic.utils import checkpoint

X = torch.ones(2, 2)
_MODULES = {
    "": torch, "nn.functional": nn.functional, "nn.init": nn.init, "linalg": linalg,
    "autograd": autograd, "autograd.functional": autograd.functional, "func": func,
    "optim": optim, "lr_scheduler": optim.lr_scheduler, "nn": nn, "nn.utils": nn.utils,
    "checkpoint": checkpoint,
}  # fmt: skip
_ANY_ARGUMENTS = {"CheckpointPolicy", "Identity", "Function", "Size", "cuda"}
"""Identity takes any, as PyTorch's; the others are no functions, and a policy is an enum."""
_FREE = {"checkpoint", "checkpoint_sequential"}
"""They hand the keywords that they do not know over to the function."""
_ALIASES = {
    "absolute": "abs", "fix": "trunc", "moveaxis": "movedim", "sgn": "sign",
    "swapaxes": "transpose", "enable_grad": "no_grad", "logspace": "linspace", "clip_": "clamp_",
}  # fmt: skip
POSITIONAL = (
    (), (X,), (X, X), (X, X, X), (X, 1), (X, 1, 1), (2,), (2, 2), (0.0, 1.0, 3), (5, (2,)),
    ((2,), 1), ([X],), ("file",), ([X.clone().requires_grad_()],), (lambda x: x,), (2, 3, 4),
)  # fmt: skip


def _public():
    for where, module in _MODULES.items():
        for name in sorted(getattr(module, "__all__", dir(module))):
            value = getattr(module, name)
            is_error = inspect.isclass(value) and issubclass(value, BaseException)
            own = getattr(value, "__module__", "dynamic").startswith("staticgraph")
            hidden = name.startswith("_") or name in _ANY_ARGUMENTS | _FREE
            if callable(value) and own and not is_error and not hidden:
                yield f"{where}.{name}", value
    for kind, holder in (
        ("Tensor", X), ("Module", nn.Linear(2, 2)),
        ("Optimizer", optim.Adam([torch.ones(1, requires_grad=True)])),
    ):  # fmt: skip
        for name in sorted(dir(type(holder))):
            if name.startswith("_") or not callable(getattr(type(holder), name)):
                continue
            value = getattr(holder, name)
            if name not in ("call", "arrays"):
                yield f"{kind}.{name}", value


_CALLABLES = dict(_public())


def _names(path, value):
    """The names that a call may go by: its own, or that of what it is another name of."""
    name = path.rsplit(".", 1)[-1]
    own = getattr(value, "name", None), getattr(value, "__name__", None), _ALIASES.get(name)
    return {
        name, name.removeprefix("new_"), name.replace("arc", "a"),
        *(one for one in own if isinstance(one, str)),
    }  # fmt: skip


def _of_each_owner(test):
    """One test of a module or class: to start one and to report it takes longer than a function."""
    owners = {}
    for path in _CALLABLES:
        owners.setdefault(path.rpartition(".")[0], []).append(path)
    return pytest.mark.parametrize("paths", owners.values(), ids=owners.keys())(test)


@_of_each_owner
def test_a_misspelt_keyword_is_an_error_that_names_the_function(paths):
    for path in paths:
        _refuses_a_misspelt_keyword(path, _CALLABLES[path])


def _refuses_a_misspelt_keyword(path, function):
    texts = []
    for args in POSITIONAL:
        try:
            function(*args, requires_grda=True)
        except TypeError as error:
            texts.append(str(error))
            if "'requires_grda'" in texts[-1]:
                break
        except Exception as error:
            texts.append(repr(error))
        else:
            pytest.fail(f"{path} takes requires_grda")
    assert "'requires_grda'" in texts[-1], (path, texts)
    text = texts[-1].split("(")[0]
    assert any(name.rstrip("_") in text for name in _names(path, function)), (path, texts[-1])


FACTORIES = ("empty", "zeros", "ones", "rand", "randn")


@pytest.mark.parametrize("name", FACTORIES)
def test_the_shape_of_a_factory_by_name(name):
    factory = getattr(torch, name)
    assert factory(size=(2, 3)).shape == factory(2, 3).shape == factory((2, 3)).shape == (2, 3)
    with pytest.raises(TypeError, match=r"^a shape given twice: \(2,\) and size=\(3,\)$"):
        factory(2, size=(3,))


CREATIONS = {
    **dict.fromkeys(FACTORIES, (2,)),
    "tensor": ([1.0],), "as_tensor": ([1.0],), "full": ((2,), 1.0), "arange": (3,), "eye": (2,),
    "linspace": (0.0, 1.0, 3), "randint": (3, (2,)), "randperm": (3,), "zeros_like": (X,),
    "ones_like": (X,), "empty_like": (X,), "full_like": (X, 2.0), "rand_like": (X,),
    "randn_like": (X,),
}  # fmt: skip


@pytest.mark.parametrize("name", CREATIONS)
def test_a_factory_makes_what_is_here_or_refuses(name):
    factory, args = getattr(torch, name), CREATIONS[name]
    made = factory(*args, device="cpu", pin_memory=False, layout=None)
    assert made.shape == factory(*args).shape
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        factory(*args, device="cuda")
    with pytest.raises(RuntimeError, match=rf"^{name.removesuffix('_like')}.*: pin_memory=True: "):
        factory(*args, pin_memory=True)


def test_random_numbers_of_a_generator():
    def draw(make):
        return make(np.random.default_rng(1)).tolist()

    chances = torch.full((8,), 0.5)
    for make in (
        lambda g: torch.rand(3, generator=g), lambda g: torch.randn(3, generator=g),
        lambda g: torch.randint(0, 99, (5,), generator=g), lambda g: torch.randperm(9, generator=g),
        lambda g: torch.bernoulli(chances, generator=g), lambda g: torch.poisson(chances, g),
        lambda g: torch.multinomial(chances, 4, generator=g),
        lambda g: torch.multinomial(chances, 4, True, generator=g),
        lambda g: torch.normal(chances, chances, generator=g),
        lambda g: torch.normal(0.0, 1.0, (4,), generator=g),
        lambda g: torch.zeros(3).normal_(generator=g),
    ):  # fmt: skip
        assert draw(make) == draw(make)
    with pytest.raises(
        TypeError, match=r"^generator: expected a Generator of this package or NumPy's, got int$"
    ):
        torch.rand(2, generator=3)
    whole = torch.randperm(4, dtype=torch.float32, requires_grad=True)
    assert whole.requires_grad and torch.randint(0, 2, (2,), dtype=torch.int32).dtype == torch.int32


def test_a_tensor_like_another_has_no_shape_of_its_own():
    with pytest.raises(TypeError, match=r"^zeros_like\(\) takes no shape: it has that of the t"):
        torch.zeros_like(X, 3)
    assert torch.full_like(X, fill_value=3.0).tolist() == [[3.0, 3.0], [3.0, 3.0]]


LAYERS = {
    "Linear": (2, 2), "Bilinear": (2, 2, 2), "Conv1d": (1, 1, 1), "ConvTranspose2d": (1, 1, 1),
    "BatchNorm1d": (2,), "LayerNorm": (2,), "GroupNorm": (1, 2), "RMSNorm": (2,), "PReLU": (),
    "InstanceNorm1d": (2,), "Embedding": (2, 2), "EmbeddingBag": (2, 2), "RNN": (2, 2),
    "GRU": (2, 2), "LSTM": (2, 2), "GRUCell": (2, 2), "MultiheadAttention": (2, 1),
    "TransformerEncoderLayer": (2, 1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_on_the_cpu(name):
    layer = getattr(nn, name)
    layer(*LAYERS[name], device="cpu")
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        layer(*LAYERS[name], device="cuda")


def test_other_places_and_layouts_are_refused(tmp_path):
    torch.save(X, tmp_path / "x")
    assert torch.load(tmp_path / "x", map_location="cpu").tolist() == X.tolist()
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        torch.load(tmp_path / "x", map_location="cuda")
    text = r"^to\(\): argument 'memory_format' must be torch.memory_format, not str$"
    with pytest.raises(TypeError, match=text):
        X.to(torch.float64, memory_format="last")
    assert torch.tril_indices(2, 2, dtype=torch.int32).dtype == torch.int32
    assert torch.triu_indices(2, 2).tolist() == [[0, 0, 1], [0, 1, 1]]


@pytest.mark.parametrize("owner", ["", "Tensor", "nn.functional", "linalg"])
def test_one_argument_too_many_is_not_written_to(owner):
    """NumPy takes an array that follows its operands for `out`."""
    for path in _CALLABLES:
        if path.rpartition(".")[0] == owner:
            _writes_to_no_argument(path)


def _writes_to_no_argument(path):
    for shape in ((), (2,)):
        for count in (1, 2, 3, 4):
            given = [torch.full(shape, 0.25 + i) for i in range(count)]
            function = _CALLABLES[path]
            if path.startswith("Tensor."):
                function = getattr(given.pop(0), path.removeprefix("Tensor."))
            before = [one.tolist() for one in given]
            with contextlib.suppress(Exception):
                function(*given)
            first = not path.startswith("Tensor.")  # of `relu_`, or of `inplace`, it may be
            assert [one.tolist() for one in given[first:]] == before[first:], path


@pytest.mark.parametrize("name", ["mul", "exp", "sigmoid", "relu", "gcd", "signbit", "maximum"])
def test_one_argument_too_many_is_an_error(name):
    x = torch.ones(2, dtype=torch.int64) if name == "gcd" else torch.ones(2)
    with pytest.raises(TypeError, match=r"takes [12] positional arguments? but 3 were given"):
        getattr(torch, name)(x, x, x)


def test_one_operand_too_many_in_place_is_an_error():
    x = torch.ones(2)
    with pytest.raises(TypeError, match=r"^sqrt\(\) takes 1 positional argument but 2 were"):
        x.sqrt_(torch.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.clone().add_(torch.bool),
        lambda x: x.clone().mul_("a"),
        lambda x: x.maximum(torch.bool),
        lambda x: torch.pow(x, None),
        lambda x: x.where(x > 0, "a"),
        lambda x: torch.maximum(x, np.ones(2, np.clongdouble)),
    ],
)
def test_an_operand_without_a_dtype_is_named(call):
    match = r"(add_?|mul_|multiply|maximum|pow|power|where)\(\): "
    match += r"(an operand|argument 'other' \(position [12]\)) must be Tensor( or Number)?, not "
    match += "(DType|str|NoneType|an array of complex256)"
    with pytest.raises(TypeError, match=match):
        call(torch.ones(2))
    with pytest.raises(TypeError, match=match):
        sg.function(call)(torch.ones(2))


def test_threshold_takes_numbers():
    with pytest.raises(TypeError, match=r"argument 'value' \(position 3\) must be Number, not DT"):
        torch.nn.functional.threshold(torch.ones(2), 0, torch.bool)


def test_results_go_to_tensors_alone():
    x = torch.ones(3)
    assert torch.exp(x, out=None).shape == (3,)
    with pytest.raises(TypeError, match=r"^exp\(\): out is a tensor, not ndarray$"):
        torch.exp(x, out=np.ones(3, np.float32))
