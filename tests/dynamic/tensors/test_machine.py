"""What scripts ask of the machine, and of tensors as PyTorch's first years had them."""

from __future__ import annotations

import numpy as np
import pytest

import dynamic as torch
from staticgraph.dynamic.nn.functional import ctc_loss, grid_sample


def test_there_is_no_gpu_and_scripts_see_it():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0
    assert not torch.accelerator.is_available() and not torch.backends.mps.is_available()
    torch.cuda.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
        torch.ones(2).cuda()
    with pytest.raises(TypeError, match=r"^type torch.cuda.FloatTensor not available"):
        torch.cuda.FloatTensor(2)
    with pytest.raises(RuntimeError, match=r"^torch.jit.script\(<lambda>\)|^torch.jit.script"):
        torch.jit.script(torch.nn.Tanh())
    with pytest.warns(UserWarning, match=r"^torch.jit.script\(\S*<lambda>\): .* runs as it is"):
        assert torch.jit.script(lambda x: x + 1)(1) == 2


def test_typed_constructors():
    made = torch.LongTensor([1, 2])
    assert made.dtype == torch.int64 and isinstance(made, torch.LongTensor)
    assert not isinstance(made, torch.FloatTensor) and torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert made.type(torch.FloatTensor).type() == made.type("torch.FloatTensor").type()
    assert made.new([3]).dtype == torch.int64 and made.byte().dtype == torch.uint8
    with pytest.raises(TypeError, match=r"^new\(\): data must be a sequence \(got float\)$"):
        torch.FloatTensor(5.0)


def test_memory():
    x = torch.arange(6.0).reshape(2, 3)
    assert x[1].storage().tolist() == x.storage().tolist() == [0, 1, 2, 3, 4, 5]
    x.storage()[0] = 9.0
    y = torch.zeros(1).set_(x.storage(), 1, (2, 2), (2, 1))
    assert x[0, 0] == 9 and y.tolist() == [[1, 2], [3, 4]] and len(x.untyped_storage()) == 24
    assert x.clone().as_strided_((2,), (2,)).tolist() == [9.0, 2.0]


def test_generators():
    source = torch.Generator().manual_seed(3)
    state = source.get_state()
    first = torch.rand(3, generator=source)
    assert torch.rand(3, generator=source.set_state(state)).tolist() == first.tolist()
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = torch.randn(2)
    torch.set_rng_state(state)
    assert torch.randn(2).tolist() == first.tolist() and torch.initial_seed() == 5
    with pytest.raises(TypeError, match=r"^RNG state must be a torch.ByteTensor$"):
        torch.set_rng_state(first)
    assert torch.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    given = torch.Generator().manual_seed(7)
    with pytest.raises(RuntimeError, match="a seed has 64 bits"):
        given.manual_seed(2**64)
    assert given.initial_seed() == 7
    with pytest.raises(RuntimeError, match="RNG state is invalid: no generator has this one"):
        given.set_state(torch.zeros(len(given.get_state()), dtype=torch.uint8))
    with pytest.raises(RuntimeError, match=r"^RNG state is wrong size"):
        torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_ctc_is_the_sum_over_alignments():
    log_probs = torch.tensor(np.log(np.full((3, 1, 3), 1 / 3))).requires_grad_()
    # of 27 paths of 3 steps, "ab" is what a__, _ab, aab, abb, a_b and ab_ give, less two impossible
    loss = ctc_loss(log_probs, torch.tensor([[1, 2]]), (3,), (2,), reduction="none")
    assert loss.item() == pytest.approx(-np.log(5 / 27))
    assert (
        ctc_loss(log_probs, torch.tensor([[1, 1]]), (2,), (2,), reduction="none").item() == np.inf
    )


def test_grids_between_pixels():
    image = torch.tensor([[[[1.0, 2.0], [3.0, 5.0]]]])
    grid = torch.tensor([[[[0.0, 0.0], [1.0, 1.0], [-3.0, 0.0]]]])
    assert grid_sample(image, grid, align_corners=True).flatten().tolist() == [2.75, 5.0, 0.0]


def test_close_tensors():
    torch.testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    text = r"(?s)^Tensor-likes are not close!.*Mismatched elements: 1 / 2 \(50.0%\)"
    with pytest.raises(AssertionError, match=text):
        torch.testing.assert_close(torch.ones(2), torch.tensor([1.0, 2.0]))


def test_script_modules_run_as_they_are() -> None:
    class Doubled(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            return x * 2

    assert Doubled()(torch.ones(2)).tolist() == [2.0, 2.0]
