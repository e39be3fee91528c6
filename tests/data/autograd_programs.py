"""Programs on the graph, its hooks and its modes, which print the same in PyTorch and `dynamic`.

`torch` is the package, `x` a vector of three that requires grad. `error(function)` prints the class
of what it raises and the beginning of the message, `warned(function)` those of its warnings.
"""

from __future__ import annotations

import builtins
import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from tests.data.seed_programs import SEEDS

CUT = 60
"""How much of a message is compared: ours goes on with the user's line, PyTorch's with links."""

PREAMBLE = """
from torch.autograd import Function, Variable, forward_ad
from torch.autograd.function import InplaceFunction, once_differentiable
from torch.autograd import functional as F
from torch.autograd.graph import Node, get_gradient_edge, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
x = torch.tensor([1., 2., 3.], requires_grad=True)
def described(fn):
    if fn is None:
        return 'None'
    parts = [described(one) for one, _ in fn.next_functions]
    return type(fn).__name__ + '(' + ', '.join(parts) + ')'
def function(**members):
    return type('F', (Function,), {name: staticmethod(one) for name, one in members.items()})
"""


def error(function: Callable[[], object]) -> None:
    """Print what a function raises."""
    try:
        function()
    except Exception as error:
        kinds = [one.__name__ for one in type(error).__mro__ if one.__name__ in vars(builtins)]
        print(kinds[0], str(error)[:CUT])
    else:
        print("no error")


def warned(function: Callable[[], object]) -> None:
    """Print what a function warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    for one in caught:
        print(one.category.__name__, str(one.message)[:CUT])


def namespace(package: Any) -> dict[str, Any]:
    """What a program runs in."""
    names = {"torch": package, "error": error, "warned": warned, "weakref": weakref, "gc": gc}
    preamble = PREAMBLE.replace("torch.", f"{package.__name__}.").replace(
        f"{package.__name__}.tensor", "torch.tensor"
    )
    exec(preamble, names)
    return names


def parts(text: str) -> dict[str, str]:
    """Programs by their names: each follows a line `# name`."""
    found = {}
    for part in text.strip().split("\n# "):
        name, _, program = part.removeprefix("# ").partition("\n")
        found[name] = program
    return found


PROGRAMS = parts(SEEDS) | parts("""
# a recorded gradient
class MyFunction(Function):
    @staticmethod
    def forward(ctx, a, k, b):
        ctx.k = k
        ctx.save_for_backward(a, b)
        return a + k * b + a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g + g * b, None, g * ctx.k + g * a
y = torch.ones(3, requires_grad=True)
result = MyFunction.apply(x, 2, y)
print(described(result.grad_fn), result, result.grad_fn.name())
warned(lambda: result.sum().backward(torch.ones((), requires_grad=True), create_graph=True))
print(described(x.grad.grad_fn), described(y.grad.grad_fn), x.grad.grad_fn.name())
# once differentiable
class Once(Function):
    @staticmethod
    def forward(ctx, a, k, b):
        return a * b
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g, None, g
g, = torch.autograd.grad(Once.apply(x, 2, x.detach().requires_grad_()).sum(), x,
                         torch.ones((), requires_grad=True), create_graph=True)
print(described(g.grad_fn), g)
error(lambda: g.sum().backward())
# a node as a function
y = x * 2
z = x * x
print(y.grad_fn(torch.ones(3)), z.grad_fn(torch.ones(3)))
error(lambda: y.grad_fn())
error(lambda: y.grad_fn(x, x))
with torch.no_grad():
    print(y.grad_fn(torch.ones(3)), z.grad_fn(torch.ones(3)))
# metadata of a node
m, = (x * x).grad_fn._input_metadata
print(tuple(m.shape), m.dtype, len((x * 2).grad_fn.next_functions))
# what cannot be deleted
error(lambda: delattr(x, 'data'))
error(lambda: delattr(x, 'requires_grad'))
error(lambda: delattr(x, '_backward_hooks'))
error(lambda: delattr(x, '_grad_fn'))
error(lambda: setattr(x, 'data', None))
error(lambda: setattr(x, 'data', torch.tensor([1, 2, 3])))
del x.grad
print(x.grad, x._grad_fn, x._backward_hooks)
# hooks of a tensor by number
handle = x.register_hook(print)
print(len(x._backward_hooks))
handle.remove()
print(x._backward_hooks or None)
x._backward_hooks = {7: lambda g: g * 2}
x.sum().backward()
print(x.grad)
# hooks after accumulation
order = []
x.register_post_accumulate_grad_hook(lambda p: order.append(p.grad.tolist()))
x.sum().backward()
print(order)
y = torch.ones(2, requires_grad=True)
y.register_post_accumulate_grad_hook(lambda p: p)
y.sum().backward()
y.register_post_accumulate_grad_hook(lambda p: p.grad)
error(lambda: y.sum().backward())
z = torch.ones(2, requires_grad=True)
z.register_post_accumulate_grad_hook(lambda p: 3)
error(lambda: z.sum().backward())
# callbacks of the engine
called = []
def final():
    called.append('final')
