"""Views by steps that reach what lies between the elements of their tensor."""

import pytest

import dynamic as torch


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("shape", "steps", "start", "expected"),
    [((2,), (5,), 1, [1]), ((1, 4), (3, 3), 4, [13]), ((3,), (1,), 1, [1, 3])],
)
def test_elements_between_those_of_a_tensor_get_no_gradient(
    shape: tuple[int, ...], steps: tuple[int, ...], start: int, expected: list[int],
    create_graph: bool,
) -> None:  # fmt: skip
    x = torch.ones(4, 6, requires_grad=True)
    view = (x * 2)[::2, 1::2].as_strided(shape, steps, start)
    (found,) = torch.autograd.grad(view.sum(), x, create_graph=create_graph)
    assert found.flatten().nonzero().flatten().tolist() == expected
