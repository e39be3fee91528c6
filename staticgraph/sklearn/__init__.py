"""Estimators of scikit-learn around graphs and modules: for pipelines, searches and scores."""

from staticgraph.sklearn.networks import (
    NetworkClassifier as NetworkClassifier,
    NetworkRegressor as NetworkRegressor,
)

__all__ = ["NetworkClassifier", "NetworkRegressor"]
