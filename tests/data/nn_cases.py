"""What the tests of `dynamic.nn` and the script that records PyTorch's results both run.

A case is an expression that makes a module or a function, and specifications of its inputs, each a
kind and a shape:

    x normal   k normal, no gradient   p in (0, 1)   b 0 or 1, no gradient   s 1 or -1   m a mask
    + positive   d rows that sum to 1   c counts   i7 indices below 7   0 zeros
    e the edges of activations
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

EDGES = [-20.5, -6.0, -3.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 20.5]


@dataclass(frozen=True)
class Case:
    """A module or function, its inputs, and how it is called with them (`m(*x)`)."""

    make: str
    inputs: tuple[str, ...]
    call: str = "m(*x)"

    @property
    def name(self) -> str:
        """What tells the case from the others."""
        return " | ".join([self.make, *self.inputs, *([self.call] if self.call != "m(*x)" else [])])


def draw(spec: str, rng: np.random.Generator) -> Any:
    """An input of this specification."""
    kind, _, sizes = spec.partition(" ")
    shape = tuple(int(size) for size in sizes.split(",") if size)
    if kind in "xk":
        return rng.normal(size=shape)
    if kind == "0":
        return np.zeros(shape)
    if kind == "e":
        return np.array(EDGES)
    if kind == "p":
        return rng.uniform(0.05, 0.95, shape)
    if kind == "b":
        return rng.integers(0, 2, shape).astype(np.float64)
    if kind == "s":
        return rng.choice([-1.0, 1.0], shape)
    if kind == "+":
        return rng.uniform(0.3, 2.0, shape)
    if kind == "c":
        return rng.integers(0, 6, shape).astype(np.float64)
    if kind == "d":
        rows = rng.uniform(0.1, 1.0, shape)
        return rows / rows.sum(-1, keepdims=True)
    if kind == "m":
        mask = rng.random(shape) < 0.4
        mask[..., 0] = False
        return mask
    return rng.integers(0, int(kind[1:]), shape)


def has_gradient(spec: str) -> bool:
    """Whether the gradient with respect to an input of this specification is compared."""
    return spec[0] in "xep+d"


def run(
    torch: Any, case: Case, inputs: list[Any], state: Any = None, dtype: str = "float64"
) -> dict[str, Any]:
    """The results of a case as arrays by name: state, outputs, gradients, state afterwards.

    `torch` is PyTorch or `dynamic`; `state` is loaded into the module first; floats are `dtype`.
    """
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    m = eval(case.make, names)
    results: dict[str, Any] = {}
    is_module = isinstance(m, torch.nn.Module)
    if is_module:
        m.to(getattr(torch, dtype))
        if state is not None:
            m.load_state_dict({key: torch.from_numpy(np.array(a)) for key, a in state.items()})
        results |= _arrays("state", m.state_dict())
    x = [torch.from_numpy(_cast(np.array(one), dtype)) for one in inputs]
    for one, spec in zip(x, case.inputs, strict=True):
        one.requires_grad_(has_gradient(spec))
    outputs = list(_flat(eval(case.call, names | {"m": m, "x": x})))
    _pull(torch, outputs)
    results |= _arrays("out", dict(enumerate(outputs)))
    results |= _arrays("grad", {i: one.grad for i, one in enumerate(x) if one.requires_grad})
    if is_module:
        results |= _arrays("grad", {name: p.grad for name, p in m.named_parameters()})
        results |= _arrays("after", dict(m.named_buffers()))
    return results


def _cast(array: Any, dtype: str) -> Any:
    return array.astype(dtype) if array.dtype.kind == "f" else array


def _arrays(kind: str, tensors: dict[Any, Any]) -> dict[str, Any]:
    return {
        f"{kind} {name}": np.array(one.detach().numpy())
        for name, one in tensors.items()
        if one is not None
    }


def _flat(value: Any) -> Any:
    if isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    elif value is not None:
        yield value


def _pull(torch: Any, outputs: list[Any]) -> None:
    """Run the reverse pass with a cotangent that differs at every element."""
    total = None
    for output in outputs:
        if output.requires_grad:
            weights = np.cos(1.0 + np.arange(output.numel())).reshape(tuple(output.shape))
            weights = np.asarray(weights, output.detach().numpy().dtype)
            part = (output * torch.from_numpy(weights)).sum()
            total = part if total is None else total + part
    if total is not None:
        total.backward()


def _table(*rows: str) -> list[Case]:
    """Cases of rows `make | input | input ... [| call]`."""
    cases = []
    for row in rows:
        make, *rest = (part.strip() for part in row.split("|"))
        call = rest.pop() if rest and "m(" in rest[-1] else "m(*x)"
        cases.append(Case(make, tuple(rest), call))
    return cases


ACTIVATIONS = _table(
    *(
        f"nn.{make} | e"
        for make in (
            "ReLU()", "ReLU6()", "LeakyReLU()", "LeakyReLU(0.2)", "ELU()", "ELU(0.7)", "SELU()",
            "CELU()", "CELU(1.5)", "GELU()", "GELU(approximate='tanh')", "SiLU()", "Mish()",
            "Sigmoid()", "Tanh()", "Softplus()", "Softplus(2.0, 3.0)", "Softsign()",
            "Softmax(dim=0)", "LogSoftmax(dim=0)", "Softmin(dim=0)", "Hardtanh()",
            "Hardtanh(-2.0, 0.5)", "Hardswish()", "LogSigmoid()", "Tanhshrink()",
            "Softshrink()", "Softshrink(1.0)", "Hardshrink()", "Hardshrink(1.0)",
            "Threshold(0.5, 2.0)", "PReLU()",
        )
    ),
    "nn.PReLU(3) | x 2,3,4",
    "nn.PReLU(3) | x 2,3",
    "nn.GLU() | x 3,4",
    "nn.GLU(0) | x 4,3",
    "nn.Softmax(dim=1) | x 2,3,4",
    "nn.LogSoftmax(dim=-1) | x 2,3,4",
    "lambda x: F.relu(x.clone(), inplace=True) | e",
    "lambda x: F.elu(x.clone(), inplace=True) | e",
    "lambda x: F.silu(x * 1.0, inplace=True) | e",
    "lambda x: F.hardtanh(x * 1.0, inplace=True) | e",
    "lambda x: F.hardswish(x * 1.0, inplace=True) | x 2,3",
    "lambda x: F.softmax(x, dim=0, dtype=torch.float64) | x 2,3",
)  # fmt: skip

LINEAR = _table(
    "nn.Identity(5, a=1) | x 2,3",
    "nn.Linear(3, 2) | x 4,3",
    "nn.Linear(3, 2, bias=False) | x 2,4,3",
    "nn.Linear(3, 2) | x 3",
    "F.linear | x 4,3 | x 3",
    "nn.Bilinear(2, 3, 4) | x 5,2 | x 5,3",
    "nn.Bilinear(2, 3, 4, bias=False) | x 2,5,2 | x 2,5,3",
    "nn.Bilinear(2, 3, 1) | x 2 | x 3",
    "nn.Flatten() | x 2,3,4",
    "nn.Flatten(0, 1) | x 2,3,4",
    "nn.Unflatten(1, (2, 3)) | x 2,6",
    "nn.Unflatten(-1, (-1, 3)) | x 2,6",
    "nn.Dropout(0.0) | x 2,3",
    "nn.Dropout(0.5).eval() | x 2,3",
    "nn.Dropout(1.0) | x 2,3",
    "nn.Embedding(5, 3) | i5 2,4",
    "nn.Embedding(5, 3, padding_idx=2) | i5 4,6",
    "nn.Embedding(5, 3, padding_idx=-1) | i5 12",
    "nn.Embedding(5, 3, max_norm=0.8) | i5 4",
    "nn.Embedding(5, 3, max_norm=1.5, norm_type=1.0) | i5 4",
    "lambda i: F.one_hot(i, 6) | i6 2,3",
    "nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) | x 5,3",
)

NORMALIZATION = _table(
    "nn.LayerNorm(4) | x 3,4",
    "nn.LayerNorm((3, 4), eps=0.1) | x 2,3,4",
    "nn.LayerNorm(4, elementwise_affine=False) | x 3,4",
    "nn.LayerNorm(4, bias=False) | x 3,4",
    "nn.RMSNorm(4) | x 3,4",
    "nn.RMSNorm((3, 4), eps=0.1) | x 2,3,4",
    "nn.RMSNorm(4, elementwise_affine=False) | x 3,4",
    "nn.GroupNorm(2, 6) | x 3,6",
    "nn.GroupNorm(3, 6, eps=0.1) | x 2,6,4",
    "nn.GroupNorm(1, 4, affine=False) | x 2,4,3,2",
    "nn.GroupNorm(2, 4, bias=False) | x 2,4,3",
    "nn.BatchNorm1d(3) | x 5,3",
    "nn.BatchNorm1d(3) | x 5,3,4",
    "nn.BatchNorm1d(3, momentum=None) | x 5,3 | [m(x[0]), m(x[0] * 2)]",
    "nn.BatchNorm1d(3, momentum=0.4, eps=0.1, affine=False) | x 5,3",
    "nn.BatchNorm1d(3, track_running_stats=False) | x 5,3",
    "nn.BatchNorm1d(3, track_running_stats=False).eval() | x 5,3",
    "nn.BatchNorm1d(3).eval() | x 5,3,2",
    "nn.BatchNorm1d(3, bias=False) | x 5,3",
    "nn.BatchNorm2d(3) | x 2,3,4,5",
    "nn.BatchNorm3d(2) | x 2,2,2,3,2",
    "lambda x: F.normalize(x) | x 3,4",
    "lambda x: F.normalize(x, p=1.0, dim=0) | x 3,4",
    "lambda x: F.normalize(x, p=3.0, dim=-1) | x 3,4",
)

_WEIGHT = "torch.tensor([0.2, 1.0, 0.5, 2.0], dtype=torch.float64)"
_THREE = "torch.tensor([0.2, 1.0, 2.0], dtype=torch.float64)"

REGRESSION = _table(
    *(
        f"nn.{make.format(reduction)} | x 4,3 | x 4,3"
        for reduction in ("'mean'", "'sum'", "'none'")
        for make in (
            "MSELoss(reduction={})", "L1Loss(reduction={})", "SmoothL1Loss(reduction={})",
            "HuberLoss(reduction={})", "PoissonNLLLoss(reduction={})",
        )
    ),
    "nn.SmoothL1Loss(beta=0.3) | x 4,3 | x 4,3",
    "nn.SmoothL1Loss(beta=0.0) | x 4,3 | x 4,3",
    "nn.HuberLoss(delta=0.3) | x 4,3 | x 4,3",
    "nn.SmoothL1Loss(reduction='none') | e | 0 15",
    "nn.HuberLoss(reduction='none') | e | 0 15",
    "nn.L1Loss(reduction='none') | e | 0 15",
    "lambda x, t, w: F.mse_loss(x, t, weight=w) | x 4,3 | x 4,3 | + 4,3",
    "lambda x, t, w: F.l1_loss(x, t, weight=w, reduction='sum') | x 4,3 | x 4,3 | + 4,3",
    "lambda x, t, w: F.huber_loss(x, t, weight=w) | x 4,3 | x 4,3 | + 4,3",
    "nn.PoissonNLLLoss(log_input=False) | + 4,3 | c 4,3",
    "nn.PoissonNLLLoss(full=True, reduction='none') | x 4,3 | c 4,3",
    "nn.GaussianNLLLoss() | x 4,3 | x 4,3 | + 4,3",
    "nn.GaussianNLLLoss(full=True, reduction='sum') | x 4,3 | x 4,3 | + 4,1",
    "nn.GaussianNLLLoss(eps=0.9, reduction='none') | x 4,3 | x 4,3 | + 4",
    "lambda x, t: F.gaussian_nll_loss(x, t, 0.5) | x 4,3 | x 4,3",
)  # fmt: skip

CLASSIFICATION = _table(
    *(
        f"nn.{make.replace('@', reduction)} | x 5,4 | i4 5"
        for reduction in ("'mean'", "'sum'", "'none'")
        for make in (
            "CrossEntropyLoss(reduction=@)",
            f"CrossEntropyLoss({_WEIGHT}, reduction=@)",
            "CrossEntropyLoss(label_smoothing=0.3, reduction=@)",
            f"CrossEntropyLoss({_WEIGHT}, label_smoothing=0.3, reduction=@)",
            "CrossEntropyLoss(ignore_index=2, reduction=@)",
            f"CrossEntropyLoss({_WEIGHT}, ignore_index=1, label_smoothing=0.2, reduction=@)",
            "NLLLoss(reduction=@)",
            f"NLLLoss({_WEIGHT}, reduction=@)",
            "NLLLoss(ignore_index=0, reduction=@)",
        )
    ),
    "nn.CrossEntropyLoss() | x 4 | i4",
    "nn.CrossEntropyLoss(label_smoothing=0.1) | x 4 | i4",
    f"nn.CrossEntropyLoss({_WEIGHT}) | x 4 | i4",
    "nn.CrossEntropyLoss() | x 2,4,3 | i4 2,3",
    f"nn.CrossEntropyLoss({_WEIGHT}, ignore_index=3, reduction='none') | x 2,4,3 | i4 2,3",
    "nn.CrossEntropyLoss(label_smoothing=0.1) | x 2,4,3 | i4 2,3",
    "nn.CrossEntropyLoss() | x 5,4 | d 5,4",
    f"nn.CrossEntropyLoss({_WEIGHT}, label_smoothing=0.3) | x 5,4 | d 5,4",
    f"nn.CrossEntropyLoss({_WEIGHT}, reduction='none') | x 2,4,3 | p 2,4,3",
    "nn.CrossEntropyLoss(reduction='sum') | x 4 | d 4",
    f"nn.NLLLoss({_WEIGHT}) | x 2,4,3,2 | i4 2,3,2",
    "nn.NLLLoss() | x 4 | i4",
    *(
        f"nn.{make.replace('@', reduction)} | p 4,3 | p 4,3"
        for reduction in ("'mean'", "'sum'", "'none'")
        for make in ("BCELoss(reduction=@)", f"BCELoss({_THREE}, reduction=@)")
    ),
    "lambda x, t: F.binary_cross_entropy(torch.sigmoid(x), t, reduction='none') | e | b 15",
    "lambda x, t: F.binary_cross_entropy(x.clamp(0, 1), t, reduction='none') | e | b 15",
    *(
        f"nn.{make.replace('@', reduction)} | x 4,3 | p 4,3"
        for reduction in ("'mean'", "'sum'", "'none'")
        for make in (
            "BCEWithLogitsLoss(reduction=@)",
            f"BCEWithLogitsLoss({_THREE}, reduction=@)",
            f"BCEWithLogitsLoss(pos_weight={_THREE}, reduction=@)",
            f"BCEWithLogitsLoss({_THREE}, pos_weight={_THREE} * 3, reduction=@)",
        )
    ),
    "nn.BCEWithLogitsLoss(reduction='none') | e | b 15",
    *(
        f"nn.KLDivLoss(reduction={reduction}) | x 4,3 | d 4,3"
        for reduction in ("'batchmean'", "'sum'", "'none'")
    ),
    "nn.KLDivLoss(reduction='batchmean', log_target=True) | x 4,3 | x 4,3",
    "nn.KLDivLoss(reduction='sum') | x 4,3 | b 4,3",
)

SIMILARITY = _table(
    "nn.CosineSimilarity() | x 4,3 | x 4,3",
    "nn.CosineSimilarity(dim=0, eps=2.0) | x 4,3 | x 4,3",
    "nn.PairwiseDistance() | x 4,3 | x 4,3",
    "nn.PairwiseDistance(p=1.0, keepdim=True) | x 4,3 | x 4,3",
    "nn.PairwiseDistance(p=3.0) | x 4,3 | x 4,3",
    "nn.PairwiseDistance(p=float('inf')) | x 4,3 | x 4,3",
    *(
        f"nn.{make.replace('@', reduction)}"
        for reduction in ("'mean'", "'sum'", "'none'")
        for make in (
            "CosineEmbeddingLoss(reduction=@) | x 5,3 | x 5,3 | s 5",
            "CosineEmbeddingLoss(0.2, reduction=@) | x 5,3 | x 5,3 | s 5",
            "MarginRankingLoss(reduction=@) | x 6 | x 6 | s 6",
            "MarginRankingLoss(0.7, reduction=@) | x 6 | x 6 | s 6",
            "HingeEmbeddingLoss(reduction=@) | x 4,3 | s 4,3",
            "HingeEmbeddingLoss(0.4, reduction=@) | x 4,3 | s 4,3",
            "SoftMarginLoss(reduction=@) | x 4,3 | s 4,3",
            "TripletMarginLoss(reduction=@) | x 4,3 | x 4,3 | x 4,3",
            "TripletMarginLoss(2.0, p=1.0, swap=True, reduction=@) | x 4,3 | x 4,3 | x 4,3",
        )
    ),
    "nn.CosineEmbeddingLoss() | x 3 | x 3 | s",
)

RECURRENT = _table(
    "nn.RNNCell(3, 4) | x 2,3 | x 2,4",
    "nn.RNNCell(3, 4, nonlinearity='relu') | x 2,3",
    "nn.RNNCell(3, 4, bias=False) | x 3 | x 4",
    "nn.LSTMCell(3, 4) | x 2,3 | x 2,4 | x 2,4 | m(x[0], (x[1], x[2]))",
    "nn.LSTMCell(3, 4, bias=False) | x 3",
    "nn.GRUCell(3, 4) | x 2,3 | x 2,4",
    "nn.GRUCell(3, 4, bias=False) | x 3",
    "nn.RNN(3, 4) | x 5,2,3 | x 1,2,4",
    "nn.RNN(3, 4, 2, 'relu', bidirectional=True) | x 3,2,3",
    "nn.RNN(3, 4, num_layers=2, nonlinearity='tanh', batch_first=True) | x 2,3,3 | x 2,2,4",
    "nn.RNN(3, 4, 2) | x 5,3 | x 2,4",
    "nn.LSTM(3, 4) | x 5,2,3",
    "nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True) | x 2,3,3 | x 4,2,4 | x 4,2,4 "
    "| m(x[0], (x[1], x[2]))",
    "nn.LSTM(3, 4, bias=False) | x 5,3 | x 1,4 | x 1,4 | m(x[0], (x[1], x[2]))",
    "nn.LSTM(3, 4, 2, proj_size=2) | x 3,2,3",
    "nn.GRU(3, 4, 2, bidirectional=True) | x 3,2,3 | x 4,2,4",
    "nn.GRU(3, 4, batch_first=True) | x 2,3,3",
    "nn.GRU(3, 4, 2, bias=False) | x 3,3",
)

ATTENTION = _table(
    "F.scaled_dot_product_attention | x 2,3,4 | x 2,5,4 | x 2,5,6",
    "F.scaled_dot_product_attention | x 2,3,4 | x 2,5,4 | x 2,5,6 | k 3,5",
    "lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, ~m, scale=0.3) "
    "| x 2,3,4 | x 2,5,4 | x 2,5,6 | m 3,5",
    "lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True) "
    "| x 2,4,3 | x 2,4,3 | x 2,4,3",
    "lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True) "
    "| x 1,4,3,2 | x 1,2,3,2 | x 1,2,3,2",
    "nn.MultiheadAttention(6, 2) | x 4,3,6 | m(x[0], x[0], x[0])",
    "nn.MultiheadAttention(6, 3, bias=False) | x 4,2,6 | x 5,2,6 | x 5,2,6",
    "nn.MultiheadAttention(6, 2, kdim=3, vdim=4) | x 4,2,6 | x 5,2,3 | x 5,2,4",
    "nn.MultiheadAttention(6, 2, batch_first=True) | x 2,4,6 | x 2,5,6 | x 2,5,6 | m 2,5 "
    "| m(x[0], x[1], x[2], key_padding_mask=x[3])",
    "nn.MultiheadAttention(6, 2) | x 4,6 | x 5,6 | m 4,5 | m(x[0], x[1], x[1], attn_mask=x[2])",
    "nn.MultiheadAttention(6, 2) | x 4,2,6 | k 4,4,4 "
    "| m(x[0], x[0], x[0], attn_mask=x[1], average_attn_weights=False)",
    "nn.MultiheadAttention(6, 2) | x 4,2,6 | m 4,4 | m 2,4 "
    "| m(x[0], x[0], x[0], attn_mask=x[1], key_padding_mask=x[2], need_weights=False)",
    "nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True) | x 3,2,4 | m 3,3 | m 2,3 "
    "| m(x[0], x[0], x[0], attn_mask=x[1], key_padding_mask=x[2])",
    "nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0) | x 3,2,4",
    "nn.TransformerEncoderLayer(4, 2, 6, 0.0, 'gelu', batch_first=True, norm_first=True) "
    "| x 2,3,4 | m 2,3 | m(x[0], src_key_padding_mask=x[1])",
    "nn.TransformerEncoderLayer(4, 2, 6, 0.0, bias=False) | x 3,4 | k 3,3",
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 5, 0.0), 2, nn.LayerNorm(4)) | x 3,2,4",
)

FAMILIES = {
    "activations": ACTIVATIONS, "linear": LINEAR, "normalization": NORMALIZATION,
    "regression": REGRESSION, "classification": CLASSIFICATION, "similarity": SIMILARITY,
    "recurrent": RECURRENT, "attention": ATTENTION,
}  # fmt: skip
CASES = [case for family in FAMILIES.values() for case in family]
