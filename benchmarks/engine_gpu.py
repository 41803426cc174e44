"""Prefill and decode as shares of a device's matrix rate and bandwidth, measured in the same run.

    python benchmarks/engine_gpu.py --model DIR [--device cuda] [--attention NAME]... [--small]

DIR holds a config.json; weights are random. replay/gpu_check.sh runs it for an 8-billion-parameter
shape. Every way to compute attention that the device has is measured, or those that are named.
"""

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.nn.functional import linear

from cachecast_replay.engine.attention import BY_DEVICE
from cachecast_replay.engine.engine import Engine, usable_device
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.room import check_weights
from cachecast_replay.engine.shape import ModelShape, read_shape
from cachecast_replay.engine.weights import Weights, random_weights


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured: one prompt's tokens, how many sequences decode at which context; and by
    what the device is judged: the side of square matrices, the bytes that are read."""

    prompt: int = 4096
    sequences: int = 64
    context: int = 2048
    side: int = 8192
    read_bytes: int = 1 << 31


SMALL = Sizes(64, 4, 32, 256, 1 << 20)


def main() -> None:
    """Print the machine's rates, then a line per way to compute attention."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--attention", action="append")
    parser.add_argument("--small", action="store_true", help="to see that it runs")
    options = parser.parse_args()
    sizes = SMALL if options.small else Sizes()
    try:
        device = usable_device(options.device)
        shape = read_shape(options.model)
        check_weights(shape, device)
    except EngineError as problem:
        raise SystemExit(f"engine_gpu: {problem}") from None
    weights = random_weights(shape, 0, device)
    peak, bandwidth = machine_rates(sizes, weights)
    print(f"{shape.parameters / 1e9:.2f} billion parameters, {weights.dtype}")
    print(f"matrix rate {peak / 1e12:.3g} TFLOP/s, memory read {bandwidth / 1e12:.3g} TB/s")
    for name in options.attention or BY_DEVICE[device.type]:
        try:
            measure(name, shape, weights, sizes, (peak, bandwidth))
        except EngineError as problem:
            print(problem)


def machine_rates(sizes: Sizes, weights: Weights) -> tuple[float, float]:
    """FLOP/s of a product of square matrices, bytes/s of reading memory; where the weights are and
    in their numbers."""
    device, dtype = weights.device, weights.dtype
    one, other = (torch.randn(sizes.side, sizes.side, device=device, dtype=dtype) for _ in range(2))
    peak = 2 * sizes.side**3 / best(lambda: linear(one, other), 10, device)
    memory = torch.ones(sizes.read_bytes // 4, device=device)
    return peak, memory.nbytes / best(memory.sum, 10, device)


def best(work: Callable[[], object], times: int, device: torch.device) -> float:
    """Seconds of the fastest call, all that the device does for it included; a call before them
    warms up."""
    work()
    found = []
    for _ in range(times):
        wait(device)
        started = time.perf_counter()
        work()
        wait(device)
        found.append(time.perf_counter() - started)
    return min(found)


def wait(device: torch.device) -> None:
    """Until a GPU has done all it was given; a CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(
    name: str, shape: ModelShape, weights: Weights, sizes: Sizes, rates: tuple[float, float]
) -> None:
    """A prompt in one step, then decode of all sequences at their context; a line for each."""
    rng = random.Random(0)
    room = sizes.sequences * (sizes.context + 64) + 6 * sizes.prompt
    engine = Engine(
        shape, weights, blocks=2 + room // 16, block_tokens=16, max_batch_tokens=2 * sizes.prompt,
        max_seqs=sizes.sequences, device=str(weights.device), attention=name,
    )  # fmt: skip

    def tokens(count: int) -> list[int]:
        return [rng.randrange(shape.vocab_size) for _ in range(count)]

    prompts = []
    for number in range(5):
        engine.add(f"prompt {number}", tokens(sizes.prompt), 1)
        started = time.perf_counter()
        engine.step()
        prompts.append(time.perf_counter() - started)
    for number in range(sizes.sequences):
        engine.add(f"{number}", tokens(sizes.context), 60)
    while (record := engine.step()) is not None and record.decode_requests < sizes.sequences:
        pass
    seconds = best(engine.step, 20, weights.device)
    flops, moved = prefill_flops(shape, sizes), decode_bytes(shape, sizes, weights.dtype.itemsize)
    peak, bandwidth = rates
    print(
        f"{name}: prefill of {sizes.prompt} tokens {min(prompts) * 1e3:.1f} ms, "
        f"{flops / min(prompts) / 1e12:.3g} TFLOP/s, {flops / min(prompts) / peak:.0%} of the "
        f"matrix rate; decode of {sizes.sequences} at context {sizes.context} "
        f"{seconds * 1e3:.1f} ms, {moved / seconds / 1e12:.3g} TB/s, "
        f"{moved / seconds / bandwidth:.0%} of the bandwidth"
    )


def prefill_flops(shape: ModelShape, sizes: Sizes) -> int:
    """All layers' matrices for each token of a prompt, and attention to what came before it."""
    pairs = sizes.prompt * (sizes.prompt + 1) // 2
    attention = 4 * shape.layers * shape.heads * shape.head_dim * pairs
    return shape.flops_per_token * sizes.prompt + attention


def decode_bytes(shape: ModelShape, sizes: Sizes, number_bytes: int) -> int:
    """Every weight once, save an embedding that is only looked up, and all K and V."""
    kv = sizes.sequences * sizes.context * shape.kv_bytes_per_token * number_bytes // 4
    looked_up = 0 if shape.tied_embeddings else shape.vocab_size * shape.hidden_size
    return kv + number_bytes * (shape.parameters - looked_up)


if __name__ == "__main__":
    main()
