"""The ops on matrices that the frontends export as `linalg`: the public ones of each family."""

from staticgraph.compiler.ops.decompositions import *
from staticgraph.compiler.ops.eigenvalues import *
from staticgraph.compiler.ops.exponentials import *
from staticgraph.compiler.ops.matrix_functions import *
from staticgraph.compiler.ops.norms import *
from staticgraph.compiler.ops.systems import *
