"""The ops that both frontends export under their own names: the public ones of each family."""

from compiler.ops.arithmetic import *
from compiler.ops.attention import *
from compiler.ops.bitwise import *
from compiler.ops.comparison import *
from compiler.ops.complex_numbers import *
from compiler.ops.conv import *
from compiler.ops.cumulative import *
from compiler.ops.exponential import *
from compiler.ops.indexing import *
from compiler.ops.linalg import *
from compiler.ops.losses import *
from compiler.ops.nn import *
from compiler.ops.normal import cbrt as cbrt
from compiler.ops.piecewise import *
from compiler.ops.puts import *
from compiler.ops.reduction import *
from compiler.ops.scatter_reductions import *
from compiler.ops.scattering import *
from compiler.ops.shape import *
from compiler.ops.slicing import *
from compiler.ops.sorting import *
from compiler.ops.special import *
from compiler.ops.windows import *
