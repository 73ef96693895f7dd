"""``nvidia-smi -q -x``: the same as XML, read without its document type: no entity is ever expanded."""

import html
from contextlib import suppress
from typing import Any
from xml.parsers import expat

from gpudoctor.importers.nvidia_smi.query import devices
from gpudoctor.importers.nvidia_smi.readings import Readings, normal
from gpudoctor.importers.nvidia_smi.table import Table

_BEGIN, _END = "<nvidia_smi_log", "</nvidia_smi_log>"
_GPU = '<gpu id="'
"""With this an excerpt begins."""
_DEEPEST = 16
_LONGEST = 4_000_000
# As the readings name what ``-q`` prints.
_PROCESS = {
    "pid": "process_id",
    "type": "type",
    "process_name": "name",
    "used_memory": "used_gpu_memory",
}


class _Refused(Exception):
    """It is no such log, or holds what no such log does."""


def read(text: str) -> Table:
    """Read the first log that a text holds; one that is cut off gives what stands before the cut.

    ``<gpu id="00000000:3B:00.0"> … <remapped_row_pending>Yes</remapped_row_pending>``
    """
    if "&lt;nvidia_smi_log" in text:
        text = html.unescape(text[: 2 * _LONGEST])
    begin = text.find(_BEGIN)
    if begin < 0:
        return (
            _Log().read(f"{_BEGIN}>{text[gpu : gpu + _LONGEST]}")
            if (gpu := text.find(_GPU)) >= 0
            else Table()
        )
    end = text.find(_END, begin)
    body = text[begin : end + len(_END)] if end >= 0 else text[begin:]
    return _Log().read(body[:_LONGEST])


class _Log:
    """Collects the leaves of the document, by GPU."""

    def __init__(self) -> None:
        self.table = Table()
        self.found: list[Readings] = []
        self.attached: int | None = None
        self.open: list[str] = []
        self.text = ""

    def read(self, body: str) -> Table:
        """Parse one document."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.data
        parser.StartDoctypeDeclHandler = self.refuse
        parser.EntityDeclHandler = self.refuse
        with suppress(expat.ExpatError, _Refused):  # what was read until there is right
            parser.Parse(body.encode("utf-8", "replace"), True)
        self.table.devices = devices(self.found, self.attached)
        return self.table

    def refuse(self, *_: Any) -> None:
        """Stop at a document type: the log was cut out from behind its own."""
        raise _Refused

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Note where a value stands."""
        if len(self.open) >= _DEEPEST or len(self.found) > 64:
            raise _Refused
        self.open.append(tag)
        self.text = ""
        if tag == "gpu":
            self.found.append(Readings(attributes.get("id", "")))
        elif tag == "processes" and self.found:
            self.found[-1].processes = []
        elif tag == "process_info" and self.found and self.found[-1].processes is not None:
            self.found[-1].processes.append({})

    def data(self, text: str) -> None:
        """Keep a value, up to what one is long."""
        if len(self.text) < 1000:
            self.text += text

    def end(self, tag: str) -> None:
        """Store a value."""
        value, self.text = self.text.strip(), ""
        self.open.pop()
        section = self.open[-1] if self.open else ""
        if not value:
            return
        if self.found and section == "process_info" and self.found[-1].processes:
            self.found[-1].processes[-1][_PROCESS.get(tag, tag)] = value
        elif self.found:
            self.found[-1].add(normal(section), normal(tag), value)
        elif tag == "driver_version":
            self.table.driver_version = value[:20]
        elif tag == "cuda_version":
            self.table.cuda_version = value[:10]
        elif tag == "attached_gpus" and value.isascii() and value.isdecimal():
            self.attached = int(value[:4])