def adds():
    called.append('first')
    Variable._execution_engine.queue_callback(final)
def backward(ctx, g):
    Variable._execution_engine.queue_callback(adds)
    called.append('backward')
    return g
function(forward=lambda ctx, a: a * 1, backward=backward).apply(x).sum().backward()
print(called)
error(lambda: Variable._execution_engine.queue_callback(print))
# inputs of grad
error(lambda: torch.autograd.grad(x.sum(), []))
error(lambda: torch.autograd.grad(x * 1, x, torch.ones(3, dtype=torch.complex64)))
error(lambda: torch.autograd.grad(x.clone(), x, torch.ones(2, 3, 3)[:, :2], is_grads_batched=True))
g, = torch.autograd.grad((x * 2).sum(), x, create_graph=True)
h = g.requires_grad
y = torch.ones(3, requires_grad=True)
d, = torch.autograd.grad(x.sum(), y, materialize_grads=True, create_graph=True)
print(h, d, torch.autograd.grad(d.sum(), x, materialize_grads=True))
# edges as inputs and outputs
y = x.sin()
z = y.sum()
edge = get_gradient_edge(y)
g, = torch.autograd.grad(z, edge, retain_graph=True)
print(g, torch.autograd.grad(edge, x, g))
error(lambda: get_gradient_edge(torch.ones(2)))
# saved tensors of nodes
error(torch.autograd.SavedTensor)
y = x * x
raw = y.grad_fn._raw_saved_self
print(isinstance(raw, torch.autograd.SavedTensor), y.grad_fn._saved_self)
y.sum().backward()
error(lambda: raw.register_hooks(lambda a: a, lambda a: a))
error(lambda: y.grad_fn._saved_self)
with saved_tensors_hooks(lambda a: 2 * a, lambda a: a):
    y = x * x
print(y.grad_fn._saved_self, y.grad_fn._saved_other)
# ctx of a function
def backward(ctx, g):
    print(ctx.saved_variables[0].tolist())
    return g
f = function(forward=lambda ctx, a: (ctx.save_for_backward(a), a * 1)[1], backward=backward)
warned(lambda: f.apply(x).sum().backward())
warned(lambda: f())
def forward(ctx, a):
    b = a * 1
    ctx.mark_dirty(b)
    return b
warned(lambda: function(forward=forward, backward=lambda ctx, g: g).apply(x))
def several(ctx, a):
    a.add_(1)
    ctx.mark_dirty(a)
    return a, a + 1
g = function(forward=several, backward=lambda ctx, g, h: g + h)
error(lambda: g.apply((x * 1).view_as(x)))
print(g.apply(x * 1)[0])
# gradients that are not materialised
def forward(ctx, a):
    b = a.clone()
    ctx.mark_non_differentiable(b)
    ctx._materialize_non_diff_grads = False
    return a.clone(), b
def backward(ctx, g, h):
    print(g, h)
    return g
function(forward=forward, backward=backward).apply(x)[0].sum().backward()
# the class of a function's node
class Mine(InplaceFunction):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b), b + 2
    @staticmethod
    def backward(ctx, g, h):
        return g, g + h
y = torch.ones(3)
q, p = Mine.apply(y, x)
print(q is y, q.grad_fn.__class__ is Mine._backward_cls, type(q.grad_fn).__name__, q)
q.sum().backward()
print(x.grad)
# decorated classes
def decorate():
    @torch.no_grad()
    class Foo:
        def __init__(self):
            print(torch.is_grad_enabled())
        def method(self):
            print(torch.is_grad_enabled())
    Foo().method()
