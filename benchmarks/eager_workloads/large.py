"""Large arrays: elementwise ops, reductions, indexing, products and layers, with gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.eager_workloads.common import (
    Makers,
    Step,
    integers,
    tensor,
    there_and_back,
    with_values,
)


def elementwise(torch: Any) -> Makers:
    """Functions of each element."""
    functional = torch.nn.functional

    def million(function: Any) -> Any:
        return lambda: there_and_back(function, tensor(torch, 1_000_000))

    def millions(function: Any) -> Any:
        return lambda: there_and_back(function, tensor(torch, 4096, 1024))

    def mixed(x: Any) -> Any:
        return torch.tanh(x) * torch.exp(-x * x) + torch.log1p(x * x)

    return {
        "elementwise 1e6": million(mixed),
        "x ** 3 1e6": million(lambda x: x**3),
        "x * y + y 1e6": lambda: there_and_back(
            lambda x, y: x * y + y, tensor(torch, 1_000_000), tensor(torch, 1_000_000, seed=1)
        ),
        "exp 1e6": million(torch.exp), "sigmoid 1e6": million(torch.sigmoid),
        "gelu 1e6": million(functional.gelu), "gelu 4e6": millions(functional.gelu),
        "silu 4e6": millions(functional.silu), "relu 4e6": millions(torch.relu),
    }  # fmt: skip


def reductions(torch: Any) -> Makers:
    """Sums, softmax and norms."""
    functional = torch.nn.functional
    shape = 4096, 1024

    def normalised() -> Step:
        def both(x: Any, weight: Any, bias: Any) -> Any:
            h = functional.layer_norm(x, (1024,), weight, bias)
            return torch.softmax(h, -1) ** 2

        weight, bias = torch.ones(1024), torch.zeros(1024)
        weight.requires_grad_(True)
        bias.requires_grad_(True)
        return there_and_back(both, tensor(torch, *shape), weight, bias)

    def batch_norm() -> Step:
        images = tensor(torch, 64, 64, 32, 32)
        scale, shift = torch.ones(64).requires_grad_(True), torch.zeros(64).requires_grad_(True)

        def function(x: Any, scale: Any, shift: Any) -> Any:
            return functional.batch_norm(x, None, None, scale, shift, True) * x

        return there_and_back(function, images, scale, shift)

    def classes() -> Step:
        labels = integers(torch, 1000, 512)
        return there_and_back(
            lambda x: functional.cross_entropy(x, labels), tensor(torch, 512, 1000)
        )

    def rows(function: Any) -> Any:
        return lambda: there_and_back(function, tensor(torch, *shape))

    return {
        "layer norm + softmax": normalised,
        "softmax 4096x1024": rows(lambda x: torch.softmax(x, -1)[:, :16] ** 2),
        "log softmax 512x1000, nll": classes,
        "sum 4e6": rows(lambda x: x.sum()), "mean(0) 4e6": rows(lambda x: x.mean(0) ** 2),
        "var(1) 4e6": rows(lambda x: x.var(1)), "max(1) 4e6": rows(lambda x: x.max(1)[0]),
        "cumsum(1) 4e6": rows(lambda x: x.cumsum(1)),
        "batch norm 4e6": batch_norm,
    }  # fmt: skip


def rearranged(torch: Any) -> Makers:
    """Indexing, sorting, joining and padding."""
    functional = torch.nn.functional
    table = partial(tensor, torch, 50_000, 64)

    def row_indexing() -> Step:
        rows = integers(torch, 50_000, 10_000)
        return there_and_back(lambda x: x[rows], table())

    def embedding() -> Step:
        tokens = integers(torch, 50_000, 32, 128)
        return there_and_back(lambda x: functional.embedding(tokens, x) ** 2, table())

    def pairs() -> Step:
        rows, columns = integers(torch, 1000, 100_000), integers(torch, 500, 100_000)
        return there_and_back(lambda x: x[rows, columns], tensor(torch, 1000, 500))

    def scattered() -> Step:
        places = integers(torch, 1000, 1000, 500)
        zeros = torch.zeros(1000, 500)
        return there_and_back(lambda x: zeros.scatter_add(0, places, x), tensor(torch, 1000, 500))

    def segments() -> Step:
        places = integers(torch, 1000, 100_000)
        zeros = torch.zeros(1000, 16)
        return there_and_back(
            lambda x: zeros.index_add(0, places, x) ** 2, tensor(torch, 100_000, 16)
        )

    def gathered() -> Step:
        places = integers(torch, 1000, 1000, 500)
        return there_and_back(lambda x: x.gather(0, places), tensor(torch, 1000, 500))

    def masked() -> Step:
        x = tensor(torch, 1000, 1000)
        mask = x.detach() > 0
        return there_and_back(lambda x: x[mask], x)

    def padded() -> Step:
        return there_and_back(
            lambda x: functional.pad(x, (3, 3, 3, 3), mode="reflect"), tensor(torch, 8, 16, 64, 64)
        )

    def joined() -> Step:
        x, y = tensor(torch, 1000, 500), tensor(torch, 1000, 500, seed=1)
        return there_and_back(lambda x, y: torch.cat((x, y), 1) ** 2, x, y)

    def ordered(function: Any, *shape: int) -> Any:
        return lambda: there_and_back(function, tensor(torch, *shape))

    return {
        "row indexing 10,000 of 50,000x64": row_indexing,
        "embedding 32x128 of 50,000x64": embedding,
        "x[i, j], 100,000 of 1000x500": pairs,
        "x[mask] 1e6": masked,
        "scatter_add 500,000": scattered, "index_add 100,000x16": segments,
        "gather 500,000": gathered,
        "reflect pad 8x16x64x64": padded, "cat of 1000x500": joined,
        "topk(10) 64x10,000": ordered(lambda x: x.topk(10)[0], 64, 10_000),
        "sort 64x10,000": ordered(lambda x: x.sort(-1)[0], 64, 10_000),
        "transpose, contiguous 1000x1000": ordered(lambda x: x.t().contiguous(), 1000, 1000),
    }  # fmt: skip


def products(torch: Any) -> Makers:
    """Products of matrices."""

    def of(function: Any, *shapes: tuple[int, ...]) -> Any:
        def made() -> Step:
            operands = [tensor(torch, *shape, scale=0.1, seed=i) for i, shape in enumerate(shapes)]
            return there_and_back(function, *operands)

        return made

    def attention(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True) * v

    heads = (8, 8, 128, 32)
    return {
        "256x256 @ 256x256": of(lambda x, y: x @ y, (256, 256), (256, 256)),
        "1024x1024 @ 1024x1024": of(lambda x, y: x @ y, (1024, 1024), (1024, 1024)),
        "linear 4096x256 to 1024": of(
            torch.nn.functional.linear, (4096, 256), (1024, 256), (1024,)
        ),
        "bmm 64 of 64x64": of(torch.bmm, (64, 64, 64), (64, 64, 64)),
        "einsum bij,bjk->bik": of(
            partial(torch.einsum, "bij,bjk->bik"), (64, 64, 64), (64, 64, 64)
        ),
        "einsum bqhd,bkhd->bhqk": of(
            partial(torch.einsum, "bqhd,bkhd->bhqk"), (8, 128, 8, 32), (8, 128, 8, 32)
        ),
        "cdist 512x64, 512x64": of(torch.cdist, (512, 64), (512, 64)),
        "attention 8x8x128x32, causal": of(attention, heads, heads, heads),
    }  # fmt: skip


def recurrent(torch: Any) -> Makers:
    """Recurrent layers over 50 steps."""

    def over(kind: str) -> Any:
        def made() -> Step:
            layer = with_values(torch, getattr(torch.nn, kind)(128, 128))
            sequence = tensor(torch, 50, 32, 128, grad=False)

            def step() -> Any:
                loss = (layer(sequence)[0] ** 2).sum()
                loss.backward()
                layer.zero_grad()
                return loss

            return step

        return made

    return {f"{kind} 50x32x128": over(kind) for kind in ("LSTM", "GRU", "RNN")}
