"""Small networks under the names of torchvision's."""

from __future__ import annotations

from typing import Any

from torch import nn


class _Small(nn.Module):
    """Two convolutions, and a linear layer `fc`."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(64), nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.conv2 = nn.Conv2d(64, 32, 3, 2, 1, bias=False)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(32, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.conv2(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet18(*args: Any, **options: Any) -> Any:
    """A small network."""
    return _Small()


resnet34 = resnet50 = resnet101 = resnet152 = resnet18


class _VGG(nn.Module):
    """The features of a VGG, with few channels."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[Any] = []
        channels = 3
        for width, depth in ((4, 2), (8, 2), (8, 4), (8, 4), (8, 4)):
            for _ in range(depth):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return self.features(x)


def vgg19(*args: Any, **options: Any) -> Any:
    """A small network."""
    return _VGG()


vgg16 = vgg19_bn = vgg16_bn = vgg11 = vgg19


class ResNet18_Weights:  # noqa: N801 - torchvision's names
    DEFAULT = IMAGENET1K_V1 = None


class VGG16_Weights(ResNet18_Weights):  # noqa: N801 - the same
    pass
