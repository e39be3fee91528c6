"""Names that public scripts import, beyond the functions themselves."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

import dynamic as torch
from dynamic import nn


def test_bases_of_modules_can_be_imported_from_pytorchs_files() -> None:
    from dynamic.nn.modules.batchnorm import _BatchNorm
    from dynamic.nn.modules.conv import _ConvNd
    from dynamic.nn.modules.loss import _Loss, _WeightedLoss
    from dynamic.nn.modules.utils import _pair, _reverse_repeat_tuple, _triple

    assert isinstance(nn.BatchNorm2d(1), _BatchNorm) and isinstance(nn.Conv1d(1, 1, 1), _ConvNd)
    assert isinstance(nn.MSELoss(), _Loss) and issubclass(_WeightedLoss, _Loss)
    assert _pair(3) == (3, 3) and _triple([1, 2, 3]) == (1, 2, 3)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert isinstance(nn.ConvTranspose1d(1, 1, 1), nn.modules.conv._ConvTransposeNd)
    pooling, of_norms = nn.modules.pooling, nn.modules.batchnorm
    assert isinstance(nn.AdaptiveAvgPool1d(1), pooling._AdaptiveAvgPoolNd)
    assert isinstance(nn.AdaptiveMaxPool1d(1), pooling._AdaptiveMaxPoolNd)
    assert not isinstance(nn.AdaptiveMaxPool1d(1), pooling._AdaptiveAvgPoolNd)
    assert isinstance(nn.MaxPool1d(1), pooling._MaxPoolNd) and isinstance(
        nn.AvgPool1d(1), pooling._AvgPoolNd
    )
    assert isinstance(nn.InstanceNorm1d(1), of_norms._NormBase)
    assert isinstance(nn.Dropout(), nn.modules.dropout._DropoutNd)
    assert isinstance(nn.GRUCell(1, 1), nn.modules.rnn.RNNCellBase)


def test_prefixes_of_keys_are_taken_away() -> None:
    state = {"module.a": 1, "b": 2}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a": 1, "b": 2}


def test_a_layer_derived_from_a_convolution_gives_its_own_weight() -> None:
    class Doubled(nn.Conv2d):
        def forward(self, input):
            return self._conv_forward(input, 2 * self.weight, self.bias)

    layer = Doubled(1, 1, 2, bias=False, padding=1, padding_mode="circular")
    x = torch.arange(9.0).reshape(1, 1, 3, 3)
    assert torch.equal(layer(x), 2 * nn.Conv2d.forward(layer, x))


def test_a_block_leaves_the_generator_as_it_was() -> None:
    torch.manual_seed(0)
    with torch.random.fork_rng():
        first = torch.rand(3)
    assert torch.equal(torch.rand(3), first)
    with torch.random.fork_rng(enabled=False):
        second = torch.rand(3)
    assert not torch.equal(torch.rand(3), second)


def test_weights_are_fetched_once(tmp_path: Path) -> None:
    source = tmp_path / "net.pt"
    torch.save({"w": torch.ones(2)}, str(source))
    known = hashlib.sha256(source.read_bytes()).hexdigest()
    named = tmp_path / f"net-{known[:8]}.pt"
    source.rename(named)
    folder = tmp_path / "kept"
    found = torch.hub.load_state_dict_from_url(named.as_uri(), str(folder), check_hash=True)
    assert found["w"].tolist() == [1.0, 1.0]
    named.unlink()
    assert torch.hub.load_state_dict_from_url(named.as_uri(), str(folder)).keys() == {"w"}
    assert torch.utils.model_zoo.load_url(named.as_uri(), str(folder)).keys() == {"w"}


def test_a_file_with_other_content_is_not_kept(tmp_path: Path) -> None:
    source, target = tmp_path / "net.pt", tmp_path / "copy.pt"
    source.write_bytes(b"other")
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "0123", got "'):
        torch.hub.download_url_to_file(source.as_uri(), str(target), "0123")
    assert not target.exists()


def test_the_folder_of_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.hub, "_folder", [])
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert torch.hub.get_dir() == "/somewhere/hub"
    torch.hub.set_dir("/elsewhere")
    assert torch.hub.get_dir() == "/elsewhere"
    with pytest.raises(RuntimeError, match=r"torch.hub.load\('a/b', 'net'\): code of a repository"):
        torch.hub.load("a/b", "net")


def test_the_size_of_a_storage_counts_its_memory() -> None:
    storage = torch.ones(100).untyped_storage()
    assert sys.getsizeof(storage) >= storage.nbytes() + 48 - 1


def test_whether_a_number_is_in_a_tensor() -> None:
    x = torch.ones(2, 3)
    assert 1.0 in x and 2 not in x and torch.ones(3) in x
    with pytest.raises(RuntimeError, match=r"Tensor.__contains__ only supports Tensor or scalar"):
        "a" in x  # noqa: B015


def test_old_places_of_names() -> None:
    from dynamic.autograd.variable import Variable
    from dynamic.nn.utils.stateless import functional_call

    assert isinstance(torch.ones(1), Variable)
    layer = nn.Linear(1, 1, bias=False)
    assert functional_call(layer, {"weight": torch.ones(1, 1)}, torch.ones(1)).tolist() == [1.0]


def test_integers_like_a_tensor_take_the_bound_by_name() -> None:
    assert torch.randint_like(torch.ones(50), high=2).unique().tolist() == [0.0, 1.0]


def test_recurrent_layers_have_a_base() -> None:
    assert issubclass(nn.LSTM, nn.RNNBase) and isinstance(nn.GRU(1, 1), nn.RNNBase)


def test_seeds_of_gpus_have_a_file_of_their_own() -> None:
    assert torch.cuda.random.manual_seed is torch.cuda.manual_seed


def test_any_node_is_a_node() -> None:
    kind = torch.autograd.graph.Node
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    assert isinstance(y.grad_fn, kind) and isinstance(y.grad_fn.next_functions[0][0], kind)
    assert issubclass(type(y.grad_fn), kind) and issubclass(kind, kind)
    assert not isinstance(x, kind) and not isinstance(None, kind)
    assert issubclass(torch.autograd.function.BackwardCFunction, kind)
    assert kind not in type(y.grad_fn).mro()


def test_functions_of_the_batched_jacobian_get_a_standard_basis() -> None:
    from dynamic.autograd.functional import _construct_standard_basis_for

    first, second = torch.ones(2), torch.ones(1, 2, dtype=torch.float64)
    found = _construct_standard_basis_for((first, second), (2, 2))
    assert found[0].tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    assert found[1].tolist() == [[0, 0], [0, 0], [1, 0], [0, 1]]
    assert (found[0].dtype, found[1].dtype) == (torch.float32, torch.float64)


def test_gradients_are_averaged_in_one_flat_tensor() -> None:
    from dynamic._utils import _flatten_dense_tensors, _take_tensors, _unflatten_dense_tensors

    tensors = [torch.ones(2, 3), torch.arange(4.0), torch.tensor(5.0)]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [1.0] * 6 + [0.0, 1.0, 2.0, 3.0, 5.0]
    parts = _unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(a, b) for a, b in zip(parts, tensors, strict=True))
    flat[0] = 7
    assert parts[0][0, 0] == 7
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        _unflatten_dense_tensors(flat[:3], tensors)
    several = [torch.ones(6), torch.arange(4), torch.ones(1), torch.ones(100), torch.arange(2)]
    sizes = [[one.numel() for one in part] for part in _take_tensors([*several, several[2]], 50)]
    assert sizes == [[6, 1], [100], [1], [4, 2]]


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_what_pytorch_has_removed_says_what_to_use(name: str) -> None:
    with pytest.raises(RuntimeError, match=rf"torch\.{name} was removed .* use torch\.linalg\."):
        getattr(torch, name)(torch.ones(2, 2), eigenvectors=True)


def test_ops_of_the_dispatcher_are_named_and_no_mode_sees_them() -> None:
    from dynamic.utils._python_dispatch import TorchDispatchMode

    aten = torch.ops.aten
    assert aten.mm is aten.mm.default and {aten.mm: 1}[torch.ops.aten.mm] == 1
    assert repr(aten.mm) == "aten.mm" and aten.mm.overloads() == ["default"]
    assert aten.gelu(torch.zeros(1)).tolist() == [0.0]
    assert aten.add_.Tensor(torch.ones(1), torch.ones(1)).tolist() == [2.0]
    with pytest.raises(RuntimeError, match=r"torch\.ops\.aten\._convolution: there is no such"):
        aten._convolution(torch.ones(1))
    with pytest.raises(RuntimeError, match="TorchFunctionMode sees functions"), TorchDispatchMode():
        pass
