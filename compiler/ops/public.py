"""The ops that both frontends export under their own names: the public ones of each family."""

from staticgraph.compiler.ops.arithmetic import *
from staticgraph.compiler.ops.attending import *
from staticgraph.compiler.ops.bitwise import *
from staticgraph.compiler.ops.comparison import *
from staticgraph.compiler.ops.complex_numbers import *
from staticgraph.compiler.ops.conv import *
from staticgraph.compiler.ops.cumulative import *
from staticgraph.compiler.ops.exponential import *
from staticgraph.compiler.ops.indexing import *
from staticgraph.compiler.ops.linalg import *
from staticgraph.compiler.ops.losses import *
from staticgraph.compiler.ops.nn import *
from staticgraph.compiler.ops.normal import cbrt as cbrt
from staticgraph.compiler.ops.padding import *
from staticgraph.compiler.ops.piecewise import *
from staticgraph.compiler.ops.puts import *
from staticgraph.compiler.ops.reduction import *
from staticgraph.compiler.ops.scatter_reductions import *
from staticgraph.compiler.ops.scattering import *
from staticgraph.compiler.ops.shape import *
from staticgraph.compiler.ops.slicing import *
from staticgraph.compiler.ops.sorting import *
from staticgraph.compiler.ops.special import *
from staticgraph.compiler.ops.windows import *
