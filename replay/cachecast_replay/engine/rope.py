"""Rotary positions: the frequencies that a config asks for."""

import math
from dataclasses import dataclass
from typing import Any

from cachecast_replay.engine.errors import EngineError

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's rule: long waves are stretched by `factor`, short ones kept, a slope between."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_positions: float


@dataclass(frozen=True, slots=True)
class Rope:
    """The base `theta`, all frequencies divided by `divisor`, or Llama 3.1's rule."""

    theta: float
    divisor: float = 1.0
    llama3: Llama3Scaling | None = None

    def frequencies(self, head_dim: int) -> list[float]:
        """Radians per position of each of the `head_dim` / 2 pairs."""
        plain = [self.theta ** (-2 * pair / head_dim) for pair in range(head_dim // 2)]
        return [self._scaled(frequency) / self.divisor for frequency in plain]

    def _scaled(self, frequency: float) -> float:
        rule = self.llama3
        if rule is None:
            return frequency
        # how often the wave turns within the context that the model was first trained on
        turns = rule.original_positions * frequency / (2 * math.pi)
        if turns <= rule.low_freq_factor:
            return frequency / rule.factor
        if turns >= rule.high_freq_factor:
            return frequency
        share = (turns - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor)
        return (1 - share) * frequency / rule.factor + share * frequency


def rope_of(config: Config, source: str) -> Rope:
    """From `rope_parameters` (Transformers 5) or `rope_theta` and `rope_scaling` (before).

    Raises EngineError for a kind of scaling that is not implemented.
    """
    section = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(section, dict):
        raise EngineError(f"{source}: rope_parameters is {section!r}, expected an object")
    theta = number(config | section, "rope_theta", source, 10_000.0)
    kind = section.get("rope_type", section.get("type", "default"))
    if kind == "default":
        return Rope(theta)
    if kind == "linear":
        return Rope(theta, divisor=number(section, "factor", source))
    if kind == "llama3":
        rule = Llama3Scaling(
            number(section, "factor", source),
            number(section, "low_freq_factor", source),
            number(section, "high_freq_factor", source),
            number(section, "original_max_position_embeddings", source),
        )
        return Rope(theta, llama3=rule)
    raise EngineError(
        f"{source}: rope scaling {kind!r} is not implemented; known: default, linear, llama3"
    )


def number(config: Config, field: str, source: str, default: float | None = None) -> float:
    """A positive number of a config. Raises EngineError."""
    value = config.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        what = "is missing" if value is None else f"is {value!r}"
        raise EngineError(f"{source}: {field} {what}, expected a number > 0")
    return float(value)
