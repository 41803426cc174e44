"""The colours of the classes can be told apart by every eye, on both backgrounds."""

from itertools import combinations

import numpy as np
import pytest

from cachecast.dashboard.theme import BACKGROUNDS, CLASS_COLOURS, LABEL, STREAMLIT_THEME

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB
SIGHT = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
     [0.0193339, 0.1191920, 0.9503041]]
)  # fmt: skip


def linear(colour: str) -> np.ndarray:
    """sRGB as linear light."""
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIELAB under D65."""
    ratio = TO_XYZ @ np.clip(light, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of luminances."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
def test_two_classes_never_look_alike(sight: str) -> None:
    seen = {name: lab(SIGHT[sight] @ linear(colour)) for name, colour in CLASS_COLOURS.items()}

    distances = {
        pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(seen, 2)
    }
    assert min(distances.values()) >= 20, min(distances, key=lambda pair: distances[pair])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_button_stands_out_and_its_white_letters_too(theme: str) -> None:
    button = str(STREAMLIT_THEME[f"theme.{theme}.primaryColor"])

    assert contrast("#FFFFFF", button) >= 4
    assert contrast(BACKGROUNDS[theme], button) >= 3


@pytest.mark.parametrize("background", BACKGROUNDS.values())
def test_each_colour_and_each_label_stands_out_from_the_background(background: str) -> None:
    assert min(contrast(colour, background) for colour in CLASS_COLOURS.values()) >= 2
    assert contrast(LABEL, background) >= 4
