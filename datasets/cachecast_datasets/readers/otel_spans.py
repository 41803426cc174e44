"""Spans out of OTLP/JSON or flat JSON, brought to one form."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cachecast_datasets.readers.fields import Fields, count_of
from cachecast_datasets.readers.rows import Row
from cachecast_datasets.shown import shown

_SCALARS = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_LATEST_NS = 10**21
_DEEPEST = 32  # arrays and maps inside an attribute


class FlatSpan(NamedTuple):
    """One span: its ids, its time, its attributes as one object."""

    trace_id: str | None
    span_id: str
    parent_id: str | None
    start_us: int
    end_us: int | None
    attributes: Fields
    failed: bool
    number: int

    @property
    def key(self) -> str:
        """A name that no other span has."""
        return self.span_id if self.trace_id is None else f"{self.trace_id}/{self.span_id}"

    @property
    def parent_key(self) -> str | None:
        """The `key` of the parent."""
        if self.parent_id is None or self.trace_id is None:
            return self.parent_id
        return f"{self.trace_id}/{self.parent_id}"


def spans_of(row: Row) -> Iterator[FlatSpan]:
    """The spans of one row: an OTLP export request, or one flat span."""
    if "resourceSpans" not in row.raw:
        yield _span(Fields(row.raw), row.number)
        return
    for group in _objects(row.raw["resourceSpans"], "resourceSpans"):
        # "instrumentationLibrarySpans" until 2022
        scopes = group.get("scopeSpans", group.get("instrumentationLibrarySpans"))
        for scope in _objects(scopes, "scopeSpans"):
            for span in _objects(scope.get("spans"), "spans"):
                yield _span(Fields(span), row.number)


def _objects(value: Any, name: str) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError(f"{name} is {shown(value)}, expected an array of objects")
    return value


def _span(span: Fields, number: int) -> FlatSpan:
    context = span.inner("context") or span
    span_id = context.text("spanId", "span_id", "id")
    if span_id is None:
        raise ValueError("spanId is missing, expected the span's id")
    attributes = span.value("attributes")
    if isinstance(attributes, list):
        attributes = _attributes(attributes)
    elif isinstance(attributes, str):
        attributes = span.json("attributes")
    if attributes is None:
        attributes = {}
    if not isinstance(attributes, Mapping):
        raise ValueError(f"attributes is {shown(attributes)}, expected an object or an array")
    start_us = _time(span, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime")
    if start_us is None:
        raise ValueError("startTimeUnixNano is missing, expected the span's start")
    return FlatSpan(
        trace_id=context.text("traceId", "trace_id"),
        span_id=span_id,
        parent_id=span.text("parentSpanId", "parent_span_id", "parent_id", "parentId"),
        start_us=start_us,
        end_us=_time(span, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"),
        attributes=Fields(attributes),
        failed=_failed(span.value("status")),
        number=number,
    )


def _time(span: Fields, *names: str) -> int | None:
    """Nanoseconds since 1970 (a number, or a string of digits), or a date and time."""
    value = span.value(*names)
    digits = isinstance(value, str) and value.isascii() and value.isdigit()
    if not digits and not isinstance(value, int | float):
        return span.moment_us(*names)
    if digits and len(value) > 24:
        raise ValueError(f"{span.name(*names)} is {shown(value)}, expected nanoseconds since 1970")
    nanoseconds = int(value) if digits else value
    if not 0 <= nanoseconds <= _LATEST_NS:
        raise ValueError(f"{span.name(*names)} is {shown(value)}, expected nanoseconds since 1970")
    return int(nanoseconds) // 1000


def _failed(status: Any) -> bool:
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else status
    return code == 2 or (isinstance(code, str) and code.upper().endswith("ERROR"))


def _attributes(items: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, item in enumerate(items):
        if not isinstance(item, Mapping) or not isinstance(item.get("key"), str):
            raise ValueError(f"attributes[{number}] is {shown(item)}, expected a key and a value")
        found[item["key"]] = _value(item.get("value"), f"attributes[{number}].value", 0)
    return found


def _value(value: Any, path: str, depth: int) -> Any:
    """An OTLP AnyValue as plain JSON; integers may come as strings."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return value if depth <= _DEEPEST else None
    for name in _SCALARS:
        if name in value:
            found = value[name]
            return count_or_text(found) if name == "intValue" else found
    if "arrayValue" in value:
        inner = value["arrayValue"]
        items = inner.get("values") if isinstance(inner, Mapping) else None
        return [_value(item, path, depth + 1) for item in items or () if isinstance(items, list)]
    if "kvlistValue" in value:
        inner = value["kvlistValue"]
        pairs = inner.get("values") if isinstance(inner, Mapping) else None
        return {
            str(pair.get("key")): _value(pair.get("value"), path, depth + 1)
            for pair in (pairs if isinstance(pairs, list) else ())
            if isinstance(pair, Mapping)
        }
    return None


def count_or_text(value: Any) -> Any:
    """A whole number where a string holds one, else the value."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        return count_of(value, "intValue")
    return value
