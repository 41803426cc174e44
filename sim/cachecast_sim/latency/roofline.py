"""`roofline`: the slower of arithmetic and memory traffic, from model shape and data sheet."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any

import numpy as np

from cachecast_sim.latency.catalog import hardware_named, model_shape
from cachecast_sim.latency.exact import NS_PER_S
from cachecast_sim.latency.fields import number, text, whole
from cachecast_sim.latency.files import LatencyFiles
from cachecast_sim.latency.hardware import Hardware
from cachecast_sim.latency.model import LatencyModel, equal_ends_ns, growing_ends_ns
from cachecast_sim.latency.shape import ModelShape
from cachecast_sim.latency.terms import ROOFLINE, Terms
from cachecast_sim.latency.work import (
    Growing,
    Steps,
    attended,
    attended_by_all,
    experts_read,
    work_of,
)

FIELDS = {
    "model": "name in the catalogue, or the path of a HF-style config.json",
    "hardware": "name of a GPU in the catalogue",
    "tensor_parallel": "GPUs that share one model, 1 by default",
    "compute_efficiency": "share of the sheet's FLOP/s that is reached, above 0 to 1; 1 by default",
    "memory_efficiency": "share of the sheet's memory bandwidth, likewise",
    "interconnect_efficiency": "share of the sheet's link bandwidth, likewise",
    "step_overhead_s": "seconds added to every step (scheduler, launches); 0 by default",
    "weight_dtype": "dtype of the weights instead of the config's",
    "expert_dtype": "dtype of the experts' weights, that of `weight_dtype` by default",
    "kv_dtype": "dtype of the KV cache instead of the config's",
}

_AT_ONCE = 10  # steps from which an array is faster than one by one
_NUMBERS = np.arange(4096.0)  # of a stretch's steps, most of which are shorter
_WHOLE = 1 << 53  # up to here floats hold every whole number


@dataclass(frozen=True, slots=True)
class Roof:
    """What of the data sheet is reached, and what a step costs besides."""

    tensor_parallel: int = 1
    compute_efficiency: Decimal = Decimal(1)
    memory_efficiency: Decimal = Decimal(1)
    interconnect_efficiency: Decimal = Decimal(1)
    step_overhead_s: Decimal = Decimal(0)


class RooflineModel(LatencyModel):
    """step = max(FLOPs / FLOP/s, bytes / bytes/s) + all-reduce + overhead, on each rank alike."""

    __slots__ = (
        "_bytes_ns", "_hardware", "_link_ns", "_overhead_ns", "_pair_ns", "_roof", "_row_ns",
        "_shape", "_token_ns", "_work",
    )  # fmt: skip

    def __init__(self, shape: ModelShape, hardware: Hardware, roof: Roof) -> None:
        self._shape, self._hardware, self._roof = shape, hardware, roof
        work = self._work = work_of(shape, roof.tensor_parallel)
        plain = self._flop_ns(shape.embedding_dtype)
        self._token_ns = work.token_flops * self._flop_ns(shape.weight_dtype)
        self._token_ns += work.expert_flops * self._flop_ns(shape.expert_dtype)
        self._row_ns = work.row_flops * plain
        self._pair_ns = (work.prefill_pair_flops * plain, work.decode_pair_flops * plain)
        self._bytes_ns = float(NS_PER_S / (hardware.memory_bytes_per_s * roof.memory_efficiency))
        self._link_ns = self._all_reduce_ns()
        self._overhead_ns = float(roof.step_overhead_s * NS_PER_S)

    def step_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> int:  # fmt: skip
        """The slower of compute and memory, plus what does not overlap with them."""
        tokens, shape = prefill_tokens + decode_requests, self._shape
        pairs = attended(shape, prefill_context, prefill_tokens)
        read = attended(shape, decode_context, decode_requests)
        compute = self._arithmetic_ns(tokens, prefill_requests + decode_requests, pairs, read)
        memory = self._moved_ns(read + shape.layers * tokens, tokens)
        slower = compute if compute > memory else memory
        whole_ns = int(slower + tokens * self._link_ns + self._overhead_ns + 0.5)
        return whole_ns if whole_ns > 1 else 1

    def compute_ns(
        self, prefill_tokens: int, prefill_requests: int, prefill_context: int,
        decode_requests: int, decode_context: int,
    ) -> float:  # fmt: skip
        """Time of the arithmetic alone: matrices, the head for each request, attention pairs."""
        return self._arithmetic_ns(
            prefill_tokens + decode_requests, prefill_requests + decode_requests,
            attended(self._shape, prefill_context, prefill_tokens),
            attended(self._shape, decode_context, decode_requests),
        )  # fmt: skip

    def _arithmetic_ns(self, tokens: int, rows: int, pairs: int, read: int) -> float:
        prefill_ns, decode_ns = self._pair_ns
        return tokens * self._token_ns + rows * self._row_ns + pairs * prefill_ns + read * decode_ns

    def memory_ns(self, tokens: int, decode_requests: int, decode_context: int) -> float:
        """Time to move weights once, the KV cache that decode reads and the KV that is written."""
        read = attended(self._shape, decode_context, decode_requests)
        found: float = self._moved_ns(read + self._shape.layers * tokens, tokens)
        return found

    def _moved_ns(self, entries: Any, tokens: int) -> Any:
        """Time to move weights and so many entries of a layer's KV cache, of one step or many."""
        work, experts = self._work, self._shape.experts
        moved = work.fixed_bytes + entries * work.kv_layer_bytes
        if experts is None:
            return moved * self._bytes_ns
        routed = work.expert_bytes * experts_read(experts.count, experts.per_token, tokens)
        return (moved + routed) * self._bytes_ns

    def decode_ends_ns(self, requests: int, context: int, steps: int) -> Sequence[int]:
        """A range as long as the growing context stays below the roof."""
        if steps < _AT_ONCE:
            return growing_ends_ns(
                lambda length: self.step_ns(0, 0, 0, requests, length), requests, context, steps
            )
        first = self.step_ns(0, 0, 0, requests, context)
        if first == self.step_ns(0, 0, 0, requests, context + requests * (steps - 1)):
            return equal_ends_ns(first, steps)
        return self._ends_ns(0, 0, (0, 0), requests, (context, requests), steps)

    def chunk_ends_ns(
        self, chunk: int, computed: int, decode_requests: int, decode_context: int, steps: int
    ) -> Sequence[int]:
        """One by one where an array costs more."""
        pair, more = chunk * computed + chunk * (chunk + 1) // 2, chunk * chunk
        context, requests = decode_context, decode_requests
        if steps >= _AT_ONCE:
            return self._ends_ns(chunk, 1, (pair, more), requests, (context, requests), steps)
        counted = ((pair + more * n, context + requests * n) for n in range(steps))
        return list(accumulate(self.step_ns(chunk, 1, p, requests, c) for p, c in counted))

    def _ends_ns(
        self, prefill: int, prefill_requests: int, pairs: Growing, requests: int,
        contexts: Growing, steps: int,
    ) -> Sequence[int]:  # fmt: skip
        """Sums of `step_ns` of each step: the same operations in the same order, so equal. The
        pairs and contexts grow from step to step, or stay."""
        shape, tokens = self._shape, prefill + requests
        numbers = _numbers(steps, self._work.kv_layer_bytes * shape.layers, pairs, contexts)
        read = attended_by_all(shape, contexts, requests, numbers)
        matrices_ns = tokens * self._token_ns + (prefill_requests + requests) * self._row_ns
        prefilled_ns: Steps | float = 0.0
        if prefill:
            prefilled_ns = attended_by_all(shape, pairs, prefill, numbers) * self._pair_ns[0]
        compute = matrices_ns + prefilled_ns + read * self._pair_ns[1]
        whole_ns = np.maximum(compute, self._moved_ns(read + shape.layers * tokens, tokens))
        for more_ns in (tokens * self._link_ns, self._overhead_ns, 0.5):
            if more_ns:  # to add nothing takes as long
                whole_ns += more_ns
        each_ns = whole_ns.astype(np.int64)
        if each_ns[0] < 1:  # the shortest
            each_ns = np.maximum(1, each_ns)
        return array("q", each_ns.cumsum().tobytes())

    def terms(self) -> Terms:
        """Times of a token, a row, a pair and a byte, and the sizes that they are taken of."""
        shape, work, experts = self._shape, self._work, self._shape.experts
        window = shape.window_tokens
        return Terms(
            (
                ROOFLINE, shape.layers, 0 if window is None else shape.window_layers,
                window or 0, work.kv_layer_bytes, work.fixed_bytes,
            ),
            (
                self._token_ns, self._row_ns, *self._pair_ns, self._bytes_ns, self._link_ns,
                self._overhead_ns, work.expert_bytes,
            ),
            None if experts is None else (experts.count, experts.per_token),
        )  # fmt: skip

    def assumptions(self) -> tuple[str, ...]:
        """Where the figures come from and what is idealised."""
        hardware, roof, shape = self._hardware, self._roof, self._shape
        found = [
            f"step times are a roofline of {shape.name} on {roof.tensor_parallel} × "
            f"{hardware.name} ({hardware.source}, read {hardware.checked}) at "
            f"{roof.compute_efficiency} of its FLOP/s, {roof.memory_efficiency} of its memory and "
            f"{roof.interconnect_efficiency} of its link bandwidth, plus {roof.step_overhead_s} s"
        ]
        if roof.compute_efficiency == roof.memory_efficiency == 1:
            found.append("no real engine reaches a data sheet: these step times are lower bounds")
        if shape.experts is not None:
            found.append("a step reads as many experts as evenly spread routing would choose")
        if shape.weight_dtype == "fp8" and hardware.fp8_flops_per_s is None:
            found.append(
                f"{hardware.name} has no FP8 units: FP8 weights compute at the 16-bit rate"
            )
        return tuple(found)

    def _flop_ns(self, dtype: str) -> float:
        rate = self._hardware.flops_per_s(dtype) * self._roof.compute_efficiency
        return float(NS_PER_S / rate)

    def _all_reduce_ns(self) -> float:
        """For each token: a ring passes 2 (n - 1) / n of the data through each link, one way."""
        ranks = self._roof.tensor_parallel
        one_way = self._hardware.interconnect_bytes_per_s / 2 * self._roof.interconnect_efficiency
        passed = Decimal(2 * (ranks - 1) * self._work.all_reduce_bytes) / ranks
        return float(passed * NS_PER_S / one_way)


