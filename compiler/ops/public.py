"""The ops that both frontends export under their own names: the public ones of each family."""

from staticgraph.compiler.ops.attending import *
from staticgraph.compiler.ops.elementwise.arithmetic import *
from staticgraph.compiler.ops.elementwise.bitwise import *
from staticgraph.compiler.ops.elementwise.comparison import *
from staticgraph.compiler.ops.elementwise.complex_numbers import *
from staticgraph.compiler.ops.elementwise.exponential import *
from staticgraph.compiler.ops.elementwise.normal import cbrt as cbrt
from staticgraph.compiler.ops.elementwise.piecewise import *
from staticgraph.compiler.ops.elementwise.special import *
from staticgraph.compiler.ops.indexing.puts import *
from staticgraph.compiler.ops.indexing.scatter_reductions import *
from staticgraph.compiler.ops.indexing.scattering import *
from staticgraph.compiler.ops.indexing.take import *
from staticgraph.compiler.ops.linalg.products import *
from staticgraph.compiler.ops.losses import *
from staticgraph.compiler.ops.nn import *
from staticgraph.compiler.ops.reductions.cumulative import *
from staticgraph.compiler.ops.reductions.reduction import *
from staticgraph.compiler.ops.reductions.sorting import *
from staticgraph.compiler.ops.shapes.padding import *
from staticgraph.compiler.ops.shapes.shape import *
from staticgraph.compiler.ops.shapes.slicing import *
from staticgraph.compiler.ops.windows.conv import *
from staticgraph.compiler.ops.windows.pool import *
from staticgraph.compiler.ops.windows.windows import *
