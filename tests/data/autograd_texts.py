"""Programs whose errors, warnings and printed lines `dynamic` shares with PyTorch.

They run with `torch` as the package, `x` a vector of three that requires grad, and what the
preamble defines. The numbers of the errors are rows of the list of 40 behaviours that the eager
engine follows; row 40, which is not among them, is about compiled regions.
"""

from typing import Any

PREAMBLE = """
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint
x = torch.tensor([1., 2., 3.], requires_grad=True)
def function(forward, backward=None):
    members = {'forward': staticmethod(forward)}
    if backward is not None:
        members['backward'] = staticmethod(backward)
    return type('F', (Function,), members)
"""

_INFERENCE = "with torch.inference_mode():\n    i = torch.ones(3)\n"

ERRORS = [
    (1, "torch.arange(3).requires_grad_()"),
    (1, "torch.tensor([1, 2], requires_grad=True)"),
    (1, "torch.ones(2, dtype=torch.int64, requires_grad=True)"),
    (2, "(x * 2).requires_grad = False"),
    (2, "(x * 2).requires_grad_(False)"),
    (3, "(x * 2).backward()"),
    (3, "torch.autograd.grad(x * 2, x)"),
    (4, "torch.ones(1).backward()"),
    (4, "with torch.no_grad():\n    y = x.sum()\ny.backward()"),
    (4, "torch.autograd.grad(torch.ones(1), x)"),
    (5, "y = (x * x).sum()\ny.backward()\ny.backward()"),
    (5, "y = x.exp().sum()\ntorch.autograd.grad(y, x)\ntorch.autograd.grad(y, x)"),
    (6, "x.mul_(2)"),
    (6, "x += 1"),
    (6, "x[1:].mul_(2)"),
    (6, "x[0] = 1"),
    (6, "x.zero_()"),
    (6, "x.view(3, 1).add_(1)"),
    (7, "s = (x * 2).sigmoid()\ns.add_(1)\ns.sum().backward()"),
    (7, "s = x.double().cos()\nt = s.sin()\ns.detach()[0] = 1\nt.sum().backward()"),
    (7, "w = torch.ones(3)\nt = x * w\nw.add_(1)\nt.sum().backward()"),
    (8, "(x * 2).unbind()[0].add_(1)"),
    (8, "(x * 2).split(1)[1].add_(1)"),
    (8, "(x * 2).chunk(3)[2].mul_(2)"),
    (9, "b = torch.zeros(3)\nwith torch.no_grad():\n    v = b[1:]\nv.add_(x[1:])"),
    (11, "y = x.exp()\ny.detach().zero_()\ny.sum().backward()"),
    (13, "x.grad = torch.ones(2)"),
    (13, "x.grad = torch.ones(3).double()"),
    (13, "x.grad = 3"),
    (13, "x.grad = x"),
    (14, "torch.autograd.grad(x.sum(), torch.ones(3, requires_grad=True))"),
    (14, "torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)"),
    (15, "torch.autograd.grad(x.sum(), torch.ones(3))"),
    (16, "x.sum().backward(inputs=[])"),
    (17, "(x * 2).backward(torch.ones(2))"),
    (17, "torch.autograd.grad(x * 2, x, torch.ones(2))"),
    (18, "torch.ones(2).retain_grad()"),
    (19, "torch.ones(2).register_hook(print)"),
    (19, "y = x * 2\ny.register_hook(lambda g: g[:2])\ny.sum().backward()"),
    (19, "y = x * 2\ny.register_hook(lambda g: 3)\ny.sum().backward()"),
    (21, "(x * 2).register_post_accumulate_grad_hook(print)"),
    (22, "x.numpy()"),
    (22, "(x * 2).numpy()"),
    (23, _INFERENCE + "x * i"),
    (23, _INFERENCE + "i.add_(1)"),
    (23, _INFERENCE + "i._version"),
    (23, _INFERENCE + "i.requires_grad_()"),
    (24, "torch.ones(3)[1:].detach_()"),
    (24, "import copy\ncopy.deepcopy(x * 2)"),
    (25, "function(lambda ctx, a, b: a * b, lambda ctx, g: g).apply(x, x).sum().backward()"),
    (25, "function(lambda ctx, a: a * 2, lambda ctx, g: g[:2]).apply(x).sum().backward()"),
    (25, "function(lambda ctx, a: ctx.save_for_backward(3)).apply(x)"),
    (25, "function(lambda ctx, a: a * 2).apply(x).sum().backward()"),
    (25, "function(lambda ctx, a: a * 2)()(x)"),
    (25, "function(lambda ctx, a: (ctx.mark_dirty(a), a.add_(1))[1]).apply(x)"),
    (26, "f = function(lambda ctx, a: a * 2, once_differentiable(lambda ctx, g: g * 2))\n"
         "y = f.apply(x)\n"
         "g, = torch.autograd.grad((y * y).sum(), x, create_graph=True)\n"
         "g.sum().backward()"),
    (26, "f = function(lambda ctx, a: a * 2, once_differentiable(lambda ctx, g: g * 2))\n"
         "g, = torch.autograd.grad(f.apply(x).sum(), x, create_graph=True)\n"
         "g.sum().backward()"),
    (27, "import warnings\nwarnings.simplefilter('ignore')\n"
         "with torch.autograd.detect_anomaly():\n"
         "    (torch.sqrt(x * 0 - 1)).sum().backward()"),
    (28, "with saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):\n    x.exp()"),
    (32, "with forward_ad.dual_level():\n    forward_ad.make_dual(x, torch.ones(2))"),
    (32, "forward_ad.make_dual(x, torch.ones(3))"),
    (32, "with forward_ad.dual_level():\n    with forward_ad.dual_level():\n        pass"),
    (33, "calls = []\n"
         "def f(a):\n"
         "    calls.append(1)\n"
         "    return a.exp() if len(calls) > 1 else a.exp().sin()\n"
         "checkpoint(f, x, use_reentrant=False).sum().backward()"),
    (34, "torch.set_default_dtype(torch.int32)"),
    (35, "torch.add(x, 1, out=torch.empty(3))"),
    (35, "torch.exp(x, out=torch.empty(3))"),
    (35, "torch.arange(3).add_(1.5)"),
    (35, "torch.ones(3).add_(torch.ones(2, 3))"),
    (35, "bool(torch.ones(2))"),
    (35, "torch.ones(2).item()"),
    (35, "x.resize_(2)"),
    (36, "jacobian(lambda a: torch.ones(2), x, strict=True)"),
    (36, "hessian(lambda a: a * 2, x)"),
    (36, "vjp(lambda a: a * 2, x)"),
    (36, "jvp(lambda a: a.sum(), x)"),
    (36, "hvp(lambda a: a.sum(), x)"),
    (36, "vhp(lambda a: a * 2, x, torch.ones(3))"),
    (36, "torch.func.grad(lambda a: a * 2)(x)"),
    (36, "torch.func.grad_and_value(lambda a: 3)(x)"),
    (37, "torch.optim.SGD([x * 2], lr=0.1)"),
    (37, "torch.optim.SGD([], lr=0.1)"),
    (37, "torch.optim.SGD([x], lr=0.1, nesterov=True)"),
    (37, "torch.optim.SGD([x], lr=-1)"),
    (37, "torch.optim.SGD(x, lr=0.1)"),
    (38, "y = x.exp()\ny.sum().backward()\ny.grad_fn._saved_result"),
]  # fmt: skip
"""Rows, each with a program that raises."""

