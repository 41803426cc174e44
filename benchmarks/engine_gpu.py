"""Prefill and decode on a GPU as shares of its matrix rate and bandwidth, measured in the same run.

    python benchmarks/engine_gpu.py               # an 8-billion-parameter shape in bfloat16
    python benchmarks/engine_gpu.py --layers 4    # a quarter of a quarter of it, for a smaller GPU

Every way to compute attention that the GPU has is measured.
"""

import argparse
import random
import time
from collections.abc import Callable

import torch
from torch.nn.functional import linear

from cachecast_replay.engine.attention import BY_DEVICE
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.shape import ModelShape, shape_of
from cachecast_replay.engine.weights import Weights, expected_shapes, weights_of

CONFIG = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128_256, "rope_theta": 500_000.0,
}  # fmt: skip
PROMPT, SEQUENCES, CONTEXT = 4096, 64, 2048


def main() -> None:
    """Print the machine's rates, then a line per way to compute attention."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--layers", type=int, default=32)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch finds no CUDA GPU on this machine: nothing to measure")
        return
    shape = shape_of(CONFIG | {"num_hidden_layers": arguments.layers}, "the benchmark's config")
    torch.manual_seed(0)
    # drawn on the GPU: billions of numbers from one CPU core would take longer than the check
    named = (
        (name, torch.randn(size, device="cuda", dtype=torch.bfloat16) * 0.02)
        for name, size in expected_shapes(shape).items()
    )
    weights = weights_of(shape, named, "cuda")
    peak, bandwidth = machine_rates()
    print(f"{shape.parameters / 1e9:.2f} billion parameters, {weights.dtype}")
    print(f"matrix rate {peak / 1e12:.0f} TFLOP/s, memory read {bandwidth / 1e12:.2f} TB/s")
    for name in BY_DEVICE["cuda"]:
        try:
            measure(name, shape, weights, peak, bandwidth)
        except EngineError as problem:
            print(problem)


def machine_rates() -> tuple[float, float]:
    """FLOP/s of a matrix product in bfloat16, bytes/s of reading 2 GiB."""
    one, other = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    peak = 2 * 8192**3 / best(lambda: linear(one, other), 10)
    memory = torch.ones(1 << 29, device="cuda")
    return peak, memory.nbytes / best(memory.sum, 10)


def best(work: Callable[[], object], times: int) -> float:
    """Seconds of the fastest call, the GPU's work included; one call before them warms up."""
    work()
    found = []
    for _ in range(times):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - started)
    return min(found)


def measure(name: str, shape: ModelShape, weights: Weights, peak: float, bandwidth: float) -> None:
    """A prompt of PROMPT tokens in one step, then decode of SEQUENCES at CONTEXT."""
    rng = random.Random(0)
    blocks = 2 + (SEQUENCES * (CONTEXT + 64) + 6 * PROMPT) // 16
    engine = Engine(
        shape, weights, blocks=blocks, block_tokens=16, max_batch_tokens=8192,
        max_seqs=SEQUENCES, device="cuda", attention=name,
    )  # fmt: skip
    prompts = []
    for number in range(5):
        engine.add(f"prompt {number}", [rng.randrange(100_000) for _ in range(PROMPT)], 1)
        started = time.perf_counter()
        engine.step()
        prompts.append(time.perf_counter() - started)
    attention = 2 * shape.layers * shape.heads * shape.head_dim * PROMPT * (PROMPT + 1)
    rate = (shape.flops_per_token * PROMPT + attention) / min(prompts)
    for number in range(SEQUENCES):
        engine.add(f"{number}", [rng.randrange(100_000) for _ in range(CONTEXT)], 60)
    while (record := engine.step()) is not None and record.decode_requests < SEQUENCES:
        pass
    seconds = best(engine.step, 20)
    size = weights.dtype.itemsize
    kv_bytes = SEQUENCES * CONTEXT * shape.kv_bytes_per_token * size // 4
    moved = kv_bytes + size * (shape.parameters - shape.vocab_size * shape.hidden_size)
    print(
        f"{name}: prefill of {PROMPT} tokens {min(prompts) * 1e3:.1f} ms, "
        f"{rate / 1e12:.0f} TFLOP/s, {rate / peak:.0%} of the matrix rate; decode of {SEQUENCES} "
        f"at context {CONTEXT} {seconds * 1e3:.1f} ms, {moved / seconds / 1e12:.2f} TB/s, "
        f"{moved / seconds / bandwidth:.0%} of the bandwidth"
    )


if __name__ == "__main__":
    main()
