"""Made-up tensors with the structure of a layer of a network.

@image(0.4)     activations behind a ReLU: 40 % of the places, those where a smooth random field
                over the last two modes is high; its height there
@pruned(2:4)    pruned weights: the 2 largest of each 4 neighbours in the last mode are kept
@pruned(0.1)    the largest tenth of all weights is kept
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sam.support.errors import UserError
from sam.tensor import Tensor

WORDS = ("@image", "@pruned")
_SMOOTH = 2.0
"""The distance over which neighbouring places of an image correlate, in places."""


def structured(
    value: str, shape: Sequence[int], random: np.random.Generator, name: str, most: int
) -> Tensor:
    """The tensor that a value asks for. Raises UserError if malformed or above ``most`` places."""
    word, _, rest = value.partition("(")
    places = math.prod(shape)
    if places > most:
        raise UserError(f"{name}={value} would have {places:.2g} places, more than {most:.0e}")
    if word == "@image":
        return Tensor.of(_image(shape, _share(value, rest, 0.5), random))
    pattern = re.fullmatch(r"(\d{1,6}):(\d{1,6})\)", rest)
    if pattern is None:
        return Tensor.of(_largest(random.standard_normal(shape), _share(value, rest, 0.1)))
    keep, among = map(int, pattern.groups())
    if not 0 < keep <= among:
        raise UserError(f"{value} keeps {keep} of {among}", hint="as in @pruned(2:4)")
    return Tensor.of(_pruned(random.standard_normal(shape), keep, among))


def _share(value: str, rest: str, default: float) -> float:
    if not rest and "(" not in value:
        return default
    try:
        share = float(rest.removesuffix(")")) if rest.endswith(")") else -1.0
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UserError(
            f"{value} does not give a share of all places",
            hint="@image(SHARE), @pruned(SHARE) or @pruned(N:M), as in @image(0.4) or @pruned(2:4)",
        )
    return share


def _image(shape: Sequence[int], share: float, random: np.random.Generator) -> NDArray[np.float64]:
    from scipy.ndimage import gaussian_filter  # here, as few inputs need it

    sigma = [0.0] * max(0, len(shape) - 2) + [_SMOOTH] * min(2, len(shape))
    field = gaussian_filter(random.standard_normal(shape), sigma, mode="wrap")
    return np.maximum(0, field - _threshold(field, share))


def _threshold(values: NDArray[np.float64], share: float) -> float:
    """The threshold above which the share of the values lies."""
    count = round(share * values.size)
    if count in (0, values.size):
        return float("inf" if count == 0 else np.min(values, initial=0.0) - 1)
    return float(np.partition(values.ravel(), values.size - count - 1)[values.size - count - 1])


def _largest(values: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    sizes = np.abs(values)
    kept: NDArray[np.float64] = np.where(sizes > _threshold(sizes, share), values, 0.0)
    return kept


def _pruned(values: NDArray[np.float64], keep: int, among: int) -> NDArray[np.float64]:
    """The ``keep`` largest of each ``among`` neighbours; the last group may be short."""
    if not values.ndim or not values.size:
        return values
    length = values.shape[-1]
    padded = np.zeros((values.size // length, -(-length // among) * among))
    padded[:, :length] = values.reshape(-1, length)
    groups = padded.reshape(-1, among)
    if keep < among:
        small = np.argsort(-np.abs(groups), axis=1, kind="stable")[:, keep:]
        np.put_along_axis(groups, small, 0.0, axis=1)
    found: NDArray[np.float64] = groups.reshape(padded.shape)[:, :length].reshape(values.shape)
    return found
