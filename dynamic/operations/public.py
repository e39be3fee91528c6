"""The functions that the package exports: the shared ops, and over them what PyTorch has else.

Where two modules have a name, the later import counts: PyTorch's meaning.
"""

# mypy: disable-error-code="assignment"

from compiler.ops.public import *
from dynamic.operations.arranging import *
from dynamic.operations.complex_numbers import *
from dynamic.operations.cumulative import *
from dynamic.operations.distances import *
from dynamic.operations.elements import *
from dynamic.operations.functions import *
from dynamic.operations.in_place import *
from dynamic.operations.numeric_types import *
from dynamic.operations.places import *
from dynamic.operations.pointwise import *
from dynamic.operations.products import *
from dynamic.operations.sampling import *
from dynamic.operations.scattering import *
from dynamic.operations.slices import *
from dynamic.operations.sorting import *
from dynamic.operations.statistics import *
