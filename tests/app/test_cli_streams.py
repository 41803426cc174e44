"""The command line and what is around it: locales, odd names, devices, signals."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

RunCli = Callable[..., tuple[int, str, str]]
ROW = {"at": 0, "model": "claude-opus-5", "output": 1, "prompt": [["system", "S", 6000, "5m"]]}
COMMAND = [sys.executable, "-m", "cachecast"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(ROW | {"at": at}) + "\n" for at in range(3)))
    return file


def test_the_output_is_utf_8_whatever_the_locale_says() -> None:
    usage = '{"prompt_tokens": 100, "completion_tokens": 5}'
    ran = subprocess.run(
        [*COMMAND, "price", "--model", "deepseek-v4-pro", "--currency", "CNY", "--usage", usage],
        capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert (ran.returncode, "¥" in ran.stdout.decode()) == (0, True)


def test_an_argument_that_is_no_utf_8_is_one_sentence(run_cli: RunCli, log: Path) -> None:
    code, out, err = run_cli("bill", log, "--where", "model = '\udcff'")
    assert (code, out) == (2, "")
    assert err == (
        "cachecast: argument 4 is \"model = '\\udcff'\", expected valid UTF-8: rename the file, or "
        "correct the text\n"
    )


def test_a_skipped_file_whose_name_is_no_utf_8_is_named_in_json(
    run_cli: RunCli, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    call = {"t": 0, "type": "n", "in": 64, "hash_ids": [1]}
    (folder / "a.json").write_text(json.dumps({"block_size": 64, "requests": [call]}))
    (folder / "b\udcff.json").write_text("{")
    out = tmp_path / "out.parquet"
    code, said, _ = run_cli("import", folder, "-o", out, "--skip-bad", "--json")
    (skip,) = json.loads(said)["skipped"]
    assert (code, "b\\udcff.json" in skip["example"]) == (0, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "LOG", "-o", "out.parquet", "--anonymise", "--salt", "/dev/zero"),
        ("price", "--model", "claude-opus-5", "--usage", "@/dev/zero"),
        ("bill", "LOG", "--rates", "/dev/zero"),
    ],
)
def test_a_device_without_an_end_is_one_sentence(
    run_cli: RunCli, log: Path, arguments: tuple[str, ...]
) -> None:
    places = {"LOG": str(log), "out.parquet": str(log.with_name("out.parquet"))}
    code, out, err = run_cli(*(places.get(word, word) for word in arguments))
    assert (code, out) == (2, "")
    assert "/dev/zero: has more than 16 MiB, expected a file of a few lines" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [("a = " + "[" * 5000, "nested too deep"), ("a = " + "9" * 5000, "not TOML")],
)
def test_prices_that_no_parser_takes_are_one_sentence(
    run_cli: RunCli, log: Path, text: str, message: str
) -> None:
    rates = log.with_name("rates.toml")
    rates.write_text(text)
    code, _, err = run_cli("bill", log, "--rates", rates)
    assert (code, err.count("\n"), message in err) == (2, 1, True)


def test_a_where_that_counts_is_refused(run_cli: RunCli, log: Path) -> None:
    code, _, err = run_cli("bill", log, "--where", "count(*) > 1")
    assert (code, err) == (2, (
        "cachecast: --where count(*) > 1: gives 1 values for the 3 requests, expected one each (no "
        "count or other aggregate)\n"
    ))  # fmt: skip


def test_a_random_where_is_drawn_once(run_cli: RunCli, log: Path, tmp_path: Path) -> None:
    log.write_text("".join(json.dumps(ROW | {"at": at}) + "\n" for at in range(400)))
    run = tmp_path / "run"
    assert run_cli("bill", log, "--where", "random() < 0.5", "-o", run)[0] == 0
    query = (
        "select (select count(*) from requests r join ledger l using (row)), count(*) from ledger"
    )
    code, out, _ = run_cli("sql", run, query, "--csv")
    both, ledger = out.splitlines()[1].split(",")
    assert (code, both) == (0, ledger)


def test_a_sentence_that_nobody_can_read_leaves_the_exit_code() -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*COMMAND, "import", "nosuch", "-o", "o"], stderr=full, check=False)
    assert ran.returncode == 2


QUESTIONS = [
    ("why", "LOG"),
    ("why", "LOG", "--per-request", "--json"),
    ("whatif", "LOG", "--change", "ttl=1h"),
    ("optimize", "LOG"),
    ("lint", "LOG"),
    ("explain",),
    ("bill", "LOG"),
]


def asked(command: tuple[str, ...], log: Path, out: int) -> tuple[int, bytes]:
    """(exit code, standard error) of the command with its output there."""
    words = [str(log) if word == "LOG" else word for word in command]
    ran = subprocess.run(
        [*COMMAND, *words, *(("--as", "claude-opus-5") if "LOG" in command else ())],
        stdout=out, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("command", QUESTIONS)
def test_an_answer_that_finds_no_room_is_one_sentence(log: Path, command: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        code, said = asked(command, log, full.fileno())
    full_is = b"cachecast: the output cannot be written: No space left on device\n"
    assert (code, said) == (2, full_is)


@pytest.mark.parametrize("command", QUESTIONS)
def test_an_answer_whose_reader_went_away_ends_quietly(log: Path, command: tuple[str, ...]) -> None:
    """As under `| head -1`, but gone for certain before the first byte."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        code, said = asked(command, log, writing)
    finally:
        os.close(writing)
    assert (code, said) == (0, b"")


@pytest.mark.parametrize("shape", [(), ("--json",)])
def test_a_verdict_stands_though_its_reader_went_away(
    tmp_path: Path, shape: tuple[str, ...]
) -> None:
    """`cachecast lint LOG | head -1` under pipefail is a check all the same."""
    log = tmp_path / "log.jsonl"
    prompts = [[["system", name, 6000, "5m"]] for name in ("S", "T")]
    log.write_text("".join(json.dumps(ROW | {"prompt": prompt}) + "\n" for prompt in prompts))
    reading, writing = os.pipe()
    os.close(reading)
    try:
        code, said = asked(("lint", "LOG", *shape), log, writing)
    finally:
        os.close(writing)
    assert (code, said) == (1, b"")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_terminal_that_closes_leaves_nothing_half_written(tmp_path: Path, number: int) -> None:
    out = tmp_path / "log.jsonl"
    command = [*COMMAND, "generate", "chat", "-o", str(out), "--requests", "2000000"]
    # under nohup these tests' own children would ignore SIGHUP, as they should there
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    signal.signal(signal.SIGHUP, before)
    with running:
        while not list(tmp_path.iterdir()):
            assert running.poll() is None
        running.send_signal(number)
        _, said = running.communicate()
    assert (running.returncode, list(tmp_path.iterdir())) == (130, [])
    assert said == b"cachecast: interrupted, nothing was written\n"
