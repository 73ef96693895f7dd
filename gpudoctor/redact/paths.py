"""Which part of a path is private: everything up to what a maintainer of PyTorch would recognise."""

import re
from collections.abc import Iterator
from functools import lru_cache

from gpudoctor.patterns import late_pattern
from gpudoctor.redact.word_lists import file_name

__all__ = ["AFTER_FOLDER", "home_owner", "owner_place", "paths", "split_path", "windows_paths"]

# Folders of the operating system: nothing in them is named by the user.
_SYSTEM = frozenset("bin boot dev etc lib lib32 lib64 proc run sbin sys usr".split())
# Trees that images, installers and build farms make; the last two rows are the source paths compiled into
# torch and NCCL, which stand in their error messages.
_PUBLIC_TREES = frozenset(
    """
    /opt/amazon /opt/anaconda3 /opt/aws-ofi-nccl /opt/conda /opt/hostedtoolcache /opt/hpcx /opt/intel
    /opt/mellanox /opt/miniconda3 /opt/miniforge3 /opt/nvidia /opt/python /opt/pytorch /opt/rocm
    /opt/slurm /opt/venv /Library/Developer /Library/Frameworks /System /nix/store /snap /var/cache
    /var/lib /var/log /var/run /builder /croot /dvs/p4 /io /path /pytorch /__w /usr
    """.split()
)
# Usual names of mounts: public by themselves and with one file in them, what lies deeper is private.
_PUBLIC_FOLDERS = frozenset(
    """
    /app /code /data /dataset /datasets /efs /export /fsx /gpfs /home /lustre /mnt /mnt/c /mnt/data /media
    /nfs /nvme /opt /output /raid /root /scratch /shared /srv /ssd /storage /tmp /Users /var /var/tmp /Volumes
    /work /workdir /workspace /workspaces /batch /epoch /iter /iteration /sample /second /step
    """.split()
)
_WINDOWS_TREES = frozenset(
    ("windows", "program files", "program files (x86)", "programdata", "hostedtoolcache")
)
_NOBODY = frozenset(("Shared", "Public", "Default", "All Users"))
# Keys of torch's store look like paths: /default_pg/0//cpu//0/0, /0//cuda//0, /torch.rendezvous.42.0/worker/rank.
# The id of a rendezvous in front of them may be anything.
_STORE_KEY = late_pattern(
    r"/{1,2}(?:default_pg|worker|cpu|cuda|none|torchelastic|rdzv|rendezvous|torch\.rendezvous[\w.-]*)"
    r"(?:/|\Z)"
    r"|/[^/]*/{1,2}(?:cpu|cuda|xpu|npu|hpu)//|/{1,2}\d+/{1,2}(?:cpu|cuda|xpu|npu|hpu)(?:/|\Z)"
    r"|.*//(?:cpu|cuda|xpu|npu|hpu)//"
)
_PYTHON = late_pattern(
    r"(?:lib|lib64)/(?:python\d|site-packages|dist-packages)|(?:site|dist)-packages(?:/|\Z)", re.I
)
_SHARED_MEMORY = late_pattern(r"(?:torch_|nccl-|psm_|sem\.)")
# What may follow a folder's name where the name ends there.
AFTER_FOLDER = late_pattern(r"(?![\w+@-]|\.\w)")
_NAME = late_pattern(r"[A-Za-z0-9_][\w.@+-]*\Z")

_WINDOWS_NAME = late_pattern(r"[\w.@+][\w .@+-]*\Z")

_OWNER = late_pattern(
    r"(?:[A-Za-z]:[\\/]+(?i:users)|(?:/+[^/]+){0,3}?/+(?:home|Users))[\\/]+(?P<name>[^\\/]+)"
)

# A path begins where no other path could go on. A quoted one may hold blanks; any other ends at a blank and
# at a colon, so that values like PATH fall apart by themselves. A compiler's -I touches the path it names.
_POSIX = late_pattern(
    # the slash comes first, and what stands before it is looked at from there: that is searched fast
    r"""/(?:(?:(?<="/)(?=[^"'\n:,;]{1,1024}")|(?<='/)(?=[^"'\n:,;]{1,1024}'))[^/"'\n][^"'\n]*"""
    r"""|(?:(?<![A-Za-z0-9_~.\-/\\%$)}*+&#!?\ufdd1]/)|(?<=[\s"',]-[ILBFR]/)|(?<=^-[ILBFR]/)|(?<=[Ff]ile:///))"""
    r"""(?P<bare>[^\s/"'<>|:;,()\[\]{}`\\*，。；：、（）「」【】][^\s"'<>|:;,()\[\]{}`\\\ufdd2，。；：、（）「」【】]{0,4096}))"""
)
_WINDOWS = late_pattern(
    r"""(?<![A-Za-z0-9_\ufdd1])[A-Za-z]:[\\/]{1,2}(?:[^\\/:*?"<>|\r\n'\ufdd0]{1,128}[\\/]{1,2}){0,64}"""
    r"""[^\s\\/:*?"<>|\r\n',;()\[\]]{0,255}"""
)
# A folder that another machine shares: \\server\share\..., its backslashes doubled or not, and with slashes in quotes.
_SHARED_FOLDER = late_pattern(
    r"""(?:(?<![^\s"'=(])\\{2}(?:\\{2})?|(?<=["'])//)[A-Za-z][\w.$-]{1,62}"""
    r"""(?:(?:\\{1,2}|/)[^\s\\/:*?"<>|\r\n'\ufdd0\ufdd1]{1,128}){2,64}"""
)


