"""How fast the engine is on one CPU thread, beside Transformers and beside what the machine can do.

    python benchmarks/engine.py                # all of it, a few minutes
    python benchmarks/engine.py --rounds 5     # more alternating runs
    python benchmarks/engine.py --only machine # or transformers, attention

Runs alternate in one process, so that drift and load of the machine meet both sides; the ratio of
each pair is printed beside the median. Processor time is that of the whole process, all threads.
"""

import argparse
import logging
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import linear

from cachecast_replay.engine.attention import BY_DEVICE, attention_of
from cachecast_replay.engine.attention.rows import Rows
from cachecast_replay.engine.engine import Engine
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.products import product
from cachecast_replay.engine.shape import shape_of
from cachecast_replay.engine.weights import Weights, expected_shapes, random_weights, weights_of

CONFIG = {
    "hidden_size": 384, "intermediate_size": 1024, "num_hidden_layers": 6,
    "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 4096,
}  # fmt: skip
SHAPE = shape_of(CONFIG, "the benchmark's config")
CPU = torch.device("cpu")
BLOCK_TOKENS, BLOCKS, MAX_BATCH_TOKENS = 16, 1200, 512
CONCURRENT, ALONE, OUTPUT_TOKENS = 20, 6, 32

Timed = tuple[float, float]  # wall seconds, processor seconds


def main() -> None:
    """Print one section after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("machine", "transformers", "attention"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {os.cpu_count()} cores, one thread, load {load()}")
    if arguments.only in (None, "machine"):
        machine_shares()
    if arguments.only in (None, "attention"):
        attentions()
    if arguments.only in (None, "transformers"):
        beside_transformers(arguments.rounds)
    print(f"load at the end {load()}")


def load() -> str:
    """Load averages: ratios within a run can be compared, seconds of a busy machine cannot."""
    return " ".join(f"{each:.1f}" for each in os.getloadavg())


def timed(work: Callable[[], object]) -> Timed:
    """Seconds of one call."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def best(work: Callable[[], object], times: int) -> float:
    """Processor seconds of the fastest of `times` calls: waiting for a core is not counted."""
    return min(timed(work)[1] for _ in range(times))


def prompts(count: int, low: int, high: int, seed: int) -> list[list[int]]:
    """Random token ids, so that nothing is shared."""
    rng = random.Random(seed)
    return [
        [rng.randrange(SHAPE.vocab_size) for _ in range(rng.randint(low, high))]
        for _ in range(count)
    ]


def engine_of(weights: Weights, max_batch_tokens: int = MAX_BATCH_TOKENS) -> Engine:
    """An engine with an empty cache."""
    return Engine(
        SHAPE, weights, blocks=BLOCKS, block_tokens=BLOCK_TOKENS,
        max_batch_tokens=max_batch_tokens, max_seqs=64,
    )  # fmt: skip


def machine_shares() -> None:
    """Prefill as a share of the matrix rate, decode as a share of the memory bandwidth."""
    weights = random_weights(SHAPE)
    prefill, decode, matrix, read = [], [], [], []
    tokens, context, sequences = 512, 800, 16
    engine = engine_of(weights, 4096)
    rows, matrix_weight = torch.randn(512, 1024), torch.randn(2048, 1024)
    ways = (product(matrix_weight), lambda rows: linear(rows, matrix_weight))
    memory = torch.randn(1 << 26)  # 256 MiB, eight times a common last-level cache
    for number, prompt in enumerate(prompts(sequences, context, context, 2)):
        engine.add(f"long {number}", prompt, 200)
    while (record := engine.step()) is not None and record.decode_requests < sequences:
        pass
    for number, prompt in enumerate(prompts(12, tokens, tokens, 3)):
        for way in ways:
            seconds = best(lambda: way(rows), 3)  # noqa: B023
            matrix.append(2 * 512 * 1024 * 2048 / seconds)
        read.append(memory.nbytes / best(memory.sum, 2))
        decode.append(best(engine.step, 3))
        short = engine_of(weights, 4096)
        short.add(str(number), prompt, 1)
        prefill.append(best(short.step, 1))
    seconds, peak, bandwidth = min(prefill), max(matrix), max(read)
    attention = 4 * SHAPE.layers * SHAPE.heads * SHAPE.head_dim * tokens * (tokens + 1) // 2
    rate = (SHAPE.flops_per_token * tokens + attention) / seconds
    print(f"matrix rate {peak / 1e9:.1f} GFLOP/s, memory read {bandwidth / 1e9:.1f} GB/s")
    print(
        f"prefill of {tokens} tokens {seconds * 1e3:.1f} ms: {rate / 1e9:.1f} GFLOP/s, "
        f"{rate / peak:.0%} of the matrix rate"
    )
    seconds = min(decode)
    kv_bytes = sequences * context * SHAPE.kv_bytes_per_token
    weight_bytes = 4 * (SHAPE.parameters - SHAPE.vocab_size * SHAPE.hidden_size)
    moved = (kv_bytes + weight_bytes) / seconds
    matrices = (SHAPE.flops_per_token + 2 * SHAPE.vocab_size * SHAPE.hidden_size) * sequences
    floor = matrices / peak + kv_bytes / bandwidth
    print(
        f"decode of {sequences} sequences at context {context} {seconds * 1e3:.1f} ms: "
        f"{moved / 1e9:.1f} GB/s of weights, K and V, {moved / bandwidth:.0%} of the bandwidth; "
        f"matrices at the matrix rate and then K and V at the bandwidth would take "
        f"{floor * 1e3:.1f} ms, {floor / seconds:.0%} of it"
    )


