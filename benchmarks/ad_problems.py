"""The problems of ADBench, as users of staticgraph write them, for `ad_suite.py`.

Srajer, Kukelova, Fitzgibbon, "A benchmark of selected algorithmic differentiation tools on some
problems in computer vision and machine learning", 2018, section 2. Each is a class that reads the
suite's files; `objective` and `derivative` say, in ops, what the suite asks for, and `flat` puts
the values of a derivative into the order of the suite's files. What is done for each sample,
observation, bone or correspondence is the function of one of them, mapped by `vmap`.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]
PI = 3.14159265359  # the suite's


def numbers(path: Path) -> Any:
    """What a file holds, as one vector."""
    return np.array(path.read_text().split(), "float64")


class Gmm:
    """The log posterior of a Gaussian mixture under a Wishart prior, and its gradient."""

    def read(self, path: Path) -> Arrays:
        """Parameters, samples, and the prior."""
        values = numbers(path)
        side, components, samples = values[:3].astype(int)
        lengths = [components, components * side, components * side * (side + 1) // 2]
        ends = np.cumsum([3, *lengths, samples * side])
        logits, means, factors, x = (values[a:b] for a, b in pairwise(ends))
        self.prior = values[-2], int(values[-1])
        return {
            "logits": logits,
            "means": means.reshape(components, side),
            "factors": factors.reshape(components, -1),
            "x": x.reshape(samples, side),
        }

    def objective(self, sg: Any, logits: Any, means: Any, factors: Any, x: Any) -> Any:
        """The log posterior."""
        side = means.shape[1]
        columns, rows = np.triu_indices(side, 1)  # a factor is stored column by column

        def component(sample: Any, logit: Any, mean: Any, factor: Any) -> Any:
            below = sg.index_put(sg.zeros((side, side), "float64"), (rows, columns), factor[side:])
            apart = sample - mean
            whitened = sg.exp(factor[:side]) * apart + below @ apart
            return logit + sg.sum(factor[:side]) - 0.5 * sg.sum(whitened * whitened)

        def likelihood(sample: Any) -> Any:
            parts = sg.vmap(lambda *one: component(sample, *one))(logits, means, factors)
            return sg.logsumexp(parts, 0)

        norm = sg.logsumexp(logits, 0) + 0.5 * side * math.log(2 * PI)
        fitted = sg.sum(sg.vmap(likelihood)(x)) - x.shape[0] * norm
        return fitted + self._prior(sg, factors, side)

    def _prior(self, sg: Any, factors: Any, side: int) -> Any:
        gamma, freedom = self.prior
        n = side + freedom + 1
        log_gamma = 0.25 * side * (side - 1) * math.log(PI)
        log_gamma += sum(math.lgamma(0.5 * (n - j)) for j in range(side))
        constant = n * side * (math.log(gamma) - 0.5 * math.log(2)) - log_gamma
        logs, below = factors[:, :side], factors[:, side:]
        squares = sg.sum(sg.exp(logs) ** 2) + sg.sum(below * below)
        return 0.5 * gamma**2 * squares - freedom * sg.sum(logs) - factors.shape[0] * constant

    def derivative(self, sg: Any, **given: Any) -> list[Any]:
        """The value, and the gradients by all parameters."""
        value = self.objective(sg, **given)
        return [value, *sg.grad(value, [given[name] for name in ("logits", "means", "factors")])]

    def flat(self, outputs: list[Any]) -> Any:
        """The gradient as one vector."""
        return np.concatenate([one.ravel() for one in outputs[1:]])


class Lstm:
    """The loss of an LSTM whose matrices are diagonal, over a sequence, and its gradient."""

    def read(self, path: Path) -> Arrays:
        """Parameters of layers, of input and output, the first states, and the sequence."""
        values = numbers(path)
        layers, length, width = values[:3].astype(int)
        ends = np.cumsum([3, 8 * layers * width, 3 * width, 2 * layers * width, length * width])
        main, extra, state, sequence = (
            values[a:b] for a, b in pairwise(ends)
        )  # fmt: skip
        return {
            "main": main.reshape(layers, 2, 4, width),
            "extra": extra.reshape(3, width),
            "state": state.reshape(layers, 2, width),
            "sequence": sequence.reshape(length, width),
        }

    def objective(self, sg: Any, main: Any, extra: Any, state: Any, sequence: Any) -> Any:
        """The loss: what is predicted of each element by those before it."""

        def layer(weights: Any, biases: Any, hidden: Any, cell: Any, x: Any) -> tuple[Any, Any]:
            forget = sg.sigmoid(x * weights[0] + biases[0])
            into = sg.sigmoid(hidden * weights[1] + biases[1])
            out = sg.sigmoid(x * weights[2] + biases[2])
            cell = cell * forget + into * sg.tanh(hidden * weights[3] + biases[3])
            return out * sg.tanh(cell), cell

        def step(states: Any, seen: Any) -> tuple[Any, Any]:
            x, wanted = seen
            x, after = x * extra[0], []
            for i, (hidden, cell) in enumerate(states):
                after.append(layer(main[i, 0], main[i, 1], hidden, cell, x))
                x = after[-1][0]
            predicted = x * extra[1] + extra[2]
            norm = sg.log(sg.sum(sg.exp(predicted)) + 2)
            return after, sg.sum(wanted * (predicted - norm))

        first = [(state[i, 0], state[i, 1]) for i in range(main.shape[0])]
        _, gains = sg.scan(step, first, (sequence[:-1], sequence[1:]))
        return -sg.sum(gains) / ((sequence.shape[0] - 1) * sequence.shape[1])

    def derivative(self, sg: Any, **given: Any) -> list[Any]:
        """The value, and the gradients by all parameters."""
        value = self.objective(sg, **given)
        return [value, *sg.grad(value, [given["main"], given["extra"]])]

    def flat(self, outputs: list[Any]) -> Any:
        """The gradient as one vector."""
        return np.concatenate([one.ravel() for one in outputs[1:]])


class Ba:
    """The residuals of bundle adjustment and their Jacobian, as a sparse matrix: CSR's arrays."""

    def read(self, path: Path) -> Arrays:
        """Cameras, points, weights and features: the suite's files have one, which it repeats."""
        values = numbers(path)
        cameras, points, observations = values[:3].astype(int)
        place = np.arange(observations)
        self.columns = 11 * cameras, 3 * points
        return {
            "cameras": np.tile(values[3:14], (cameras, 1)),
            "points": np.tile(values[14:17], (points, 1)),
            "weights": np.repeat(values[17], observations),
            "seen": np.tile(values[18:20], (observations, 1)),
            "camera_of": (place % cameras).astype("int32"),
            "point_of": (place % points).astype("int32"),
        }

    def _projected(self, sg: Any, camera: Any, point: Any) -> Any:
        """Where a camera sees a point: Rodrigues' formula, perspective, radial distortion."""
        rotation, apart = camera[0:3], point - camera[3:6]
        angle = sg.sqrt(sg.sum(rotation * rotation))
        axis = rotation / angle
        along = axis * sg.sum(axis * apart) * (1 - sg.cos(angle))
        x = apart * sg.cos(angle) + sg.cross(axis, apart) * sg.sin(angle) + along
        flat = x[0:2] / x[2]
        radius = sg.sum(flat * flat)
        distortion = 1 + camera[9] * radius + camera[10] * radius * radius
        return flat * distortion * camera[6] + camera[7:9]

    def _residual(self, sg: Any, camera: Any, point: Any, weight: Any, feature: Any) -> Any:
        return weight * (self._projected(sg, camera, point) - feature)

    def objective(self, sg: Any, **given: Any) -> list[Any]:
        """The errors of the projections and of the weights."""
        camera, point = given["cameras"][given["camera_of"]], given["points"][given["point_of"]]
        weights = given["weights"]
        errors = sg.vmap(lambda *one: self._residual(sg, *one))(
            camera, point, weights, given["seen"]
        )
        return [errors, 1 - weights * weights]

    def derivative(self, sg: Any, **given: Any) -> list[Any]:
        """The errors, what is not zero of their Jacobian, row by row, and in which columns."""
        camera_of, point_of, weights = given["camera_of"], given["point_of"], given["weights"]
        camera, point = given["cameras"][camera_of], given["points"][point_of]

        def observed(*one: Any) -> Any:
            def residual(*by: Any) -> Any:
                return self._residual(sg, *by, one[3])

            by_camera, by_point, by_weight = sg.jacobian(residual, (0, 1, 2))(*one[:3])
            rows = sg.concatenate([by_camera, by_point, by_weight[:, None]], axis=1)
            return residual(*one[:3]), rows

        def columns(camera: Any, point: Any, number: Any) -> Any:
            first, second = self.columns
            parts = [
                11 * camera + np.arange(11, dtype="int32"),
                first + 3 * point + np.arange(3, dtype="int32"),
                sg.reshape(first + second + number, (1,)),
            ]
            row = sg.concatenate(parts)
            return sg.stack([row, row])

        errors, rows = sg.vmap(observed)(camera, point, weights, given["seen"])
        places = sg.vmap(columns)(camera_of, point_of, sg.arange(weights.shape[0], dtype="int32"))
        return [errors, 1 - weights * weights, rows, -2 * weights, places]

    def flat(self, outputs: list[Any]) -> Any:
        """The values in their order."""
        return np.concatenate([outputs[2].ravel(), outputs[3]])


