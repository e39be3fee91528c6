"""Short programs that show each transform; they print what their comments say."""

from __future__ import annotations

import re
from typing import Any

import pytest

EXAMPLES = {
    "function": """
        import numpy as np, staticgraph as sg

        @sg.function
        def normalise(x, *, axis):
            centred = x - sg.mean(x, axis=axis, keepdims=True)
            return {"values": centred, "scale": sg.sqrt(sg.mean(centred**2, axis=axis))}

        print(normalise(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)["scale"])   # [1. 2.]
        print(normalise(np.array([[1.0, 3.0, 5.0]]), axis=0)["values"])         # [[0. 0. 0.]]
    """,
    "module": """
        import dynamic as torch, staticgraph as sg
        from staticgraph.dynamic import nn

        model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        step = sg.function(lambda model, x, y: ((model(x) - y) ** 2).mean(), name="loss")
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        x = torch.linspace(-1, 1, 40).reshape(20, 2)
        y = x.prod(1, keepdim=True)
        for _ in range(200):
            optimizer.zero_grad()
            loss = step(model, x, y)
            loss.backward()
            optimizer.step()
        print(loss.grad_fn.name(), loss.item() < 0.01)          # lossBackward True
    """,
    "grad": """
        import staticgraph as sg

        def f(x, y):
            return x**2 * y

        print(sg.grad(f)(3.0, 2.0), sg.grad(f, argnums=1)(3.0, 2.0))            # 12.0 9.0
        print(sg.grad(sg.grad(f))(3.0, 2.0))                                    # 4.0
    """,
    "value_and_grad": """
        import numpy as np, staticgraph as sg

        def loss(parameters, x):
            residual = x @ parameters["w"] - 1
            return (residual**2).sum(), residual

        parameters = {"w": np.array([1.0, 2.0])}
        (value, residual), gradient = sg.value_and_grad(loss, has_aux=True)(parameters, np.eye(2))
        print(value, residual, gradient["w"])                   # 1.0 [0. 1.] [0. 2.]
    """,
    "jacobian": """
        import numpy as np, staticgraph as sg

        print(sg.jacobian(lambda x: x[::-1] * x[0])(np.array([2.0, 3.0])).tolist())
        # [[3.0, 2.0], [4.0, 0.0]]
    """,
    "hessian": """
        import numpy as np, staticgraph as sg

        print(sg.hessian(lambda x: x[0] * x[1] ** 2)(np.array([2.0, 3.0])).tolist())
        # [[0.0, 6.0], [6.0, 4.0]]
    """,
    "jvp": """
        import numpy as np, staticgraph as sg

        value, tangent = sg.jvp(lambda x: x * x, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
        print(value, tangent)                                   # [1. 4.] [ 2. 40.]
    """,
    "vjp": """
        import numpy as np, staticgraph as sg

        value, pull = sg.vjp(lambda x, y: x * y.sum(), np.array([1.0, 2.0]), np.array([3.0]))
        by_x, by_y = pull(np.array([1.0, 1.0]))
        print(value, by_x, by_y)                                # [3. 6.] [3. 3.] [3.]
    """,
    "vmap": """
        import numpy as np, staticgraph as sg

        def loss(w, x, y):
            return (x @ w - y) ** 2

        per_example = sg.vmap(sg.grad(loss), in_axes=(None, 0, 0))
        print(per_example(np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 0.0])).tolist())
        # [[2.0, 0.0], [0.0, 4.0]]
    """,
    "save": """
        import numpy as np, os, staticgraph as sg, tempfile

        x, w = sg.placeholder("x", (None, 2)), sg.variable(np.ones(2, "float32"), name="w")
        loss = (x @ w).sum()
        train = sg.compile([x], loss, updates=sg.optim.SGD(lr=0.5).minimize(loss))
        path = os.path.join(tempfile.mkdtemp(), "train.sg")
        train.save(path)
        again = sg.load(path)
        again(np.eye(2, dtype="float32"))
        print(again.variables["w"].value, w.value)              # [0.5 0.5] [1. 1.]
    """,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, capsys: Any) -> None:
    lines = [line[8:] for line in EXAMPLES[name].splitlines()]
    exec(compile("\n".join(lines), name, "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == [found for line in lines for found in re.findall(r"# (.*)", line)]
