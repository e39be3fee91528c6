"""Training steps of whole models, and the convolutions that they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.eager_workloads.common import (
    Makers,
    Step,
    integers,
    tensor,
    training,
    with_values,
)

IMAGES = {
    "1x3x8": (1, 3, 8, 8), "32x1x28": (32, 1, 28, 28), "32x16x26": (32, 16, 26, 26),
    "8x64x56": (8, 64, 56, 56),
}  # fmt: skip


def convolutions(torch: Any) -> Makers:
    """Convolution and pooling, with gradients and some without."""
    functional = torch.nn.functional

    def backward(layer: Callable[..., Any], *operands: Any) -> Step:
        def step() -> Any:
            value = layer(*operands)
            value.backward(value.detach())
            for one in operands:
                one.grad = None
            return value

        return step

    def forward(layer: Callable[..., Any], *operands: Any) -> Step:
        def step() -> Any:
            with torch.no_grad():
                return layer(*operands)

        return step

    def convolution(
        shape: tuple[int, ...], k: int, stride: int, kind: Callable[..., Step]
    ) -> Callable[[], Step]:
        def made() -> Step:
            filters = max(16, shape[1])
            weight = tensor(torch, filters, shape[1], k, k, scale=0.1)
            bias = tensor(torch, filters, scale=0.1)

            def layer(x: Any, w: Any, b: Any) -> Any:
                return functional.conv2d(x, w, b, stride)

            return kind(layer, tensor(torch, *shape), weight, bias)

        return made

    def pooling(shape: tuple[int, ...]) -> Callable[[], Step]:
        return lambda: backward(lambda x: functional.max_pool2d(x, 3, 2, 1), tensor(torch, *shape))

    found: Makers = {}
    for size, shape in IMAGES.items():
        for k, stride in ((3, 1), (3, 2), (1, 1)):
            name = f"conv {k}x{k}/{stride} {size}"
            found[f"{name}, grad"] = convolution(shape, k, stride, backward)
            if (k, stride) == (3, 1):
                found[name] = convolution(shape, k, stride, forward)
        found[f"max pool {size}"] = pooling(shape)
    return found


def cnn(torch: Any) -> Step:
    """Two convolutions with pooling, a linear layer."""
    nn, functional = torch.nn, torch.nn.functional
    x, labels = tensor(torch, 32, 1, 28, 28, grad=False), integers(torch, 10, 32)
    first, second, last = nn.Conv2d(1, 16, 3), nn.Conv2d(16, 32, 3), nn.Linear(800, 10)
    model = with_values(torch, nn.ModuleList([first, second, last]))

    def loss_of() -> Any:
        h = functional.max_pool2d(torch.relu(first(x)), 2)
        h = functional.max_pool2d(torch.relu(second(h)), 2)
        return functional.cross_entropy(last(h.flatten(1)), labels)

    return training(loss_of, torch.optim.SGD(model.parameters(), lr=0.001))


def resnet(torch: Any) -> Step:
    """Two residual blocks of 32 channels on 32x32 images, with batch norm."""
    nn, functional = torch.nn, torch.nn.functional
    x, labels = tensor(torch, 16, 3, 32, 32, grad=False), integers(torch, 10, 16)
    stem, last = nn.Conv2d(3, 32, 3, padding=1), nn.Linear(32, 10)
    blocks = [
        [
            (nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32))
            for _ in range(2)
        ]
        for _ in range(2)
    ]  # fmt: skip
    layers = [stem, last, *(one for block in blocks for pair in block for one in pair)]
    model = with_values(torch, nn.ModuleList(layers))

    def loss_of() -> Any:
        h = torch.relu(stem(x))
        for (first, norm), (second, other) in blocks:
            h = torch.relu(h + other(second(torch.relu(norm(first(h))))))
        return functional.cross_entropy(last(h.mean((2, 3))), labels)

    return training(loss_of, torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9))


def lstm(torch: Any) -> Step:
    """An embedding, an LSTM and a linear layer over 32 characters."""
    nn = torch.nn
    text = integers(torch, 64, 33, 32)
    layers = [nn.Embedding(64, 64), nn.LSTM(64, 128), nn.Linear(128, 64)]
    model = with_values(torch, nn.ModuleList(layers))
    embedding, layer, head = model

    def loss_of() -> Any:
        scores = head(layer(embedding(text[:-1]))[0])
        return nn.functional.cross_entropy(scores.view(-1, 64), text[1:].reshape(-1))

    return training(loss_of, torch.optim.Adam(model.parameters(), lr=1e-5))


def block_of(torch: Any, width: int, heads: int) -> Any:
    """A transformer block as it is usually written."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined] # nn is either engine's
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            n, length, _ = x.size()
            parts = self.attend(self.before(x)).split(width, dim=2)
            q, k, v = (
                part.view(n, length, heads, width // heads).transpose(1, 2) for part in parts
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.project(y.transpose(1, 2).contiguous().view(n, length, width))
            return x + self.narrow(functional.gelu(self.widen(self.between(x))))

    return Block()


def transformer_block(torch: Any) -> Step:
    """One block of width 256 with 8 heads on 8 sequences of 64."""
    x = tensor(torch, 8, 64, 256, grad=False)
    model = with_values(torch, block_of(torch, 256, 8), 0.02)
    return training(lambda: (model(x) ** 2).mean(), torch.optim.AdamW(model.parameters(), lr=1e-5))


def gpt(torch: Any) -> Step:
    """Four blocks of width 256, with embeddings and a vocabulary of 256, on 8 sequences of 64."""
    nn = torch.nn
    text = integers(torch, 256, 8, 65)
    tokens, places = nn.Embedding(256, 256), nn.Embedding(64, 256)
    blocks, norm = [block_of(torch, 256, 8) for _ in range(4)], nn.LayerNorm(256)
    head = nn.Linear(256, 256, bias=False)
    model = with_values(torch, nn.ModuleList([tokens, places, *blocks, norm, head]), 0.02)
    positions = torch.arange(64)

    def loss_of() -> Any:
        x = tokens(text[:, :-1]) + places(positions)
        for block in blocks:
            x = block(x)
        scores = head(norm(x))
        return nn.functional.cross_entropy(scores.view(-1, 256), text[:, 1:].reshape(-1))

    return training(loss_of, torch.optim.AdamW(model.parameters(), lr=1e-5))


def whole_models(torch: Any) -> Makers:
    """Training steps."""
    return {
        "CNN 32x1x28x28, SGD": lambda: cnn(torch),
        "ResNet blocks 16x3x32x32, SGD": lambda: resnet(torch),
        "character LSTM 32x32, Adam": lambda: lstm(torch),
        "transformer block 8x64x256, AdamW": lambda: transformer_block(torch),
        "GPT of 4 layers x 256, 8x64, AdamW": lambda: gpt(torch),
    }
