"""The functions that the package exports: the shared ops, and over them what PyTorch has else.

Where two modules have a name, the later import counts: PyTorch's meaning.
"""

# mypy: disable-error-code="assignment"

from staticgraph.compiler.ops.public import *
from staticgraph.dynamic.operations.arranging import *
from staticgraph.dynamic.operations.complex_numbers import *
from staticgraph.dynamic.operations.cumulative import *
from staticgraph.dynamic.operations.distances import *
from staticgraph.dynamic.operations.elements import *
from staticgraph.dynamic.operations.functions import *
from staticgraph.dynamic.operations.in_place import *
from staticgraph.dynamic.operations.numeric_types import *
from staticgraph.dynamic.operations.places import *
from staticgraph.dynamic.operations.pointwise import *
from staticgraph.dynamic.operations.products import *
from staticgraph.dynamic.operations.sampling import *
from staticgraph.dynamic.operations.scattering import *
from staticgraph.dynamic.operations.slices import *
from staticgraph.dynamic.operations.sorting import *
from staticgraph.dynamic.operations.statistics import *
