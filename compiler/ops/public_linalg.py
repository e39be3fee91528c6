"""The ops on matrices that the frontends export as `linalg`: the public ones of each family."""

from staticgraph.compiler.ops.linalg.decompositions import *
from staticgraph.compiler.ops.linalg.eigenvalues import *
from staticgraph.compiler.ops.linalg.exponentials import *
from staticgraph.compiler.ops.linalg.matrix_functions import *
from staticgraph.compiler.ops.linalg.systems import *
from staticgraph.compiler.ops.reductions.norms import *
