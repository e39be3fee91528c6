"""Transforms of images, as torchvision names them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from PIL import Image

InterpolationMode = type("InterpolationMode", (), {"BICUBIC": 3, "BILINEAR": 2, "NEAREST": 0})


class Compose:
    def __init__(self, transforms: Any) -> None:
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


class ToTensor:
    def __call__(self, image: Any) -> Any:
        array = np.asarray(image)
        scale = 255.0 if array.dtype == np.uint8 else 1.0
        array = array[..., None] if array.ndim == 2 else array
        return torch.tensor((array / scale).transpose(2, 0, 1).copy())


class Normalize:
    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        self.mean, self.std = mean, std

    def __call__(self, tensor: Any) -> Any:
        mean = torch.tensor(self.mean).reshape(-1, 1, 1)
        return (tensor - mean) / torch.tensor(self.std).reshape(-1, 1, 1)


class Resize:
    def __init__(self, size: Any, interpolation: Any = 2, **options: Any) -> None:
        self.size, self.interpolation = size, interpolation

    def __call__(self, image: Any) -> Any:
        if isinstance(self.size, int):
            width, height = image.size
            short = min(width, height)
            size = (self.size * width // short, self.size * height // short)
        else:
            size = (self.size[1], self.size[0])
        return image.resize(size, 2)


Scale = Resize


class CenterCrop:
    def __init__(self, size: Any) -> None:
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def corner(self, width: int, height: int) -> tuple[int, int]:
        return (width - self.size[1]) // 2, (height - self.size[0]) // 2

    def __call__(self, image: Any) -> Any:
        left, top = self.corner(*image.size)
        return image.crop((left, top, left + self.size[1], top + self.size[0]))


class RandomCrop(CenterCrop):
    def __init__(self, size: Any, padding: int = 0, **options: Any) -> None:
        super().__init__(size)
        self.padding = padding

    def corner(self, width: int, height: int) -> tuple[int, int]:
        spare = width - self.size[1], height - self.size[0]
        return tuple(random.randint(min(0, n), max(0, n)) for n in spare)  # type: ignore[return-value] # two

    def __call__(self, image: Any) -> Any:
        if self.padding:
            image = Pad(self.padding)(image)
        return super().__call__(image)


class Pad:
    def __init__(self, padding: int, **options: Any) -> None:
        self.padding = padding

    def __call__(self, image: Any) -> Any:
        array, n = np.asarray(image), self.padding
        return Image.fromarray(np.pad(array, [(n, n), (n, n), (0, 0)][: array.ndim]))


class RandomResizedCrop(Resize):
    pass


class RandomHorizontalFlip:
    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        return image.transpose(0) if random.random() < self.p else image


class RandomRotation:
    def __init__(self, degrees: Any, **options: Any) -> None:
        self.degrees = degrees

    def __call__(self, image: Any) -> Any:
        return image.rotate(random.uniform(-self.degrees, self.degrees))


class Grayscale:
    def __init__(self, num_output_channels: int = 1) -> None:
        self.count = num_output_channels

    def __call__(self, image: Any) -> Any:
        return image.convert("L" if self.count == 1 else "RGB")


class Lambda:
    def __init__(self, lambd: Any) -> None:
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)


class ToPILImage:
    def __call__(self, tensor: Any) -> Any:
        array = (np.asarray(tensor) * 255).astype(np.uint8).transpose(1, 2, 0)
        return Image.fromarray(array.squeeze(-1) if array.shape[-1] == 1 else array)