WARNINGS = [
    (12, "(x * 2).grad"),
    (27, "torch.autograd.detect_anomaly()"),
    (29, "(x ** 2).sum().backward(create_graph=True)"),
    (33, "checkpoint(lambda a: a * 2, x)"),
    (33, "checkpoint(lambda a: a * 2, torch.ones(2), use_reentrant=True)"),
]
"""Rows, each with a program that warns once."""

SAVED = [
    "x + y",
    "x - y",
    "x * y",
    "x * 2",
    "x / y",
    "x / 2",
    "x ** 2",
    "x ** y",
    "2 ** x",
    "x @ w",
    "x.exp()",
    "x.log()",
    "x.sin()",
    "x.cos()",
    "x.tanh()",
    "x.sigmoid()",
    "x.relu()",
    "x.sqrt()",
    "x.rsqrt()",
    "x.abs()",
    "x.reciprocal()",
    "x.sum()",
    "x.sum(0)",
    "x.mean()",
    "x.mean(1)",
    "x.prod()",
    "x.max()",
    "x.amax(1)",
    "x.softmax(1)",
    "x.log_softmax(1)",
    "x.logsumexp(1)",
    "x.transpose(0, 1)",
    "x.reshape(3, 2)",
    "x.unsqueeze(0)",
    "x.squeeze()",
    "x.expand(2, 2, 3)",
    "x.index_select(0, i)",
    "torch.cat([x, y])",
    "torch.stack([x, y])",
    "torch.where(x > 2, x, y)",
    "x.clamp(2.5, 4.5)",
    "x.masked_fill(x > 2, 0.)",
    "x.cumsum(0)",
    "F.mse_loss(x, y)",
    "F.gelu(x)",
    "F.silu(x)",
    "F.elu(x)",
    "F.leaky_relu(x)",
    "F.conv2d(m, k)",
    "torch.maximum(x, y)",
    "torch.atan2(x, y)",
    "x.permute(1, 0)",
    "x.flip(0)",
    "torch.dot(b, b)",
    "torch.bmm(x[None], w[None])",
    "torch.mv(x, w[:, 0])",
    "x.erf()",
]
"""Expressions whose `grad_fn._saved_*` are compared."""


