"""Small made-up data sets of images under torchvision's names."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image

COUNT = 640


class _Images:
    """Images of noise around a pattern of their class."""

    shape: tuple[int, ...] = (28, 28)
    classes: ClassVar[list[str]] = [str(k) for k in range(10)]

    def __init__(
        self,
        root: Any = None,
        train: Any = True,
        transform: Any = None,
        target_transform: Any = None,
        download: bool = False,
        **options: Any,
    ) -> None:
        numbers = np.random.default_rng(1 if train is True or train == "train" else 2)
        self.root, self.train = root, train
        self.transform, self.target_transform = transform, target_transform
        labels = numbers.integers(0, len(self.classes), COUNT)
        patterns = np.random.default_rng(3).integers(0, 160, (len(self.classes), *self.shape))
        images = patterns[labels] + numbers.integers(0, 96, (COUNT, *self.shape))
        self.images = images.astype(np.uint8)
        self.labels = labels.astype(np.int64)
        self.data = torch.from_numpy(self.images)
        self.targets = torch.from_numpy(self.labels)
        self.train_data = self.test_data = self.data
        self.train_labels = self.test_labels = self.targets

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        image: Any = Image.fromarray(self.images[int(index)])
        label: Any = int(self.labels[int(index)])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


class MNIST(_Images):
    pass


class FashionMNIST(_Images):
    pass


class KMNIST(_Images):
    pass


class CIFAR10(_Images):
    shape = (32, 32, 3)


class CIFAR100(_Images):
    shape = (32, 32, 3)
    classes: ClassVar[list[str]] = [str(k) for k in range(100)]


class SVHN(CIFAR10):
    def __init__(
        self, root: Any = None, split: str = "train", transform: Any = None, **o: Any
    ) -> None:
        super().__init__(root, split, transform, **o)


class ImageFolder(_Images):
    shape = (64, 64, 3)

    def __init__(
        self, root: Any = None, transform: Any = None, target_transform: Any = None, **o: Any
    ) -> None:
        super().__init__(root, "val" not in str(root), transform, target_transform)
        self.imgs = self.samples = [(f"{k}.png", int(label)) for k, label in enumerate(self.labels)]


class FakeData(_Images):
    shape = (224, 224, 3)

    def __init__(
        self,
        size: int = 1000,
        image_size: Any = (3, 224, 224),
        num_classes: int = 10,
        transform: Any = None,
        **o: Any,
    ) -> None:
        super().__init__(None, True, transform)
