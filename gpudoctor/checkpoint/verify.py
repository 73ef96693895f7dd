"""Compare every record of a zip checkpoint with the checksum that its directory holds."""

import zipfile
from collections.abc import Iterator

from gpudoctor.checkpoint.torch_zip import open_archive
from gpudoctor.checkpoint.tree import Heard, Unreadable, unheard

BLOCK = 1 << 20
TIMES = 4
"""Bytes that are unpacked at most, in times of the file's size; torch compresses nothing."""


def verify(path: str, size: int, heard: Heard = unheard) -> Iterator[str]:
    """Yield a line for each record that is not what was written; `size` is that of the file in bytes.

    Raises `Unreadable` where the file cannot be opened as a zip file any more.
    """
    try:
        with open(path, "rb") as file, open_archive(file) as archive:
            records = [info for info in archive.infolist() if not info.is_dir()]
            wrong = [line for info in records if (line := _wrong(archive, info, size, heard))]
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None
    if records and len(wrong) == len(records):
        yield (
            "no record has the checksum that the file's directory says: damaged, or saved with "
            "torch.serialization.set_crc32_options(False), which writes none"
        )
    else:
        yield from wrong


def _wrong(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int, heard: Heard) -> str:
    if info.file_size > TIMES * size:
        return f"the record {info.filename} claims {info.file_size} bytes, far more than the file has"
    try:
        with archive.open(info) as stream:
            while stream.read(BLOCK):
                heard(info.header_offset + stream.tell(), size)
    except (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        KeyError,
    ) as error:
        what = " ".join(str(error).split())
        return f"the record {info.filename} is damaged: {what or type(error).__name__}"
    except Exception as error:  # zlib.error, lzma.LZMAError and what else a compressed record may hold
        return f"the record {info.filename} is damaged: {type(error).__name__}: {error}"
    return ""