warned(decorate)
# anomaly inside of a backward pass
class Inner(Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return g * float('nan')
class Outer(Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1
    @staticmethod
    def backward(ctx, g):
        return Inner.apply(g)
def run():
    with torch.autograd.detect_anomaly():
        g, = torch.autograd.grad(Outer.apply(x).sum(), x, torch.ones((), requires_grad=True),
                                 create_graph=True)
        error(lambda: g.sum().backward())
warned(run)
# functional in strict mode
half = lambda a: a.detach() * 2 + 0 * x[0]
error(lambda: F.vjp(lambda a: x * 1, x.detach(), torch.ones(3), strict=True))
error(lambda: F.jvp(lambda a: x * 1, x.detach(), torch.ones(3), strict=True))
error(lambda: F.vhp(lambda a: x.sum(), x.detach(), torch.ones(3), strict=True))
error(lambda: F.hvp(lambda a: x.sum(), x.detach(), torch.ones(3), strict=True))
error(lambda: F.hessian(lambda a: x.sum(), x.detach(), strict=True))
error(lambda: F.vhp(lambda a: a.sum(), x, 3))
error(lambda: F.jvp(lambda a: a, x, 3))
# checkpoints end early
count = [0]
def fn(a):
    b = a.sin().cos()
    count[0] += 1
    return b.clone()
checkpoint(fn, x, use_reentrant=False).sum().backward()
print(count)
with set_checkpoint_early_stop(False):
    y = checkpoint(fn, x, use_reentrant=False)
y.sum().backward()
print(count)
# checkpoints around gradients
def inner(a):
    return a.sin().exp().sin()
def grad(fn):
    def wrapper(a):
        with torch.enable_grad():
            return torch.autograd.grad(fn(a).sum(), a, create_graph=True)[0]
    return wrapper
def c(fn):
    return lambda a: checkpoint(fn, a, use_reentrant=False)
for fn in (grad(c(grad(inner))), c(grad(grad(c(inner)))), grad(c(grad(c(inner))))):
    print(fn(x))
# checkpoints unpack once
def backward(ctx, g):
    a, = ctx.saved_tensors
    error(lambda: ctx.saved_tensors)
    return g * a
f = function(forward=lambda ctx, a: (ctx.save_for_backward(a), a * 1)[1], backward=backward)
checkpoint(lambda a: f.apply(a * 2), x, use_reentrant=False).sum().backward()
print(x.grad)
# mutation of what is saved
with torch.autograd.graph.allow_mutation_on_saved_tensors() as kept:
    y = x.clone()
    z = y**2
    w = y**2
    y.sin_()
    print(len(kept.cloned))
    (z + w).sum().backward()
    print(len(kept.cloned), x.grad)
    y = x.clone()
    z = (y**2).sum()
error(lambda: z.backward())
# forward mode: a function's own jvp
f = function(forward=lambda ctx, a, k: a * k, jvp=lambda ctx, t, k: t * 7)
with forward_ad.dual_level():
    d = forward_ad.make_dual(torch.ones(3), torch.ones(3))
    print(forward_ad.unpack_dual(f.apply(d, 2)))
    error(lambda: function(forward=lambda ctx, a: a * 1).apply(d))
    g = function(forward=lambda ctx, a: (a * 1, a * 2), jvp=lambda ctx, t: t)
    error(lambda: g.apply(d))
# forward mode: what is saved for jvp
def forward(ctx, a, b):
    ctx.save_for_backward(a)
    ctx.save_for_forward(a, b)
    return a * b
def jvp(ctx, s, t):
    print(len(ctx.saved_tensors))
    a, b = ctx.saved_tensors
    return s * b + t * a
f = function(forward=forward, jvp=jvp)
with forward_ad.dual_level():
    d = forward_ad.make_dual(torch.ones(3) * 2, torch.ones(3))
    print(forward_ad.unpack_dual(f.apply(d, torch.ones(3) * 5)).tangent)
# forward mode: views, and what is overwritten
view = function(forward=lambda ctx, a: a[:2], jvp=lambda ctx, t: t[:2])
copied = function(forward=lambda ctx, a: a[:2], jvp=lambda ctx, t: t[:2] * 1)
other = function(forward=lambda ctx, a: a[:2], jvp=lambda ctx, t: (t * 1)[:2])
def twice(ctx, a):
    ctx.mark_dirty(a)
    return a.mul_(2)
inplace = function(forward=twice, jvp=lambda ctx, t: t.mul_(2))
not_inplace = function(forward=twice, jvp=lambda ctx, t: t * 2)
with forward_ad.dual_level():
    d = forward_ad.make_dual(torch.ones(3), torch.ones(3))
    print(forward_ad.unpack_dual(view.apply(d)).tangent)
    error(lambda: copied.apply(d))
    error(lambda: other.apply(d))
    e = forward_ad.make_dual(torch.ones(3), torch.ones(3))
    print(inplace.apply(e) is e, forward_ad.unpack_dual(e).tangent)
    error(lambda: not_inplace.apply(forward_ad.make_dual(torch.ones(3), torch.ones(3))))
# forward mode: dual tensors
with forward_ad.dual_level():
    print(forward_ad._current_level)
    d = forward_ad.make_dual(x, torch.ones(3))
    p, t = forward_ad.unpack_dual(d)
    print(p is x, t is forward_ad.unpack_dual(d).tangent, p.data_ptr() == x.data_ptr())
    (d * d).sum().backward()
    print(x.grad)
    error(lambda: forward_ad.make_dual(torch.ones(3), d))
    m = torch.arange(6.).reshape(2, 3)
    s = torch.ones(3, 2).T
    d = forward_ad.make_dual(m, s)
    print(forward_ad.unpack_dual(d).tangent is s, forward_ad.unpack_dual(d).tangent.stride())
    error(lambda: torch.add(d, d, out=torch.ones(2, 3)))
    d = d.clone()
    d.detach_()
    print(forward_ad.unpack_dual(d * 2).tangent)
print(forward_ad._current_level)
# ties
y = torch.tensor([1., 0., 1., 0., 1., 0.], requires_grad=True)
for f in (torch.min, torch.max, torch.median, torch.nanmedian, torch.amax, torch.amin):
    y.grad = None
    f(y).backward() if f not in (torch.amax, torch.amin) else f(y, 0).backward()
    print(y.grad)
# memory of another size
print(torch.ones(3).resize_(2)._version, torch.ones(3).resize_(3)._version)
with torch.no_grad():
    y = torch.ones(4, requires_grad=True)
    y.set_(y[1:])
print(y, y.requires_grad)
error(lambda: torch.randn(2, dtype=torch.int64))
error(lambda: torch.rand(2, dtype=torch.int64))
# views in no_grad
with torch.no_grad():
    b = x[:]
    b *= 2
print(b)
# inference tensors
with torch.inference_mode():
    c = torch.ones(1, 2, 3)
    c.resize_(1, 2)
    print(torch.is_inference(c), c._is_view(), c.view(-1)._is_view())
out = c.view(-1)
print(torch.is_inference(out), out.requires_grad, out._is_view(), out.is_leaf)
# hooks entered in a backward pass
entered = saved_tensors_hooks(lambda a: a, lambda a: (entered.__enter__(), a)[1])
with entered:
    y = x.sin()
y.sum().backward()
y = x.cos()
print(y.grad_fn._saved_self)
# mixed dtypes
a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
v, w = torch.ones(2), torch.ones(2, dtype=torch.float64)
error(lambda: a @ b)
error(lambda: a @ w)
error(lambda: v @ w)
error(lambda: torch.bmm(a[None], b[None]))
error(lambda: torch.nn.functional.linear(a, b))
error(lambda: torch.nn.functional.conv2d(a[None, None], b[None, None]))
error(lambda: torch.dot(v, w))
error(lambda: torch.mv(a, w))
error(lambda: torch.einsum('ij,jk->ik', a, b))
error(lambda: torch.cat([a, b]))
error(lambda: torch.where(a > 0, a, b))
error(lambda: torch.nn.functional.cross_entropy(a, torch.ones(2, dtype=torch.int32)))
error(lambda: torch.nn.functional.mse_loss(a, b))
error(lambda: torch.nn.LayerNorm(2)(b))
error(lambda: torch.nn.functional.nll_loss(a, torch.ones(2, dtype=torch.int32)))
error(lambda: torch.nn.functional.binary_cross_entropy(a, b))
error(lambda: torch.nn.functional.embedding(torch.ones(2), a))
error(lambda: a.index_add_(0, torch.tensor([0]), b[:1]))
error(lambda: a.scatter_(0, torch.tensor([[0, 0]]), b))
error(lambda: a.lerp(b, 0.5))
error(lambda: torch.outer(v, w))
error(lambda: a.index_copy_(0, torch.tensor([0]), b[:1]))
error(lambda: a.masked_scatter_(a > 0, b))
error(lambda: a.__setitem__(torch.tensor([0]), b[0]))
error(lambda: torch.take_along_dim(a, torch.ones(2, 2, dtype=torch.int32), 0))
error(lambda: torch.nn.LSTM(2, 2)(b[None]))
error(lambda: torch.nn.Linear(2, 2)(b))
error(lambda: torch.nn.functional.scaled_dot_product_attention(a[None], b[None], b[None]))
""")
