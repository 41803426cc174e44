"""The engine's contract with its caller: records, results, and what it refuses."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from replay.tiny_models import CONFIG, strong_weights, tiny_shape

from cachecast_replay.engine.engine import Engine, usable_device
from cachecast_replay.engine.errors import EngineError
from cachecast_replay.engine.records import StepPart, StepRecord
from cachecast_replay.engine.room import check_weights

SHAPE = tiny_shape()
WEIGHTS = strong_weights(SHAPE)


def engine_of(
    blocks: int = 30,
    max_batch_tokens: int = 8,
    device: str = "cpu",
    threads: int = 1,
    block_tokens: int = 4,
) -> Engine:
    return Engine(
        SHAPE, WEIGHTS, blocks=blocks, block_tokens=block_tokens,
        max_batch_tokens=max_batch_tokens, max_seqs=4, device=device, threads=threads,
    )  # fmt: skip


def run(engine: Engine) -> list[StepRecord]:
    records = []
    while (record := engine.step()) is not None:
        records.append(record)
    return records


def test_records_say_what_each_step_computed() -> None:
    """a: 6 prompt tokens, 2 out. b shares its first block, which it finds in the same step: of 8
    tokens of budget a takes 6 and b 2 of its 5 others. They hold the shared block once and one of
    their own each; the second step needs a third for b."""
    engine = engine_of()
    engine.add("a", [1, 2, 3, 4, 5, 6], 2, [10, 11])
    engine.add("b", [1, 2, 3, 4, 9, 9, 9, 9, 9], 1, [12])
    first, second = run(engine)

    assert first == StepRecord(
        parts=(StepPart("a", 0, 6, "prefill"), StepPart("b", 4, 2, "prefill")),
        admitted=("a", "b"),
        preempted=(),
        yielded=(("a", 10),),
        finished=(),
        held_tokens=3 * 4,
    )
    assert second == StepRecord(
        parts=(StepPart("a", 6, 1, "decode"), StepPart("b", 6, 3, "prefill")),
        admitted=(),
        preempted=(),
        yielded=(("a", 11), ("b", 12)),
        finished=("a", "b"),
        held_tokens=4 * 4,
    )
    assert (second.scheduled_tokens, second.context_tokens) == (1 + 3, 6 + 6)
    assert (second.prefill_requests, second.decode_requests) == (1, 1)
    assert (engine.results["a"].hit_tokens, engine.results["b"].hit_tokens) == (0, 4)


def test_preemptions_and_readmissions_are_in_records_and_results() -> None:
    """4 usable blocks of 4 and two requests of 7 and 4 tokens out: see test_scheduler.py."""
    engine = engine_of(blocks=5, max_batch_tokens=64)
    for name, start in (("a", 0), ("b", 20)):
        engine.add(name, list(range(start, start + 7)), 4, [1, 2, 3, 4])
    records = run(engine)

    assert [record.preempted for record in records] == [(), (), ("b",), (), (), ()]
    assert [record.admitted for record in records] == [("a", "b"), (), (), (), ("b",), ()]
    back = engine.results["b"]
    assert (back.hit_tokens, back.resume_hits, back.preemptions) == (0, (4,), 1)
    assert back.output_token_ids == (1, 2, 3, 4)
    assert records[4].parts == (StepPart("b", 4, 5, "prefill"),)


def test_a_request_larger_than_the_pool_is_rejected_and_the_others_run() -> None:
    engine = engine_of(blocks=3)
    engine.add("large", list(range(8)), 2)
    engine.add("fits", list(range(8)), 1)
    run(engine)

    rejected = engine.results["large"]
    assert (rejected.status, rejected.hit_tokens, rejected.output_token_ids) == (
        "rejected", None, (),
    )  # fmt: skip
    assert engine.results["fits"].status == "completed"


def test_greedy_output_does_not_depend_on_what_else_runs() -> None:
    alone, crowd = engine_of(), engine_of()
    alone.add("a", [1, 2, 3, 4, 5], 8)
    for name, prompt in {"x": [7] * 9, "a": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 6]}.items():
        crowd.add(name, prompt, 8)
    run(alone)
    run(crowd)
    assert alone.results["a"].output_token_ids == crowd.results["a"].output_token_ids
    assert len(set(alone.results["a"].output_token_ids)) > 1


def test_an_engine_without_requests_has_no_step() -> None:
    engine = engine_of()
    assert engine.step() is None
    engine.add("a", [1], 1)
    assert engine.step() is not None
    assert engine.step() is None


def added_twice() -> None:
    engine = engine_of()
    engine.add("a", [1], 1)
    run(engine)
    engine.add("a", [2], 1)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (added_twice, "request a: there was a request of this id before"),
        (
            lambda: engine_of().add("a", [49, 50], 1),
            "request a: token id 50, the model's vocabulary has 50",
        ),
        (
            lambda: engine_of().add("a", [1], 1, [51]),
            "request a: token id 51, the model's vocabulary has 50",
        ),
        (lambda: engine_of(threads=0), "threads is 0, expected >= 1"),
        (lambda: engine_of(device="tpu9"), "device 'tpu9' is unknown; known: cpu, cuda"),
        (lambda: engine_of(device="meta"), "device 'meta' is not supported; known: cpu, cuda"),
    ],
)
def test_what_the_engine_refuses(work: Callable[[], object], message: str) -> None:
    with pytest.raises(EngineError) as caught:
        work()
    assert str(caught.value) == message


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so() -> None:
    with pytest.raises(EngineError) as caught:
        engine_of(device="cuda")
    expected = "device 'cuda': torch finds no CUDA GPU on this machine; use cpu"
    assert str(caught.value) == expected


def test_a_gpu_that_is_not_there_is_named_beside_the_last_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [str(usable_device(name)) for name in ("cuda", "cuda:1")] == ["cuda", "cuda:1"]
    with pytest.raises(EngineError) as caught:
        usable_device("cuda:2")
    assert str(caught.value) == "device 'cuda:2': the last GPU of this machine is cuda:1"


def test_memory_of_a_gpu_that_an_earlier_engine_gave_back_counts_as_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The small model has 41,136 numbers, 82,272 bytes in bfloat16; 60,000 bytes are nobody's, and
    of 40,000 that torch holds all but 22,272 or 22,271 are in use."""
    shape = tiny_shape()
    assert shape.parameters == 41_136
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (60_000, 200_000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 40_000)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 17_728)
    check_weights(shape, torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 17_729)
    with pytest.raises(EngineError, match=r" take 0\.0 GiB, 0\.0 GiB are free on cuda; take a"):
        check_weights(shape, torch.device("cuda"))