def saved(torch: Any, expression: str) -> dict[str, str]:
    """What the node of an expression keeps, by name, as text: of tensors the elements."""
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "i": torch.tensor([0, 1]),
        **{
            name: torch.tensor(values, requires_grad=True)
            for name, values in {
                "x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
                "y": [[2.0, 1.0, 3.0], [1.0, 5.0, 2.0]],
                "w": [[1.0, 0.5], [2.0, 1.0], [0.0, 1.0]],
                "b": [1.0, 2.0],
                "m": [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]],
                "k": [[[[1.0, 2.0]]]],
            }.items()
        },
    }
    node = eval(expression, names).grad_fn
    found = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            tensor = isinstance(value, torch.Tensor)
            rounded = (value.detach().double() * 1e4).round().tolist() if tensor else value
            found[name] = f"tensor {rounded}" if tensor else repr(rounded)
    return found


SCRIPTS = {
    "row 5": "y = (x + 1).sum()\ny.backward()\ny.backward()\nprint(x.grad)",
    "row 10": "b = torch.zeros(3)\nv = b[1:]\nv.add_(x[0])\nprint(b.grad_fn.name(), "
              "b.requires_grad, v.grad_fn.name(), b, v)",
    "row 11": "y = x.exp()\ny.data.zero_()\ny.sum().backward()\nprint(x.grad)",
    "row 14": "o = torch.ones(3, requires_grad=True)\n"
              "print(torch.autograd.grad((x + 1).sum(), o, allow_unused=True))\n"
              "print(torch.autograd.grad((x + 1).sum(), o, materialize_grads=True))",
    "row 18": "x.retain_grad()\nprint(x.retains_grad)\ny = x * 2\ny.retain_grad()\n"
              "y.register_hook(lambda g: g * 10)\ny.sum().backward()\n"
              "print(y.grad, x.grad, y.retains_grad)",
    "row 20": "y = x * 2\n"
              "y.register_hook(lambda g: print(1))\n"
              "y.register_hook(lambda g: print(2))\n"
              "y.grad_fn.register_prehook(lambda g: print('pre'))\n"
              "y.grad_fn.register_hook(lambda a, b: print('post'))\n"
              "x.register_hook(lambda g: print('x'))\n"
              "x.register_post_accumulate_grad_hook(lambda p: print('acc'))\n"
              "y.sum().backward()",
    "row 30": "g = torch.ones(3)\n(x * 1).backward(g)\nf = x.grad\ng.zero_()\n"
              "(x * 3).sum().backward()\nprint(x.grad is f, f)\n"
              "x.requires_grad_(False)\nprint(x.grad)",
    "row 34": "torch.set_default_dtype(torch.float64)\n"
              "print(torch.tensor(1.5).dtype, (torch.arange(2) / 2).dtype, torch.ones(1))\n"
              "torch.set_default_dtype(torch.float32)\nprint(torch.tensor(1.5).dtype)",
    "row 37": "o = torch.optim.SGD([x], lr=0.1, momentum=0.9, dampening=0.5)\n"
              "(x * 2).sum().backward()\no.step()\nprint(dict(o.state[x]))\n"
              "o.zero_grad()\nprint(x.grad, x)",
    "row 38": "e = x.exp()\ny = x * e\nf = y.grad_fn\n"
              "print(f.name(), f.next_functions[1][0].name(), f.next_functions[0][1], f.metadata)\n"
              "print(f._saved_self is x, f._saved_other.grad_fn is e.grad_fn)\n"
              "print(e.grad_fn._saved_result is e, e.grad_fn._sequence_nr() < f._sequence_nr())",
    "row 39": "with torch.no_grad():\n    print(torch.ones(2, requires_grad=True).requires_grad, "
              "torch.nn.Parameter(torch.ones(2)).requires_grad, (x * 2).requires_grad)",
}  # fmt: skip
"""Programs that print."""


def namespace(torch: object) -> dict[str, object]:
    """What a program runs in; `import torch` in it is the package given."""
    source = PREAMBLE.replace("from torch.", f"from {torch.__name__}.")  # type: ignore[attr-defined]
    names: dict[str, object] = {"torch": torch}
    exec(source, names)
    return names
