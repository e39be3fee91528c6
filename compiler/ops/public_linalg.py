"""The ops on matrices that the frontends export as `linalg`: the public ones of each family."""

from compiler.ops.decompositions import *
from compiler.ops.eigenvalues import *
from compiler.ops.matrix_functions import *
from compiler.ops.norms import *
from compiler.ops.systems import *
