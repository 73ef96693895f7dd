"""Records of JSON, one on a line, as loggers and collectors of logs write them: what a program printed is in them."""

import itertools
from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.logs.prefixes import read
from gpudoctor.patterns import late_pattern

SHIPPED = frozenset({"log", "stream", "time"})
"""The names of Docker's json-file driver, https://docs.docker.com/engine/logging/drivers/json-file/; `time` in UTC."""
COLLECTED = ("message", "log", "textPayload")
"""Where collectors of logs put a printed line: Vector and Fluent Bit beside `stream`, Google's by the last name."""
TIMES = ("timestamp", "time", "@timestamp")
"""Where they put when it was printed."""
STREAMS = ("stdout", "stderr")
LOGURU = frozenset({"text", "record"})
"""The names of loguru's records with serialize=True: `text` is the line as it prints it without."""
TRACE = "Traceback (most recent call last)"
START = late_pattern(r'\{[ \t]?"')
ESCAPED = late_pattern(r"\\n(?:['\"],? ?\[?['\"])?[ \t]+File \\?[\"']")
"""A traceback in one line: its line ends are written as in a string's source, or it is a list of strings."""
BREAK = late_pattern(r"(?<!\\)\\n(?:['\"], ?['\"])?")
MOST = 256 << 10
"""Characters of a record that is read."""


def unfolded(text: str) -> Iterator[str]:
    """Yield the lines that a line holds: of a record with a printed line or a traceback in it, those; else itself.

    What stands in front of the record stays in front of each. The record's other values come first, as JSON.
    """
    if "\\n" in text and ESCAPED.search(text) and not text.endswith("}"):
        yield from _broken_up(text)
        return
    begin = START.search(text, 0, 200) if text.endswith("}") and len(text) < MOST else None
    if begin is None or not any(
        words in text for words in (TRACE, '"log"', '"record"', '"stream"', '"textPayload"')
    ):
        yield text
        return
    try:
        record = msgspec.json.decode(text[begin.start() :], type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        yield from _broken_up(text) if ESCAPED.search(text) else [text]
        return
    rank = record.get("rank")
    before = text[: begin.start()] + (f"(rank {rank}) " if isinstance(rank, int) else "")
    yield from (before + line for line in _lines(record, text[begin.start() :]))


def _broken_up(text: str) -> Iterator[str]:
    """Yield the lines of a traceback that was written as a string's source, each with what stands in front of it."""
    before = text[: read(text).length]
    first, *rest = BREAK.split(text.replace('\\"', '"'))
    yield first
    yield from (before + line for line in rest)


def _lines(record: Mapping[str, object], text: str) -> Iterator[str]:
    said = record.get("log")
    if isinstance(said, str) and record.keys() >= SHIPPED:
        time = str(record["time"])
        yield from (f"{time} {line}" for line in said.rstrip("\n").split("\n"))
        return
    if (collected := _collected(record)) is not None:
        yield from collected
        return
    text_of = record.get("text")
    if isinstance(text_of, str) and record.keys() == LOGURU:
        yield from text_of.rstrip("\n").split("\n")
        return
    traces = {name: [*_traces(value)] for name, value in record.items()}
    rest = {name: value for name, value in record.items() if not traces[name]}
    yield msgspec.json.encode(rest).decode() if 0 < len(rest) < len(record) else text
    for trace in itertools.chain.from_iterable(traces.values()):
        yield from trace.rstrip("\n").split("\n")


def _collected(record: Mapping[str, object]) -> list[str] | None:
    """Return the lines that a collector put into a record, each behind its time; `None` where it is no such record."""
    said = next((record[name] for name in COLLECTED if isinstance(record.get(name), str)), None)
    if not isinstance(said, str) or not ("textPayload" in record or record.get("stream") in STREAMS):
        return None
    time = next((f"{record[name]} " for name in TIMES if isinstance(record.get(name), str)), "")
    return [time + line for line in said.rstrip("\n").split("\n")]


def _traces(value: object, deep: int = 4) -> Iterator[str]:
    """Yield the tracebacks in a value, or in what it holds: torchelastic's error report has them two levels down."""
    if isinstance(value, str):
        yield from [value] if TRACE in value else []
    elif isinstance(value, dict) and deep:
        for each in value.values():
            yield from _traces(each, deep - 1)
