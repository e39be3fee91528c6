"""`autocast` on the CPU: dtypes as PyTorch 2.13 gives them, values as of operands that are cast."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import dynamic as torch
import staticgraph as sg
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

BF16, F32 = torch.bfloat16, torch.float32


def _x(*shape: int) -> Any:
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(1.0, count + 1) / count).reshape(shape)


NARROW = {
    "operator": lambda x: x @ x,
    "mm": lambda x: x.mm(x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "linear": lambda x: F.linear(x, x, x[0]),
    "addmm": lambda x: torch.addmm(x[0], x, x),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "conv2d": lambda x: F.conv2d(x[None, None], x[None, None]),
    "conv2d of torch": lambda x: torch.conv2d(x[None, None], x[None, None]),
    "conv_transpose1d": lambda x: F.conv_transpose1d(x[None], x[:, None]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "softmax": lambda x: torch.softmax(x @ x, 1),
    "batch_norm": lambda x: F.batch_norm(x @ x, x[0], x[1]),
    "mixed": lambda x: torch.matmul(x, x.bfloat16()),
    "layer": lambda x: torch.nn.Linear(2, 2)(x),
    "vecdot": lambda x: torch.linalg.vecdot(x, x),
    "padded with zeros": lambda x: F.pad(x @ x, (1, 1)),
    "padded in circles": lambda x: F.pad((x @ x)[None], (1, 1), "circular"),
    "mirrored volume": lambda x: F.pad((x @ x)[None, None, None], (1, 1, 1, 1, 0, 0), "reflect"),
    "addmv of narrow": lambda x: torch.addmv((x @ x)[0], x @ x, (x @ x)[0]),
}
WIDE = {
    "multiply": lambda x: x * x,
    "sum of both": lambda x: x @ x + x,
    "joined": lambda x: torch.cat([x @ x, x]),
    "mse_loss": lambda x: F.mse_loss(x @ x, x),
    "cross_entropy": lambda x: F.cross_entropy(x @ x, torch.tensor([0, 1])),
    "prod": lambda x: torch.prod(x @ x),
    "trace": lambda x: torch.trace(x @ x),
    "cdist": lambda x: torch.cdist(x @ x, x),
    "quantile": lambda x: torch.quantile(x @ x, 0.5),
    "mv": lambda x: x.mv(x[0]),
    "dot": lambda x: x[0].dot(x[1]),
    "bilinear": lambda x: F.bilinear(x, x, x[None]),
    "addmv": lambda x: torch.addmv(x[0], x, x[0]),
    "prod of rows": lambda x: (x @ x).prod(0),
    "mirrored": lambda x: F.pad((x @ x)[None], (1, 1), "reflect"),
    "replicated": lambda x: torch.nn.ReplicationPad1d(1)((x @ x)[None]),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d((x @ x)[None, None, None], 1),
    **{
        name: lambda x, name=name: getattr(torch.linalg, name)(_symmetric(x))
        for name in ("cholesky", "svdvals", "eigvalsh", "inv", "cond", "pinv")
    },
    "qr": lambda x: torch.linalg.qr(_symmetric(x)).Q,
    "svd": lambda x: torch.linalg.svd(_symmetric(x)).U,
    "eigh": lambda x: torch.linalg.eigh(_symmetric(x)).eigenvectors,
    "solve": lambda x: torch.linalg.solve(_symmetric(x), x @ x),
    "lstsq": lambda x: torch.linalg.lstsq(_symmetric(x), x @ x).solution,
    "householder_product": lambda x: torch.linalg.householder_product(x @ x, (x @ x)[0]),
    "cholesky_solve": lambda x: torch.cholesky_solve(x @ x, _symmetric(x)),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(_symmetric(x)),
    "lu_solve": lambda x: torch.linalg.lu_solve(
        x @ x, torch.tensor([1, 2], dtype=torch.int32), x @ x
    ),
    "fft": lambda x: torch.fft.fft(x @ x).real,
    "irfft2": lambda x: torch.fft.irfft2(x @ x),
    "polar": lambda x: torch.polar(x @ x, x @ x).real,
    "view_as_complex": lambda x: torch.view_as_complex(x @ x).real,
}


def _symmetric(x: Any) -> Any:
    """A positive definite matrix in bfloat16."""
    return x.mT @ x + torch.eye(2, dtype=BF16)


@pytest.mark.parametrize("name", [*NARROW, *WIDE])
def test_dtypes(name: str) -> None:
    call = NARROW.get(name) or WIDE[name]
    with torch.autocast("cpu", dtype=BF16):
        found = call(_x(2, 2))
    assert found.dtype == (BF16 if name in NARROW else F32)
    assert call(_x(2, 2).double()).dtype == torch.float64 if name in ("mm", "dot") else True


def test_values_and_gradients_are_those_of_cast_operands() -> None:
    w, b, x = (_x(*shape).requires_grad_() for shape in ((2, 2), (2,), (3, 2)))
    with torch.autocast("cpu"):
        y = F.linear(x, w, b)
    y.sum().backward()
    narrow = [one.detach().bfloat16().requires_grad_() for one in (x, w, b)]
    expected = F.linear(*narrow)
    expected.sum().backward()
    assert torch.equal(y, expected)
    for one, cast in zip((x, w, b), narrow, strict=True):
        assert one.grad.dtype == F32 and torch.equal(one.grad, cast.grad.float())


def test_blocks_nest_and_end() -> None:
    x = _x(2, 2)
    with torch.autocast("cpu", dtype=torch.float16):
        assert torch.is_autocast_enabled("cpu") and not torch.is_autocast_enabled()
        assert torch.get_autocast_dtype("cpu") == torch.float16 == (x @ x).dtype
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype == F32
        assert (x @ x).dtype == torch.float16
        assert (x.double() @ x.double()).dtype == torch.float64
    assert (x @ x).dtype == F32 and not torch.is_autocast_enabled("cpu")

    @torch.autocast("cpu")
    def product() -> Any:
        return x @ x

    assert product().dtype == BF16 and (x @ x).dtype == F32
    with torch.autocast("cpu"):
        for _ in range(3000):  # after which products are machine code
            found = x @ x
    assert found.dtype == BF16


def test_functions_of_users_and_checkpoints() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            assert not torch.is_autocast_enabled("cpu")
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            assert not torch.is_autocast_enabled("cpu")
            (x,) = ctx.saved_tensors
            return g @ x.T + x.T @ g

    w = _x(2, 2).requires_grad_()
    with torch.autocast("cpu"):
        y = Square.apply(w.bfloat16())
        y.sum().backward()
        again = torch.utils.checkpoint.checkpoint(lambda a: (a @ a).relu(), w, use_reentrant=False)
    assert y.dtype == F32 and w.grad.dtype == F32
    w.grad = None
    again.sum().backward()
    assert again.dtype == BF16 and w.grad is not None


def test_a_captured_function_means_what_it_means_outside() -> None:
    x = _x(2, 2)
    product = sg.function(lambda a: a @ a)
    assert product(x).dtype == F32
    with torch.autocast("cpu"):
        assert product(x).dtype == BF16
    assert product(x).dtype == F32

    def region(a: Any) -> Any:
        with torch.autocast("cpu"):
            return a @ a

    found = sg.function(region)(x)
    assert found.dtype == region(x).dtype == BF16 and torch.equal(found, region(x))
    asking = sg.function(lambda a: a * 2 if torch.is_autocast_enabled("cpu") else a)
    assert torch.equal(asking(x), x)
    with torch.autocast("cpu"):
        assert torch.equal(asking(x), 2 * x)
    w = torch.ones(2)

    def writing(a: Any) -> Any:
        w.add_(a)
        return w * 1

    written = sg.function(writing)
    written(x[0])
    with torch.autocast("cpu"):
        written(x[0])
    assert torch.equal(w, 1 + 2 * x[0])


@pytest.mark.slow
def test_a_captured_function_is_cast_as_the_block_around_its_call_says() -> None:
    layer, x = torch.nn.Linear(2, 2), _x(2, 2)
    cases: dict[str, Any] = {
        "linear": layer,
        "loss": lambda x: F.mse_loss(x @ x, x),
        "convolution": lambda x: F.conv2d(x[None, None], x[None, None], x[0, :1]),
        "normalized": lambda x: F.layer_norm(x @ x, (2,)),
        "mv": lambda x: x.mv(x[0]),
        "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    }
    for name, f in cases.items():
        captured = sg.function(lambda x, f=f: f(x))
        for dtype in (None, BF16, torch.float16, None, BF16):
            with torch.autocast("cpu", dtype=dtype or BF16, enabled=dtype is not None):
                found, expected = captured(x), f(x)
            assert found.dtype == expected.dtype, (name, dtype)
            torch.testing.assert_close(found, expected, msg=name)


def test_a_captured_step_in_a_block() -> None:
    x, results = _x(4, 2), []
    for capture in (lambda step: step, sg.function):
        torch.manual_seed(0)
        layer = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

        @capture
        def step(x: Any, layer: Any = layer, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            y = layer(x)
            loss = F.mse_loss(y, x)
            loss.backward()
            optimizer.step()
            return loss, y

        with torch.autocast("cpu"):
            for _ in range(3):
                loss, y = step(x)
        assert (loss.dtype, y.dtype) == (F32, BF16)
        results.append(layer.weight.detach())
    torch.testing.assert_close(*results, rtol=1e-2, atol=1e-3)


def test_a_decorated_function_may_run_in_several_threads_at_once() -> None:
    together = threading.Barrier(2)
    first_left = threading.Event()
    found: dict[str, Any] = {}

    @torch.autocast("cpu", dtype=torch.float16)
    def product(is_first: bool) -> Any:
        together.wait()
        if not is_first:
            first_left.wait()
        return (_x(2, 2) @ _x(2, 2)).dtype

    def first() -> None:
        found["inside of first"] = product(True)
        first_left.set()
        found["after first"] = (_x(2, 2) @ _x(2, 2)).dtype

    def second() -> None:
        with torch.autocast("cpu"):
            found["inside of second"] = product(False)
            found["after second"] = (_x(2, 2) @ _x(2, 2)).dtype

    threads = [threading.Thread(target=one) for one in (first, second)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == {
        "inside of first": torch.float16,
        "after first": F32,
        "inside of second": torch.float16,
        "after second": BF16,
    }


def test_a_dtype_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match=r"argument 'dtype' must be torch\.dtype, not str"):
        torch.autocast("cpu", dtype="bfloat16")


def test_norms_of_narrow_inputs_have_wide_parameters() -> None:
    """PyTorch computes them in float32 and rounds once, whether in autocast or not."""
    x = (torch.arange(24.0) / 7).sin().reshape(3, 8)
    w, b = torch.linspace(0.5, 2, 8).requires_grad_(), torch.linspace(-1, 1, 8).requires_grad_()
    for dtype in (BF16, torch.float16):
        h = x.to(dtype).requires_grad_()
        for call in (
            lambda a: F.layer_norm(a, (8,), w, b),
            lambda a: F.layer_norm(a, (8,), w),
            lambda a: F.rms_norm(a, (8,), w, 1e-5),
        ):
            wide = h.detach().float().requires_grad_()
            for inside in (False, True):
                with torch.autocast("cpu", dtype=dtype, enabled=inside):
                    found, again = call(h), sg.function(call)(h)
                assert found.dtype == again.dtype == dtype
                assert torch.equal(found, call(wide).to(dtype)) and torch.equal(found, again)
            found.float().square().sum().backward()
            first, w.grad = w.grad, None
            call(wide).to(dtype).float().square().sum().backward()
            assert first.dtype == F32 and torch.allclose(first, w.grad)
            assert torch.equal(h.grad, wide.grad.to(dtype))
            h.grad = w.grad = b.grad = None
    assert F.layer_norm(h, (8,), w, b).grad_fn.name() == "NativeLayerNormBackward0"


@pytest.mark.parametrize(
    ("dtypes", "text"),
    [
        ((F32, torch.float64, F32), "expect parameter to have scalar type of Float"),
        ((BF16, F32, BF16), "expect parameter to have scalar type of Float"),
        ((torch.float64, F32, F32), "all inputs must share same datatype"),
        ((F32, F32, torch.float64), "expected scalar type Float but found Double"),
    ],
)
def test_norms_of_other_dtypes_are_refused(dtypes: Any, text: str) -> None:
    x, w, b = (torch.ones(2).to(one) for one in dtypes)
    with pytest.raises(RuntimeError, match=text):
        F.layer_norm(x, (2,), w, b)


@pytest.mark.slow
def test_a_captured_step_of_a_model_is_the_eager_one() -> None:
    found = []
    for captured in (False, True):
        torch.manual_seed(0)
        layers = (
            torch.nn.Linear(4, 8),
            torch.nn.LayerNorm(8),
            torch.nn.GELU(),
            torch.nn.Linear(8, 2),
        )
        model = torch.nn.Sequential(*layers)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x: Any, y: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            with torch.autocast("cpu"):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        call = sg.function(step) if captured else step
        losses = [call(torch.randn(6, 4), torch.tensor([0, 1] * 3)).item() for _ in range(4)]
        found.append((losses, [p.detach() for p in model.parameters()]))
    (eager, expected), (losses, parameters) = found
    assert losses == pytest.approx(eager, rel=1e-5)
    for one, other in zip(parameters, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-5, atol=1e-6)


RECURRENT: dict[str, tuple[Any, list[Any]]] = {
    "RNN": (lambda: torch.nn.RNN(3, 4, 2), [BF16, BF16]),
    "RNN both ways": (lambda: torch.nn.RNN(3, 4, bidirectional=True), [BF16, BF16]),
    "LSTM": (lambda: torch.nn.LSTM(3, 4, 2), [BF16, BF16, BF16]),
    "LSTM with a projection": (lambda: torch.nn.LSTM(3, 4, proj_size=2), [BF16, BF16, F32]),
    "GRU": (lambda: torch.nn.GRU(3, 4), [F32, F32]),
    "RNNCell": (lambda: torch.nn.RNNCell(3, 4), [BF16]),
    "LSTMCell": (lambda: torch.nn.LSTMCell(3, 4), [F32, F32]),
    "GRUCell": (lambda: torch.nn.GRUCell(3, 4), [F32]),
}
"""Layers, and the dtypes of the output and the states."""


def _flat(one: Any) -> list[Any]:
    return [two for part in one for two in _flat(part)] if isinstance(one, tuple) else [one]


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers(name: str) -> None:
    make, dtypes = RECURRENT[name]
    torch.manual_seed(0)
    layer, x = make(), _x(2, 3) if "Cell" in name else _x(5, 2, 3)
    x.requires_grad_()
    with torch.autocast("cpu"):
        found = _flat(layer(x))
    assert [one.dtype for one in found] == dtypes
    for one, other in zip(found, _flat(layer(x)), strict=True):
        assert torch.allclose(one.float(), other, rtol=0.03, atol=0.01)
    sum(one.float().sum() for one in found).backward()
    assert {x.grad.dtype, *(p.grad.dtype for p in layer.parameters())} == {F32}


def test_recurrent_layers_of_float64_and_packed_sequences() -> None:
    layer = torch.nn.LSTM(3, 4)
    packed = torch.nn.utils.rnn.pack_sequence([_x(3, 3), _x(2, 3)])
    with torch.autocast("cpu"):
        found, states = layer(packed)
        assert found.data.dtype == states[0].dtype == F32
        assert layer.double()(_x(5, 2, 3).double())[0].dtype == torch.float64
