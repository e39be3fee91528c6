"""A stand-in for torchvision: small made-up data sets, and the transforms that scripts use."""

from . import (
    datasets as datasets,
    models as models,
    ops as ops,
    transforms as transforms,
    utils as utils,
)

__version__ = "0.0"