def attentions() -> None:
    """Each way to compute attention, one layer: decode of 16 at context 800, a chunk of 256."""
    for label, starts, news in (
        ("decode 16 x 800", [799] * 16, [1] * 16), ("256 new after 800", [800], [256]),
    ):  # fmt: skip
        wide = -(-(starts[0] + news[0]) // BLOCK_TOKENS)
        order = torch.randperm(len(starts) * wide, generator=torch.Generator().manual_seed(0))
        rows = Rows(starts, news, order.view(len(starts), wide).int())
        pages = torch.randn(6, 2, len(order), BLOCK_TOKENS, SHAPE.kv_heads, SHAPE.head_dim)
        q = torch.randn(sum(news), SHAPE.heads, SHAPE.head_dim)
        for name in BY_DEVICE["cpu"]:
            try:
                attend = attention_of(name, CPU, torch.float32, SHAPE.head_dim, 1)(rows)
            except EngineError as problem:
                print(f"{label:<18} {problem}")
                continue
            seconds = best(lambda: [attend(q, k, v) for k, v in pages], 15)  # noqa: B023
            print(f"{label:<18} {name:<7} {seconds * 1e3:7.2f} ms for 6 layers")


def beside_transformers(rounds: int) -> None:
    """Alternating runs of the same requests with the same weights."""
    try:
        import transformers
    except ImportError:
        print("transformers is not installed: nothing to compare with")
        return
    logging.getLogger("ContinuousBatchingLogger").setLevel(logging.CRITICAL)
    transformers.set_seed(0)
    config = transformers.LlamaConfig(
        **CONFIG, max_position_embeddings=4096, eos_token_id=None, bos_token_id=None
    )
    model = transformers.LlamaForCausalLM(config).eval()
    named = model.state_dict()
    weights = weights_of(SHAPE, ((name, named[name]) for name in expected_shapes(SHAPE)), "cpu")
    many, few = prompts(CONCURRENT, 100, 300, 0), prompts(ALONE, 100, 300, 1)
    print(f"transformers {transformers.__version__}; {OUTPUT_TOKENS} tokens out of each request")
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        f"{CONCURRENT} concurrent": (
            lambda: ours(weights, many), lambda: batched(transformers, model, many),
        ),
        f"{ALONE} one by one": (
            lambda: ours_one_by_one(weights, few), lambda: generated(model, few),
        ),
    }  # fmt: skip
    for label, (mine, theirs) in pairs.items():
        assert mine() == theirs(), f"{label}: the two put out different tokens"  # warm-up, too
        runs = [(timed(mine), timed(theirs)) for _ in range(rounds)]
        for unit, at in (("wall", 0), ("processor", 1)):
            own, other = ([run[side][at] for run in runs] for side in (0, 1))
            ratios = [b / a for a, b in zip(own, other, strict=True)]
            print(
                f"{label}, {unit} s: engine {statistics.median(own):.2f}, transformers "
                f"{statistics.median(other):.2f}, ratio {statistics.median(ratios):.2f} "
                f"({', '.join(f'{ratio:.2f}' for ratio in ratios)})"
            )


def ours(weights: Weights, requests: list[list[int]]) -> list[list[int]]:
    """All requests at once; the output tokens of each."""
    engine = engine_of(weights)
    for number, prompt in enumerate(requests):
        engine.add(str(number), prompt, OUTPUT_TOKENS)
    while engine.step() is not None:
        pass
    return [list(engine.results[str(number)].output_token_ids) for number in range(len(requests))]


def ours_one_by_one(weights: Weights, requests: list[list[int]]) -> list[list[int]]:
    """Each request when the one before has ended."""
    engine = engine_of(weights)
    for number, prompt in enumerate(requests):
        engine.add(str(number), prompt, OUTPUT_TOKENS)
        while engine.step() is not None:
            pass
    return [list(engine.results[str(number)].output_token_ids) for number in range(len(requests))]


def batched(transformers: Any, model: Any, requests: list[list[int]]) -> list[list[int]]:
    """Continuous batching with the same block size and token budget as ours."""
    generation = transformers.GenerationConfig(
        max_new_tokens=OUTPUT_TOKENS, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    batching = transformers.ContinuousBatchingConfig(
        page_size=BLOCK_TOKENS, num_blocks=BLOCKS, max_batch_tokens=MAX_BATCH_TOKENS
    )
    found = model.generate_batch(
        requests, generation_config=generation, continuous_batching_config=batching, warmup=False
    )
    by_prompt = {tuple(each.prompt_ids): list(each.generated_tokens) for each in found.values()}
    return [by_prompt[tuple(prompt)] for prompt in requests]


def generated(model: Any, requests: list[list[int]]) -> list[list[int]]:
    """`generate`, one request after the other."""
    outputs = []
    for prompt in requests:
        whole = model.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)),
            max_new_tokens=OUTPUT_TOKENS, do_sample=False, pad_token_id=0,
        )  # fmt: skip
        outputs.append(whole[0, len(prompt) :].tolist())
    return outputs


if __name__ == "__main__":
    main()