def paths(text: str) -> Iterator[tuple[int, int]]:
    """Find absolute POSIX paths; none spans a line."""
    if "/" not in text:
        return
    for match in _POSIX.finditer(text):
        start, end = match.span()
        if match["bare"] is not None:
            while text[end - 1] in ".!?":
                end -= 1
            # A quotient such as a[0]/norm is no path; a log prefix such as [rank0]/home/x is.
            if text[start - 1 : start] in ("]", ">") and "/" not in text[start + 1 : end]:
                continue
        if end > start + 1:
            yield start, end


def windows_paths(text: str) -> Iterator[tuple[int, int]]:
    """Find Windows paths, of a drive or another machine, with slashes or with single or doubled backslashes.

    They come from left to right, and none lies in another one.
    """
    done = 0
    for start, end in sorted((*_shared(text), *_of_drives(text))):
        if start >= done:
            yield start, end
            done = end


def _shared(text: str) -> Iterator[tuple[int, int]]:
    if "\\\\" in text or "//" in text:
        for match in _SHARED_FOLDER.finditer(text):
            yield match.start(), match.start() + len(match[0].rstrip("., "))


def _of_drives(text: str) -> Iterator[tuple[int, int]]:
    if ":\\" not in text and ":/" not in text:
        return
    for match in _WINDOWS.finditer(text):
        found = match[0]
        # A lone letter before a backslash is more often an escape in a quoted text than a drive.
        if found[0].isupper() or re.match(r".:[\\/]{1,2}users[\\/]", found, re.I):
            yield match.start(), match.start() + len(found.rstrip(". "))


def home_owner(path: str) -> str | None:
    """Name the user whose home folder a path lies in or is, where the path says so."""
    where = owner_place(path)
    return path[where[0] : where[1]] if where else None


@lru_cache(4096)
def owner_place(path: str) -> tuple[int, int] | None:
    """Find where in a path the owner of a home folder is named."""
    match = _OWNER.match(path)
    if match is None or match["name"] in _NOBODY:
        return None
    name = _WINDOWS_NAME if path[1:2] == ":" else _NAME
    return match.span("name") if name.match(match["name"]) else None


def split_path(path: str) -> tuple[str, str]:
    """Split an absolute path in its private folder, which is empty where none is, and its public rest."""
    windows = path[1:2] == ":" or path.startswith("\\\\")
    if _STORE_KEY.match(path):
        return "", path
    flat = re.sub(r"[\\/]+", "/", path).rstrip("/") if windows else re.sub(r"//+", "/", path).rstrip("/")
    parts = flat.split("/")
    if windows and (len(parts) < 2 or parts[1].casefold() in _WINDOWS_TREES):
        return "", path
    if not windows and (parts[1] in _SYSTEM or flat in _PUBLIC_FOLDERS):
        return "", path
    if not windows and ("/" + parts[1] in _PUBLIC_TREES or "/".join(parts[:3]) in _PUBLIC_TREES):
        return "", path
    # rocm-6.2 and the like carry their version in the folder's name
    if parts[1] == "opt" and len(parts) > 2 and parts[2].startswith("rocm-"):
        return "", path
    if (python := _PYTHON.search(flat)) and flat[python.start() - 1] == "/":
        return flat[: python.start() - 1], flat[python.start() - 1 :]
    if len(parts) > 3 and parts[-2] in ("bin", "Scripts"):
        return "/".join(parts[:-2]), "/" + "/".join(parts[-2:])
    if len(parts) > 2 and parts[-1] in ("bin", "include", "lib", "lib64"):
        return "/".join(parts[:-1]), "/" + parts[-1]
    if file_name(parts[-1]):
        folder = "/".join(parts[:-1])
        if folder in _PUBLIC_FOLDERS or len(parts) == 2:
            return "", path
        return folder, "/" + parts[-1]
    if len(parts) == 2 and (len(parts[1]) < 4 or not parts[1][0].isalpha() or _SHARED_MEMORY.match(parts[1])):
        return "", path
    return flat, ""