class Hand:
    """The distances of a hand's surface from what was seen of it, and their Jacobian."""

    def read(self, path: Path) -> Arrays:
        """What was seen and where, and the pose; the model of the hand lies beside the file."""
        self._read_model(path.parent / "model")
        values = numbers(path)
        count, angles = values[:2].astype(int)
        table = values[2 : 2 + 4 * count].reshape(count, 4)
        return {
            "theta": values[-angles:],
            "places": table[:, 0].astype("int32"),
            "seen": table[:, 1:].copy(),
        }

    def _read_model(self, folder: Path) -> None:
        bones = [line.split(":") for line in (folder / "bones.txt").read_text().split()]
        self.parents = [int(bone[1]) for bone in bones]
        matrices = np.array([bone[2:] for bone in bones], "float64").reshape(-1, 2, 4, 4)
        self.relatives, self.inverses = matrices[:, 0], matrices[:, 1]
        vertices = [line.split(":") for line in (folder / "vertices.txt").read_text().split()]
        positions = np.ones((4, len(vertices)))
        weights = np.zeros((len(bones), len(vertices)))
        for n, vertex in enumerate(vertices):
            positions[:3, n] = [float(one) for one in vertex[:3]]
            for bone, weight in zip(vertex[9::2], vertex[10::2], strict=True):
                weights[int(bone), n] = float(weight)
        self.weighted = weights[:, None] * positions  # what each bone moves of each vertex
        triangles = (folder / "triangles.txt").read_text().split()
        self.triangles = np.array([line.split(":") for line in triangles], "int32")

    def _turned_about(self, sg: Any, axis: Any) -> Any:
        """The rotation about an axis by its length."""
        angle = sg.sqrt(sg.sum(axis * axis))
        x, y, z = (axis[i] / angle for i in range(3))
        s, c = sg.sin(angle), sg.cos(angle)
        d = 1 - c
        return sg.stack([
            x * x + (1 - x * x) * c, x * y * d - z * s, x * z * d + y * s,
            x * y * d + z * s, y * y + (1 - y * y) * c, y * z * d - x * s,
            x * z * d - y * s, z * y * d + x * s, z * z + (1 - z * z) * c,
        ]).reshape((3, 3))  # fmt: skip

    def _bent(self, sg: Any, relative: Any, angles: Any) -> Any:
        """A bone that is bent and spread by two angles, in the frame of the one before it."""
        (cx, cz), (sx, sz) = (
            (of(angles[0]), of(angles[1])) for of in (sg.cos, sg.sin)
        )  # fmt: skip
        zero = 0 * cx
        rotation = sg.stack([cz, -sz * cx, sz * sx, sz, cz * cx, -cz * sx, zero, sx, cx])
        turned = relative[:, :3] @ rotation.reshape((3, 3))
        return sg.concatenate([turned, relative[:, 3:]], axis=1)

    def _positions(self, sg: Any, theta: Any) -> Any:
        """Where the vertices are: of each the mean over the bones that it hangs on."""
        fingers = theta[6:].reshape((5, 4))
        none = sg.zeros((5, 1), "float64")
        parts = [none, none, fingers[:, :2], fingers[:, 2:3], none, fingers[:, 3:], none]
        by_finger = sg.concatenate(parts, axis=1).reshape((20, 2))
        rest = sg.zeros((1, 2), "float64")
        angles = sg.concatenate([rest, by_finger, rest], axis=0)
        relatives = sg.vmap(lambda *one: self._bent(sg, *one))(self.relatives, angles)
        absolutes: list[Any] = []
        for bone, parent in enumerate(self.parents):
            here = relatives[bone]
            absolutes.append(here if parent < 0 else absolutes[parent] @ here)
        transforms = sg.vmap(lambda here, inverse: (here @ inverse)[:3])(
            sg.stack(absolutes), self.inverses
        )
        moved = sg.einsum("bij,bjv->iv", transforms, self.weighted)
        return sg.transpose(self._turned_about(sg, theta[:3]) @ moved + theta[3:6, None])

    def objective(self, sg: Any, theta: Any, places: Any, seen: Any) -> Any:
        """The distances."""
        return seen - self._positions(sg, theta)[places]

    def derivative(self, sg: Any, theta: Any, places: Any, seen: Any) -> list[Any]:
        """The distances, and their Jacobian by the pose."""

        def by_pose(pose: Any) -> Any:
            return self.objective(sg, pose, places, seen)

        return [by_pose(theta), self._columns(sg, by_pose, theta)]

    def _columns(self, sg: Any, function: Any, at: Any) -> Any:
        """A Jacobian, column after column, as the suite has it."""
        return sg.vmap(lambda along: sg.jvp(function, (at,), (along,))[1])(np.eye(at.shape[0]))

    def flat(self, outputs: list[Any]) -> Any:
        """The Jacobian, row by row."""
        return np.moveaxis(outputs[1], 0, 2).ravel()


