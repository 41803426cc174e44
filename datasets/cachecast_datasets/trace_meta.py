"""What a Parquet says about itself, or what its columns show where it says nothing."""

from cachecast_datasets.errors import LogError, at
from cachecast_datasets.log_meta import EVIDENCE, LogMeta
from cachecast_datasets.parquet_writer import FLAGS, meta_from
from cachecast_datasets.request_log import FORMAT_NAME, VERSION
from cachecast_datasets.shown import shown

_PREFIX = "cachecast."
_YEAR_2000_US = 946_684_800_000_000
_KNOWN: dict[str, tuple[str, ...]] = {
    "evidence": EVIDENCE,
    "time_origin": ("relative", "absolute"),
    **dict.fromkeys(FLAGS, ("true", "false")),
}


def stamped_meta(metadata: dict[bytes, bytes], source: str) -> LogMeta | None:
    """The LogMeta in a file's metadata, None if another program wrote it. LogError if odd."""
    values = {}
    for key, value in metadata.items():
        name = key.decode("utf-8", "replace")
        if not name.startswith(_PREFIX):
            continue
        try:
            values[name] = value.decode()
        except UnicodeDecodeError as problem:
            raise _odd(source, name, "not valid UTF-8", "text") from problem
    if values.get(f"{_PREFIX}format", FORMAT_NAME) != FORMAT_NAME:
        given = shown(values[f"{_PREFIX}format"]).strip('"')
        raise at(source, None, f"format is {given}, expected {FORMAT_NAME}")
    version = values.get(f"{_PREFIX}version", str(VERSION))
    if version != str(VERSION):
        raise at(source, None, f"version is {shown(version)[1:-1]}, expected {VERSION}")
    for field, known in _KNOWN.items():
        given = values.get(_PREFIX + field, known[0])
        if given not in known:
            raise _odd(source, _PREFIX + field, shown(given), "one of " + ", ".join(known))
    return meta_from(values)


def _odd(source: str, name: str, value: str, accepted: str) -> LogError:
    return at(source, None, f"metadata {name} is {value}, expected {accepted}", "bad metadata")


def guessed(held: set[str], first_us: int | None) -> LogMeta:
    """Metadata for a file that carries none, by the columns that hold something."""
    if "blocks" in held:
        evidence = "blocks"
    elif "token_blocks" in held:
        evidence = "tokens" if "token_ids" in held else "token_blocks"
    else:
        evidence = "token_blocks" if "boundaries" in held else "counts"
    absolute = first_us is not None and first_us >= _YEAR_2000_US
    return LogMeta(
        source_format="parquet",
        evidence=evidence,
        carries_markers="blocks" in held,
        time_origin="absolute" if absolute else "relative",
    )
