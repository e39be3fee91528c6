"""Estimators of scikit-learn around graphs and modules: for pipelines, searches and scores.

A network is a function of expressions, a module of an eager engine, or layers of given widths. It
is compiled when the estimator is fitted, in float64 unless it is a module of another dtype. Fitted
estimators are pickled, cloned and sent to other processes as any.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from staticgraph.compilation import compile
from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import MissingExtraError, OptionError, OutputError
from staticgraph.compiler.core.values import Array
from staticgraph.compiler.graph.expression import Expression, constant
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.executables.executable import Executable
from staticgraph.leaves import Variable, placeholder, variable
from staticgraph.optim import Adam
from staticgraph.tracing.modules import ModuleTensors, is_module

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "staticgraph.sklearn: scikit-learn is not installed: pip install 'staticgraph[sklearn]'"
    ) from None

__all__ = ["NetworkClassifier", "NetworkRegressor"]

Network = Callable[[Expression, int, np.random.RandomState], Expression]


def _layers(widths: tuple[int, ...]) -> Network:
    """Layers with relu between them; the weights are drawn as Glorot and Bengio do (2010)."""

    def network(x: Expression, outputs: int, rng: np.random.RandomState) -> Expression:
        sizes = (int(x.shape[1]), *widths, outputs)
        for place, (n, m) in enumerate(itertools.pairwise(sizes)):
            bound = np.sqrt(6.0 / (n + m))
            w = variable(rng.uniform(-bound, bound, (n, m)), name=f"w{place}")
            b = variable(np.zeros(m), name=f"b{place}")
            x = (x if place == 0 else ops.relu(x)) @ w + b
        return x

    return network


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both have in common: mini-batches, and when training ends."""

    def __init__(
        self,
        network: Any = None,
        *,
        hidden: tuple[int, ...] = (32,),
        optimizer: object = None,
        max_iter: int = 200,
        batch_size: int = 64,
        alpha: float = 1e-4,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        random_state: object = None,
    ) -> None:
        self.network = network
        self.hidden = hidden
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.alpha = alpha
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Array, y: Array, weight: object, outputs: int) -> None:
        """Train on rows and numbers, or indices of classes; sets what ends with an underscore."""
        self._check()
        X, y, weight, count = self._weighted(X, y, weight)
        rng = check_random_state(self.random_state)
        x, out = self._defined(outputs, rng)
        target = placeholder("y", (None,), y.dtype)
        counts = placeholder("weight", (None,), out.dtype)
        loss = ops.mean(counts * self._losses(out, target))
        executable = compile([x], self._predicted(out), name=type(self).__name__)
        weights = [
            one for one in ancestors([out]) if isinstance(one, Variable) and one.dtype.kind == "f"
        ]
        matrices = [w for w in weights if w.ndim > 1] if self.alpha else []
        # a variable, not a constant, so that a search over alpha compiles once
        scale = variable(np.asarray(0.5 * self.alpha / count, out.dtype), name="alpha")
        objective = loss
        for w in matrices:
            objective = objective + scale * ops.sum(w * w)
        optimizer: Any = Adam(lr=0.01) if self.optimizer is None else copy.deepcopy(self.optimizer)
        train = compile(
            [x, target, counts], loss, updates=optimizer.minimize(objective, weights), name="train"
        )
        measure = compile([x, target, counts], loss, name="loss") if self.early_stopping else None
        data = X.astype(x.dtype), y, weight.astype(out.dtype)
        self._train(train, measure, weights, data, rng)
        self._give_back(weights)
        self.predict_ = copy.copy(executable)  # variables of its own, which no other fit changes

    def _weighted(self, X: Array, y: Array, given: object) -> tuple[Array, Array, Array, float]:
        """The rows that count, their weights, which have the mean 1, and the sum they had."""
        weight: Array = _check_sample_weight(given, X, dtype=np.float64)
        if np.any(weight < 0):
            raise OptionError(
                f"{type(self).__name__}: a sample_weight is a number from 0, not {weight.min()}"
            )
        rows = weight > 0
        largest = weight.max()
        kept = weight[rows] / largest  # so that no sum of large ones overflows
        return X[rows], y[rows], kept / kept.mean(), float(kept.sum()) * float(largest)

    def _check(self) -> None:
        """OptionError for what no fit can do with."""
        name = type(self).__name__
        for key in ("max_iter", "batch_size", "n_iter_no_change"):
            if not _is_count(getattr(self, key)):
                raise OptionError(f"{name}: {key} is an int from 1, not {getattr(self, key)!r}")
        for key in ("alpha", "tol", "validation_fraction"):
            value: Any = getattr(self, key)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise OptionError(f"{name}: {key} is a number from 0, not {value!r}")
        if self.network is not None and not callable(self.network):
            raise OptionError(f"{name}: the network is a function or a module: {self.network!r}")
        if is_module(self.network) and not any(True for _ in self.network.parameters()):
            raise OptionError(f"{name}: the module has no parameters: {self.network!r}")
        if not isinstance(self.hidden, list | tuple) or not all(map(_is_count, self.hidden)):
            raise OptionError(f"{name}: hidden is a tuple of widths from 1, not {self.hidden!r}")
        if self.optimizer is not None and not hasattr(self.optimizer, "minimize"):
            raise OptionError(f"{name}: the optimizer is one of sg.optim, not {self.optimizer!r}")

    def _defined(self, outputs: int, rng: np.random.RandomState) -> tuple[Expression, Expression]:
        """The input, and what the network makes of it."""
        network: Any = _layers(tuple(self.hidden)) if self.network is None else self.network
        dtype: Any = "float64"
        if is_module(network):
            self.module_ = copy.deepcopy(network)
            dtype = next(iter(network.parameters())).detach().numpy().dtype
            network = _of_module(copy.deepcopy(network))
        x = placeholder("x", (None, self.n_features_in_), dtype)
        out = network(x, outputs, rng)
        wanted = [(x.shape[0], outputs)] + [(x.shape[0],)] * (outputs == 1)
        if getattr(out, "shape", None) not in wanted:
            raise OutputError(
                f"{type(self).__name__}: the network returns {out!r}, where it takes the shape "
                f"({x.shape[0]}, {outputs})"
            )
        return x, out

    def _train(
        self,
        train: Executable,
        measure: Executable | None,
        weights: list[Variable],
        data: tuple[Array, Array, Array],
        rng: np.random.RandomState,
    ) -> None:
        """Go over the rows until the loss is no longer better, then take the best weights."""
        count = len(data[0])
        order = rng.permutation(count)
        held = int(np.ceil(self.validation_fraction * count)) if measure is not None else 0
        if held >= count:
            raise OptionError(f"{type(self).__name__}: no row of {count} is left to train with")
        tested, rows = order[:held], order[held:]
        best, since, kept = np.inf, 0, None
        self.loss_curve_: list[float] = []
        for _ in range(self.max_iter):
            loss = self._pass(train, data, rng.permutation(rows))
            if measure is not None:
                loss = float(measure(*(one[tested] for one in data)))
            self.loss_curve_.append(loss)
            since = 0 if loss < best - self.tol else since + 1
            if loss < best:
                best = loss
                kept = [w.value for w in weights] if measure is not None else None
            if since >= self.n_iter_no_change:
                break
        self.n_iter_ = len(self.loss_curve_)
        if kept is not None:
            for w, value in zip(weights, kept, strict=True):
                w.value = value

    def _pass(self, train: Executable, data: tuple[Array, ...], order: Array) -> float:
        """The mean loss of the batches of one pass."""
        total = 0.0
        for first in range(0, len(order), self.batch_size):
            rows = order[first : first + self.batch_size]
            total += float(train(*(one[rows] for one in data))) * len(rows)
        return total / len(order)

    def _give_back(self, weights: list[Variable]) -> None:
        """Write the weights into the module, if it is one."""
        if hasattr(self, "module_"):
            values = {w.name: w.value for w in weights}
            tensors = ModuleTensors([self.module_])
            for name, tensor in zip(tensors.names, tensors.current(), strict=True):
                if name in values:
                    tensor.detach().numpy()[...] = values[name]

    def _outputs(self, X: object) -> Any:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return self.predict_(rows.astype(self.predict_.feeds[0].type.dtype))

    def _losses(self, out: Expression, y: Expression) -> Expression:
        raise NotImplementedError

    def _predicted(self, out: Expression) -> Expression:
        raise NotImplementedError


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def _of_module(module: Any) -> Network:
    """A module as a function of expressions; its parameters become variables of their names."""
    trained = {id(one) for one in module.parameters() if one.requires_grad}
    tensors = ModuleTensors([module])
    for places, name, tensor in zip(tensors.tables, tensors.names, tensors.current(), strict=True):
        value = tensor.detach().numpy()
        leaf = variable(value, name=name) if id(tensor) in trained else constant(value)
        for table, key in places:
            table[key] = leaf
    return lambda x, outputs, rng: module(x)


class NetworkRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A network that is fitted to numbers by the mean of squares.

    Args:
        network: a function of the rows, an expression (None, features), of the number of outputs,
            1, and of a source of random numbers, which returns an expression (None, outputs); or
            a module, which is copied, and whose parameters start as they are; None for layers.
            One with dropout or batch statistics, which differ in training, is refused.
        hidden: the widths of the layers, if `network` is None.
        optimizer: one of `sg.optim`; Adam with a rate of 0.01 if None.
        max_iter: the most passes over the rows.
        batch_size: how many rows make a step.
        alpha: of the squares of all matrices in the loss, divided by twice the number of rows.
        early_stopping: whether the loss of a part of the rows, that is not trained with, decides
            when training ends, and which weights are kept.
        validation_fraction: how large that part is.
        n_iter_no_change: after how many passes without a loss that is less by `tol` it ends.
        tol: by how much the loss must get less.
        random_state: of the weights at the start, and the order of the rows.

    Fitted, it has `predict_`, the executable; `loss_curve_`, `n_iter_`; `module_`, the module with
    the weights that were found, if it was given one.

    Example:
        >>> from staticgraph.sklearn import NetworkRegressor
        >>> X = np.linspace(-1, 1, 100)[:, None]
        >>> model = NetworkRegressor(random_state=0).fit(X, X[:, 0] ** 2)
        >>> bool(model.score(X, X[:, 0] ** 2) > 0.95)
        True
    """

    def fit(self, X: object, y: object, sample_weight: object = None) -> NetworkRegressor:
        """Fit it to rows and their numbers, which count as `sample_weight` says: once, if None.

        A row of weight 2 counts as two rows, one of weight 0 as none.

        Example:
            >>> from staticgraph.sklearn import NetworkRegressor
            >>> X = np.linspace(-1, 1, 100)[:, None]
            >>> model = NetworkRegressor(max_iter=5, random_state=0).fit(X, X[:, 0])
            >>> model.n_features_in_
            1
        """
        rows, numbers = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._fit(rows, np.asarray(numbers, np.float64), sample_weight, 1)
        return self

    def predict(self, X: object) -> Array:
        """The numbers of rows.

        Example:
            >>> from staticgraph.sklearn import NetworkRegressor
            >>> X = np.linspace(-1, 1, 100)[:, None]
            >>> model = NetworkRegressor(max_iter=5, random_state=0).fit(X, X[:, 0])
            >>> model.predict(X).shape
            (100,)
        """
        found: Array = self._outputs(X)
        return found

    def _losses(self, out: Expression, y: Expression) -> Expression:
        error = self._predicted(out) - ops.astype(y, out.dtype)
        return error * error

    def _predicted(self, out: Expression) -> Expression:
        return ops.reshape(out, (out.shape[0],))


class NetworkClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A network that is fitted to classes by their cross entropy; see `NetworkRegressor`.

    The network has an output for each class. Fitted, it also has `classes_`.

    Example:
        >>> from staticgraph.sklearn import NetworkClassifier
        >>> X = np.linspace(-1, 1, 100)[:, None]
        >>> model = NetworkClassifier(random_state=0).fit(X, np.where(X[:, 0] > 0, "yes", "no"))
        >>> model.predict([[-0.5], [0.5]])
        array(['no', 'yes'], dtype='<U3')
    """

    def fit(self, X: object, y: object, sample_weight: object = None) -> NetworkClassifier:
        """Fit it to rows and their classes, which count as `sample_weight` says: once, if None.

        Example:
            >>> from staticgraph.sklearn import NetworkClassifier
            >>> X = np.linspace(-1, 1, 100)[:, None]
            >>> model = NetworkClassifier(max_iter=5, random_state=0).fit(X, X[:, 0] > 0)
            >>> model.classes_
            array([False,  True])
        """
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, indices = np.unique(labels, return_inverse=True)
        self._fit(rows, indices.astype(np.int64), sample_weight, len(self.classes_))
        return self

    def predict_proba(self, X: object) -> Array:
        """The probabilities of the classes, in the order of `classes_`.

        Example:
            >>> from staticgraph.sklearn import NetworkClassifier
            >>> X = np.linspace(-1, 1, 100)[:, None]
            >>> model = NetworkClassifier(max_iter=5, random_state=0).fit(X, X[:, 0] > 0)
            >>> model.predict_proba(X).shape
            (100, 2)
        """
        found: Array = self._outputs(X)
        return found

    def predict(self, X: object) -> Array:
        """The likeliest class of each row.

        Example:
            >>> from staticgraph.sklearn import NetworkClassifier
            >>> X = np.linspace(-1, 1, 100)[:, None]
            >>> model = NetworkClassifier(max_iter=5, random_state=0).fit(X, X[:, 0] > 0)
            >>> model.predict([[-0.9], [0.9]])
            array([False,  True])
        """
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        found: Array = self.classes_[likeliest]
        return found

    def _losses(self, out: Expression, y: Expression) -> Expression:
        losses: Expression = ops.cross_entropy(out, y, reduction="none")
        return losses

    def _predicted(self, out: Expression) -> Expression:
        return ops.softmax(out, axis=-1)