def _numbers(steps: int, times: int, *counts: Growing) -> Steps:
    """The numbers of so many steps, as floats where `times` the counts are exact as such: nothing
    is to be converted then."""
    largest = max(first + more * steps for first, more in counts) * times
    if largest < _WHOLE >> 2 and steps <= len(_NUMBERS):
        return _NUMBERS[:steps]
    return np.arange(steps)


def roofline_model(table: Mapping[str, object], files: LatencyFiles) -> RooflineModel:
    """The model that the table describes; BadInput for an unknown name or a bad value."""
    given = {
        name: text(table, "latency", name) if table.get(name) is not None else None
        for name in ("weight_dtype", "expert_dtype", "kv_dtype")
    }
    shape = model_shape(text(table, "latency", "model"), files).in_dtypes(
        given["weight_dtype"], given["expert_dtype"], given["kv_dtype"]
    )
    compute, memory, link = (
        number(table, "latency", f"{name}_efficiency", "0.001", "1", "1")
        for name in ("compute", "memory", "interconnect")
    )
    ranks = whole(table, "latency", "tensor_parallel", 1, 1024, 1)
    overhead = number(table, "latency", "step_overhead_s", "0", "86400", "0")
    roof = Roof(ranks, compute, memory, link, overhead)
    return RooflineModel(shape, hardware_named(text(table, "latency", "hardware")), roof)