def test_a_cache_that_the_memory_does_not_hold_is_refused_before_it_is_made() -> None:
    """2 layers, K and V, 16 tokens, 2 heads of 16 numbers, 4 bytes: 8 KiB a block."""
    with pytest.raises(EngineError) as caught:
        engine_of(blocks=2**30, block_tokens=16)
    assert str(caught.value).startswith("1,073,741,824 blocks of 16 tokens take 8192.0 GiB, ")
    assert str(caught.value).endswith(" GiB are free on cpu; ask for fewer blocks")


def test_without_torch_opening_a_model_says_what_to_install(tmp_path: Path) -> None:
    """In a process in which torch cannot be imported."""
    import json

    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from cachecast_replay.engine.opening import open_engine\n"
        "open_engine(Path(sys.argv[1]), blocks=9, block_tokens=4, max_batch_tokens=9, max_seqs=1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("EngineError: the engine needs torch: pip install 'cachecast[engine]'")


def test_the_engine_loads_nothing_of_the_simulator() -> None:
    """Else the check would check itself; this looks at the process, import-linter at the source."""
    code = (
        "import sys, cachecast_replay.engine.engine, cachecast_replay.engine.opening\n"
        "print(sorted(n for n in sys.modules if n.startswith(('cachecast', 'simpy'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cachecast_replay.engine.scheduler" in done.stdout
    for name in ("cachecast_sim", "cachecast_pricing", "simpy", "'cachecast'"):
        assert name not in done.stdout
