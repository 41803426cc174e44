"""Keys, cookies and passwords: what counts as one, and that none reaches a row."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cachecast_datasets.importing import ImportSummary
from cachecast_datasets.request_log import SCHEMA
from cachecast_datasets.secrets import LEFT_OUT, clean_host, clean_json, clean_value, is_secret
from cachecast_datasets.trace import Trace, open_trace

Write = Callable[..., Path]
ImportAll = Callable[..., tuple[Trace, ImportSummary]]


@pytest.mark.parametrize(
    "name",
    [
        "authorization", "Authorization", "Proxy-Authorization", "x-api-key", "X_API_KEY", "apiKey",
        "api-key", "cookie", "Set-Cookie", "token", "auth_token", "accessToken", "access_token",
        "x-amz-security-token", "secret", "client_secret", "password", "db.passwd", "pwd",
        "credentials", "private_key", "bearer", "x-auth", "extra_headers.authorization", "jwt",
    ],
)  # fmt: skip
def test_a_name_that_means_a_secret_is_one_whatever_its_case(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens", "budget_tokens", "input_tokens", "cached_tokens", "promptTokenCount",
        "prompt_cache_key", "safety_identifier", "tool_choice", "thinking", "author", "key",
        "cost_per_token", "first_token", "output_config.effort", "tokens", "path", "session_id",
    ],
)  # fmt: skip
def test_counts_of_tokens_and_cache_keys_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("https://me:pw@api.example.com/v1", "https://api.example.com/v1"),
        ("me:pw@api.example.com", "api.example.com"),
        ("https://h/v1?api-version=2&api-key=k3y", "https://h/v1?api-version=2&api-key="),
        ("bedrock", "bedrock"),
        ("openrouter:Azure", "openrouter:Azure"),
    ],
)
def test_a_host_loses_its_user_password_and_secret_parameters(host: str, kept: str) -> None:
    assert clean_host(host) == kept


def test_secret_keys_of_json_go_however_deep_and_the_rest_stays() -> None:
    raw = {"a": [{"Cookie": "c", "n": 1}], "headers": {"X-Api-Key": {"k": 1}}, "input_tokens": 3}
    assert json.loads(clean_json(json.dumps(raw))) == {
        "a": [{"n": 1}],
        "headers": {},
        "input_tokens": 3,
    }


def test_json_without_secrets_stays_as_it_was_written() -> None:
    assert clean_json('{"input_tokens" :3}') == '{"input_tokens" :3}'


def test_a_text_that_is_cut_short_and_may_hold_a_secret_is_left_out() -> None:
    assert clean_json('{"authorization": "Bearer x') == LEFT_OUT
    assert clean_json('{"input') == '{"input'


def test_a_bare_credential_is_left_out_under_any_name() -> None:
    assert clean_value("Bearer abc.def") == LEFT_OUT
    assert clean_value("sk-ant-api03-not-a-real-key") == LEFT_OUT
    assert clean_value("auto") == "auto"
    assert clean_value("@") == "@"


SECRETS = {
    "Authorization": "Bearer hush1", "x-api-key": "hush2", "extra": {"Cookie": "hush3", "n": 1},
    "base_url": "https://me:hush4@example.com", "tool_choice": "auto", "max_tokens": 5,
}  # fmt: skip


def test_settings_and_hosts_of_a_sketch_reach_the_parquet_without_secrets(
    write: Write, import_all: ImportAll
) -> None:
    line = {"at": 0, "prompt": [], "settings": SECRETS, "host": "https://me:hush5@example.com"}
    trace, _ = import_all(write(line))
    (one,) = trace
    assert one.settings == {
        "extra": '{"n": 1}', "base_url": "https://example.com", "tool_choice": "auto",
        "max_tokens": "5",
    }  # fmt: skip
    assert one.platform == "https://example.com"
    assert "hush" not in str(pq.read_table(trace.path).to_pylist())


def foreign(folder: Path) -> Path:
    settings = [[("Authorization", "hush"), ("speed", "x")], None, [("token", "hush")]]
    usage = {"fresh": 1, "raw_json": '{"h": {"api_key": "hush"}, "n": 2}'}
    observed = [usage, None, {"iterations": '[{"password": "hush", "n": 3}]'}]
    table = pa.table(
        {
            "request_id": ["a", "b", "c"],
            "arrival": pa.array([0, 1, 2], pa.timestamp("us", "UTC")),
            "platform": ["https://me:hush@h", None, "bedrock"],
            "settings": pa.array(settings, SCHEMA.field("settings").type),
            "observed": pa.array(observed, SCHEMA.field("observed").type),
        }
    )
    pq.write_table(table, folder / "foreign.parquet")
    return folder / "foreign.parquet"


def test_a_foreign_parquet_is_cleaned_where_it_is_opened_and_where_it_is_imported(
    tmp_path: Path, import_all: ImportAll
) -> None:
    path = foreign(tmp_path)
    for trace in (open_trace(path), import_all(path)[0]):
        first, second, third = trace
        assert (first.settings, second.settings, third.settings) == ({"speed": "x"}, {}, {})
        assert first.observed is not None
        assert (first.observed.fresh, first.observed.raw_json) == (1, '{"h": {}, "n": 2}')
        assert (first.platform, second.platform, third.platform) == ("https://h", None, "bedrock")
        assert second.observed is None
        assert third.observed is not None
        assert third.observed.iterations == '[{"n": 3}]'
        assert "hush" not in str([batch.to_pylist() for batch in trace.batches()])


def test_a_stamp_does_not_let_secrets_through(tmp_path: Path) -> None:
    path = foreign(tmp_path)
    stamp: dict[Any, Any] = {
        "cachecast.format": "cachecast.request_log", "cachecast.source_format": "x",
        "cachecast.evidence": "counts", "cachecast.carries_markers": "false",
    }  # fmt: skip
    table = pq.read_table(path).append_column(
        "boundaries", pa.nulls(3, SCHEMA.field("boundaries").type)
    )
    pq.write_table(table.replace_schema_metadata(stamp), path)
    trace = open_trace(path)
    assert trace.ours
    assert "hush" not in str([batch.to_pylist() for batch in trace.batches()])


def test_accounts_are_hashed_and_stay_apart_or_together(
    write: Write, import_all: ImportAll
) -> None:
    log = write(
        *(
            {"at": n, "prompt": [], "account": name}
            for n, name in enumerate(["org-secret", "b", "org-secret"])
        )
    )
    first, other, again = import_all(log)[0]
    assert first.account == again.account != other.account
    assert b"org-secret" not in import_all(log)[0].path.read_bytes()


def test_keys_and_headers_never_reach_the_parquet(write: Write, import_all: ImportAll) -> None:
    secret = "sk-ant-very-secret"
    row = {"id": "s", "block_size": 64, "requests": []}
    call = {"t": 0, "type": "n", "in": 0, "hash_ids": [], "headers": {"Authorization": secret}}
    log = write(row | {"requests": [call], "api_key": secret, "cookie": secret})
    trace, _ = import_all(log)
    assert secret.encode() not in trace.path.read_bytes()
    table = pq.read_table(trace.path)
    assert secret not in str(table.to_pylist())
