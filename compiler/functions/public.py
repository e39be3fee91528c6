"""The functions that both frontends export: those of each module."""

from staticgraph.compiler.functions.arranging import *
from staticgraph.compiler.functions.asking import *
from staticgraph.compiler.functions.bits import *
from staticgraph.compiler.functions.complex_numbers import *
from staticgraph.compiler.functions.counting import *
from staticgraph.compiler.functions.einsum import *
from staticgraph.compiler.functions.elements import *
from staticgraph.compiler.functions.joining import *
from staticgraph.compiler.functions.nans import *
from staticgraph.compiler.functions.polynomials import *
from staticgraph.compiler.functions.products import *
from staticgraph.compiler.functions.segments import *
from staticgraph.compiler.functions.sequences import *
from staticgraph.compiler.functions.sets import *
from staticgraph.compiler.functions.statistics import *