class HandComplicated(Hand):
    """The same where each point that was seen lies in a triangle, at unknown coordinates."""

    def read(self, path: Path) -> Arrays:
        """The same, and the coordinates."""
        given = super().read(path)
        count = len(given["places"])
        corners = self.triangles[given.pop("places")]
        start = 2 + 4 * count
        inside = numbers(path)[start : start + 2 * count].reshape(count, 2)
        return given | {"inside": inside, "corners": corners}

    def _apart(self, sg: Any, positions: Any, inside: Any, corners: Any, point: Any) -> Any:
        a, b, c = (positions[corners[i]] for i in range(3))
        return point - (inside[0] * a + inside[1] * b + (1 - inside[0] - inside[1]) * c)

    def objective(self, sg: Any, theta: Any, seen: Any, inside: Any, corners: Any) -> Any:
        """The distances."""
        positions = self._positions(sg, theta)
        return sg.vmap(lambda *one: self._apart(sg, positions, *one))(inside, corners, seen)

    def derivative(self, sg: Any, theta: Any, seen: Any, inside: Any, corners: Any) -> list[Any]:
        """The distances, and their Jacobian by the own coordinates and by the pose."""
        positions = self._positions(sg, theta)

        def by_own(*one: Any) -> Any:
            return sg.jacobian(lambda u: self._apart(sg, positions, u, *one[1:]))(one[0])

        def of_pose(pose: Any) -> Any:
            return self.objective(sg, pose, seen, inside, corners)

        return [
            of_pose(theta),
            sg.transpose(sg.vmap(by_own)(inside, corners, seen), (2, 0, 1)),
            self._columns(sg, of_pose, theta),
        ]

    def flat(self, outputs: list[Any]) -> Any:
        """The Jacobian, row by row."""
        return np.moveaxis(np.concatenate(outputs[1:]), 0, 2).ravel()
