"""The functions that both frontends export: those of each module."""

from compiler.functions.arranging import *
from compiler.functions.asking import *
from compiler.functions.bits import *
from compiler.functions.complex_numbers import *
from compiler.functions.counting import *
from compiler.functions.einsum import *
from compiler.functions.elements import *
from compiler.functions.joining import *
from compiler.functions.polynomials import *
from compiler.functions.products import *
from compiler.functions.segments import *
from compiler.functions.sequences import *
from compiler.functions.sets import *
from compiler.functions.statistics import *
