"""The ops that are exported as `special` alone: the public ones of each family."""

from staticgraph.compiler.ops.elementwise.airy import *
from staticgraph.compiler.ops.elementwise.bessel import *
from staticgraph.compiler.ops.elementwise.bessel_decaying import *
from staticgraph.compiler.ops.elementwise.bessel_waves import *
from staticgraph.compiler.ops.elementwise.dilogarithm import *
from staticgraph.compiler.ops.elementwise.exponential import erfinv as erfinv
from staticgraph.compiler.ops.elementwise.exponential_integrals import *
from staticgraph.compiler.ops.elementwise.hypergeometric import *
from staticgraph.compiler.ops.elementwise.incomplete import *
from staticgraph.compiler.ops.elementwise.normal import ndtri as ndtri
from staticgraph.compiler.ops.elementwise.orthogonal import *
from staticgraph.compiler.ops.elementwise.oscillating_integrals import *
from staticgraph.compiler.ops.elementwise.owens_t import *
