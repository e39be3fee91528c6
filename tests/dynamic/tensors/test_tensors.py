"""Promotion, factories, methods and node names are PyTorch's (its 2.13 gave the figures)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynamic as torch
from staticgraph.compiler import ops

I8, U8, I32, I64 = torch.int8, torch.uint8, torch.int32, torch.int64
F32, F64, B = torch.float32, torch.float64, torch.bool


def ones(dtype, *shape):
    return torch.ones(*shape, dtype=dtype) if shape else torch.tensor(1, dtype=dtype)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ones(I64, 2), ones(F32, 2), F32),
        (ones(I64, 2), ones(F32), F32),
        (ones(F32, 2), ones(F64), F32),
        (ones(F32), ones(F64, 2), F64),
        (ones(I32, 2), ones(I64), I32),
        (ones(I32, 2), ones(I64, 2), I64),
        (ones(U8, 2), ones(I8, 2), torch.int16),
        (ones(B, 2), ones(U8, 2), U8),
        (ones(I64, 2), ones(F64), F64),
        (ones(I64, 2), 1.5, F32),
        (ones(F64, 2), 1.5, F64),
        (ones(U8, 2), 3, U8),
        (ones(B, 2), 3, I64),
        (ones(B, 2), True, B),
        (ones(F32, 2), np.float64(2), F32),
        (ones(F32, 2), np.ones(2), F64),
    ],
)
def test_promotion(first, second, expected):
    assert (first * second).dtype is expected
    assert torch.where(torch.tensor(True), first, second).dtype is expected


def test_division_and_functions_of_integers_give_the_default_dtype():
    assert (ones(I64, 2) / ones(I64, 2)).dtype is F32
    assert torch.exp(torch.tensor([1, 2])).dtype is F32
    assert (torch.tensor([3]) // 2).dtype is I64
    assert torch.tensor([True, True]).sum().dtype is I64


def test_a_cast_is_recorded():
    x = torch.ones(2, requires_grad=True)
    y = (x * torch.ones(2, dtype=F64)).sum()
    assert y.dtype is F64
    with torch.set_lint("off"):
        y.backward()
    assert x.grad.dtype is F32


def test_integers_take_bitwise_operators():
    x = torch.tensor([5, 6])
    assert (x & 4).tolist() == [4, 4] and (~x).tolist() == [-6, -7] and (x ^ x).tolist() == [0, 0]
    mask = torch.tensor([True, False])
    assert (~mask).tolist() == [False, True] and (mask | True).tolist() == [True, True]
    with pytest.raises(NotImplementedError, match=r"bitwise_and_cpu. not implemented for .Float"):
        torch.ones(2) & 1


def test_dtypes_work_as_numpys():
    assert np.zeros(2, F32).dtype == np.float32 and np.dtype("float64") == F64
    assert np.float32().dtype == F32 and F32 != F64 and {F32: 1}[np.dtype("float32")] == 1
    assert torch.ones(2, dtype="complex64").dtype is torch.complex64
    with pytest.raises(TypeError, match=r"dtype: no dtype 'complex256': known are torch.bool"):
        torch.ones(2, dtype="complex256")


def test_tensor_copies_and_from_numpy_and_as_tensor_share():
    array = np.arange(3.0)
    copied, shared, same = torch.tensor(array), torch.from_numpy(array), torch.as_tensor(array)
    array[0] = 9
    assert copied[0] == 0 and shared[0] == 9 and same[0] == 9
    assert torch.as_tensor(shared) is shared
    assert np.asarray(shared) is not None and (array + shared).tolist() == [18.0, 2.0, 4.0]
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        torch.from_numpy([1])
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 1\)"):
        torch.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match=r"cannot make a tensor of str"):
        torch.tensor("one")


def test_factories():
    assert torch.arange(5).dtype is I64 and torch.arange(1, 2, 0.25).tolist() == [
        1,
        1.25,
        1.5,
        1.75,
    ]
    assert torch.full((2,), 3).dtype is I64 and torch.full((2,), 3.0).dtype is F32
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert torch.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    x = torch.zeros(2, 3, dtype=F64)
    assert torch.ones_like(x).dtype is F64 and torch.full_like(x, 2).tolist()[0] == [2, 2, 2]
    assert torch.zeros(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match=r"step must be nonzero"):
        torch.arange(1, 2, 0)


def test_random_factories_follow_the_seed():
    torch.manual_seed(1)
    first = [torch.rand(3), torch.randn(2, 2), torch.randint(0, 10, (4,)), torch.randperm(5)]
    torch.manual_seed(1)
    second = [torch.rand(3), torch.randn(2, 2), torch.randint(0, 10, (4,)), torch.randperm(5)]
    assert [x.tolist() for x in first] == [x.tolist() for x in second]
    assert [x.dtype for x in first] == [F32, F32, I64, I64]
    assert sorted(first[3].tolist()) == [0, 1, 2, 3, 4]


def test_extrema_along_an_axis():
    x = torch.tensor([[1.0, 5.0, 5.0], [7.0, 0.0, 7.0]], requires_grad=True)
    values, indices = x.max(1)
    assert values.tolist() == [5.0, 7.0] and indices.tolist() == [1, 0]
    values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    x.grad = None
    x.amax(1).sum().backward()
    assert x.grad.tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.5]]
    assert torch.min(x, 0).indices.tolist() == [0, 1, 0]
    assert torch.max(x, x * 2).tolist() == (x * 2).tolist()


def test_methods_that_differ_from_the_shared_ops():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.var().item() == 3.5 and x.var(unbiased=False).item() == pytest.approx(35 / 12)
    assert torch.std(x, 1).tolist() == [1.0, 1.0]
    assert x.transpose(0, 1).shape == (3, 2) and torch.transpose(x, 0, 1)[2].tolist() == [2.0, 5.0]
    assert [part.shape[1] for part in x.split(2, 1)] == [2, 1]
    assert [part.shape[1] for part in x.split([1, 2], 1)] == [1, 2]
    assert x.squeeze(0).shape == (2, 3) and x[:1].squeeze(0).shape == (3,)
    assert x.norm().item() == pytest.approx(55**0.5)
    assert x.flatten().shape == (6,) and x.expand(4, -1, -1).shape == (4, 2, 3)
    assert x.any().item() and not x.all().item()
    assert torch.round(torch.tensor(1.256), decimals=2).item() == pytest.approx(1.26)
    with pytest.raises(
        ValueError, match=r"split_sizes to sum exactly to 3 .* got split_sizes=\[1, 1\]"
    ):
        x.split([1, 1], 1)
    with pytest.raises(RuntimeError, match=r"^view size is not .*: view as \[\d+\] of a tensor of"):
        x.T.view(-1)


def test_indices_out_of_range():
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for dimension 0 with size 2"):
        x[5]
    with pytest.raises(IndexError, match=r"too many indices"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match=r"index 7 is out of bounds for dimension 1"):
        x[[0, 1], [0, 7]]


def test_the_gradient_at_the_edges():
    x = torch.zeros(2, requires_grad=True)
    (x.abs().sum() + x.norm() + x.clamp(0, 1).sum()).backward()
    assert x.grad.tolist() == [1.0, 1.0]


NAMES = {
    "x + 1": "AddBackward0", "1 - x": "RsubBackward1", "x - x": "SubBackward0", "2 / x":
    "MulBackward0", "x / 2": "DivBackward0", "x ** 2": "PowBackward0", "2 ** x": "PowBackward2",
    "x ** x": "PowBackward1", "-x": "NegBackward0", "x @ x.T": "MmBackward0", "x @ v":
    "MvBackward0", "v @ v": "DotBackward0", "torch.bmm(x[None], x.T[None])": "BmmBackward0",
    "x.sum()": "SumBackward0", "x.sum(0)": "SumBackward1", "x.mean()": "MeanBackward0",
    "x.mean(0)": "MeanBackward1", "x.max()": "MaxBackward1", "x.max(0)[0]": "MaxBackward0",
    "x.amax(0)": "AmaxBackward0", "x[0]": "SelectBackward0", "x[:, 1:]": "SliceBackward0",
    "x[None]": "UnsqueezeBackward0", "x[...]": "AliasBackward0", "x[[0, 1]]": "IndexBackward0",
    "x.T": "PermuteBackward0", "x.t()": "TBackward0", "x.mT": "TransposeBackward0",
    "x.view(6)": "ViewBackward0", "x.unsqueeze(0)": "UnsqueezeBackward0", "x.expand(2, 2, 3)":
    "ExpandBackward0", "x[:1].squeeze(0)": "SqueezeBackward1", "x.squeeze()": "SqueezeBackward0",
    "torch.cat([x, x])": "CatBackward0", "torch.stack([x, x])": "StackBackward0", "x.clone()":
    "CloneBackward0", "x.double()": "ToCopyBackward0", "x.relu()": "ReluBackward0",
    "x.log_softmax(0)": "LogSoftmaxBackward0", "x.log1p()": "Log1PBackward0", "x.norm()":
    "LinalgVectorNormBackward0", "torch.where(x > 0, x, 0.0)": "WhereBackward0",
    "torch.nn.functional.mse_loss(x, x)": "MseLossBackward0", "x.clamp(0, 1)": "ClampBackward1",
    "torch.nn.functional.cross_entropy(x, torch.tensor([0, 1]))": "NllLossBackward0",
    "x.gather(1, torch.tensor([[0], [1]]))": "GatherBackward0", "x % 2": "RemainderBackward0",
    "x.exp()": "ExpBackward0", "torch.atan2(x, x)": "Atan2Backward0",
}  # fmt: skip


@pytest.mark.parametrize("source", NAMES)
def test_names_of_nodes(source):
    scope = {
        "torch": torch,
        "x": torch.rand(2, 3, requires_grad=True),
        "v": torch.rand(3, requires_grad=True),
    }
    node = eval(source, scope).grad_fn
    assert node.name() == type(node).__name__ == NAMES[source]


def test_every_shared_op_is_exported():
    missing = [name for name in ops.PUBLIC if not hasattr(torch, name)]
    assert not missing and set(ops.PUBLIC) <= set(torch.__all__)


BACKENDS = {"numba", "llvmlite", "networkx", "torch", "scipy"}


def test_importing_dynamic_loads_no_compiler_backend():
    code = "import sys, dynamic; print(sorted(sys.modules))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(names.stdout))
    assert not {name.partition(".")[0] for name in loaded} & BACKENDS
    own = {name for name in loaded if name.startswith("staticgraph.")}
    of_frontend = {name for name in own if name.split(".")[1] not in ("compiler", "dynamic")}
    assert of_frontend == {"staticgraph.leaves"}  # what its package imports
    later = ("capture", "func", "nn", "optim", "utils")  # which a first gradient does not need
    assert not own & {f"staticgraph.dynamic.{name}" for name in later}
    assert "numpy.random" not in loaded


@pytest.mark.slow
def test_dynamic_never_imports_the_other_frontend():
    for path in Path(torch.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "numba"
                names = [f"{node.module}.{name.name}" for name in node.names]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            else:
                continue
            ours = [name.split(".") for name in names if name.startswith("staticgraph")]
            assert all(one[1] in ("compiler", "dynamic") for one in ours), (path, names)


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "mps", "float32"])
def test_there_is_no_device_but_the_cpu(name):
    text = {
        "mps": r"^device: there is no 'mps' here: all tensors are on the CPU$",
        "float32": r"^Expected one of cpu, cuda, .* device string: float32$",
    }.get(name, r"^Torch not compiled with CUDA enabled: all tensors are on the CPU$")
    for movable in (torch.ones(2), torch.nn.Linear(2, 2)):
        with pytest.raises((AssertionError, RuntimeError), match=text):
            movable.to(name)
        with pytest.raises((AssertionError, RuntimeError), match=text):
            movable.to(device=name)
        with pytest.raises(TypeError, match=r"^to\(\) got an unexpected keyword argument 'place'$"):
            movable.to(place=name)
        assert movable.to("cpu") is movable.to(device="cpu:0", non_blocking=True) is movable
        assert movable.to(torch.device("cpu"), torch.float32) is movable
    assert torch.ones(2).to("cpu", torch.float64).dtype == torch.float64


def test_a_leaf_accumulates_in_the_shape_and_dtype_of_its_data():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    x.grad = None
    x.data = torch.ones(3, dtype=torch.float64)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and x.grad.dtype == torch.float64
    x.grad = None
    x.requires_grad_(False).resize_(4).fill_(1.0).requires_grad_()
    x.sum().backward()
    assert x.grad.tolist() == [1.0] * 4
