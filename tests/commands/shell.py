"""A shell text taken apart: the simple commands in it, with their variables, and the Python that it runs."""

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w*)")
REDIRECTION = re.compile(r"[<>]+[&|]?|&>+|[<>]\(")
SUBSTITUTED = "SUBSTITUTED"
WRAPPERS = {
    "apptainer exec": 1,
    "compute-sanitizer": 0,
    "docker run": 1,
    "podman run": 1,
    "env": 0,
    "nohup": 0,
    "setsid": 0,
    "srun": 0,
    "strace": 0,
    "sudo": 0,
    "timeout": 1,
    "uv run": 0,
}
"""Commands that run another one, and how many words stand before it: an image, a number of seconds."""
TAKING_A_WORD = {
    "compute-sanitizer": {"--tool"},
    "docker run": {"-v", "--volume", "--device", "--gpus", "--hostname", "--ulimit"},
    "podman run": {"--device"},
    "env": {"-u"},
    "ipmitool": {"-I", "-H", "-U"},
    "nvidia-smi": {"-i"},
    "ping": {"-c", "-M", "-s"},
    "python": {"-X", "-W"},
    "strace": {"-e"},
    "sudo": {"-u"},
    "timeout": {"-s"},
}
"""Options whose value is the next word, where the words after it matter."""
SUBCOMMANDS = {
    "accelerate": 1, "apptainer": 1, "apt": 1, "apt-mark": 1, "conda": 1, "coredumpctl": 1, "dcgmi": 1, "docker": 1,
    "git": 2, "gpudoctor": 2, "hf": 2, "hostnamectl": 1, "ip": 2, "ipmitool": 2, "kubectl": 1, "module": 1,
    "nvidia-ctk": 2, "nvidia-smi": 1, "pip": 1, "podman": 1, "py-spy": 1, "scontrol": 1, "systemctl": 1, "ufw": 1,
    "uv": 2,
}  # fmt: skip
"""Tools whose first words name a command, and how many such words there can be."""
INNER = {"git": {"lfs"}, "gpudoctor": {"checkpoint"}, "hf": {"auth", "cache"}, "uv": {"pip"}}
INNER |= {"ip": {"link", "addr", "route"}}
INNER |= {"nvidia-ctk": {"system", "runtime", "cdi"}, "ipmitool": {"sel", "chassis"}}
"""Words after which a second one names the command."""
MODULES = {
    "pip": "pip",
    "torch.distributed.launch": "torch.distributed.launch",
    "torch.distributed.run": "torchrun",
}
"""Modules that ``python -m`` starts, and the commands that they are."""
NO_SUBCOMMAND = {"nvidia-smi": {"-q", "-L", "-i", "-pl", "-r"}}
"""Options after which no subcommand comes."""


TOOLS = frozenset(
    "accelerate all_reduce_perf apptainer apt apt-mark bash cat chown command compute-sanitizer conda "
    "coredumpctl curl cut dcgmi deepspeed df dirname dmesg docker dpkg-query du echo edquota env ethtool "
    "export fi_info find getent git gpudoctor grep gunzip head hf hostname hostnamectl ib_write_bw ibstat "
    "ibv_devinfo id ip ipmitool journalctl kill kubectl ldconfig ls lspci mkdir modinfo modprobe module mount "
    "mv nc nohup nvcc nvidia-bug-report.sh nvidia-ctk nvidia-cuda-mps-control nvidia-imex-ctl nvidia-modprobe "
    "nvidia-smi pgrep ping pip podman printenv ps pwd py-spy python quota reboot rm rmmod sacct sbatch "
    "scontrol sed setpci sh sha256sum show_gids shutdown sinfo sleep source squeue srun ss strace sudo sysctl "
    "systemctl tail tee timeout torchfrtrace torchrun tracepath ufw ulimit unset update-grub update-initramfs "
    "ssh ssh-copy-id ssh-keyscan ssh-keygen mpirun uname uv wc which wsl".split()
)
"""What a command in the text of a page begins with."""


@dataclass
class Simple:
    """One command: its key such as ``docker run``, its words, the variables that it sets or reads."""

    key: str
    words: list[str]
    options: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)


def variables(text: str) -> set[str]:
    """Return the names of the environment variables that a shell text sets, unsets or reads."""
    found = set(REFERENCE.findall(re.sub(r"'[^']*'", "", text)))
    own: set[str] = set()
    for words in _parts(text):
        while words and (assigned := ASSIGNMENT.fullmatch(words[0])):
            found.add(assigned[1])
            words = words[1:]
        if words[:1] == ["export"]:
            found |= {word.partition("=")[0] for word in words[1:] if not word.startswith("-")}
        elif words[:1] == ["unset"]:
            found |= {word for word in words[1:] if not word.startswith("-")}
        elif "env" in words[:2]:
            found |= {name for option, name in itertools.pairwise(words) if option == "-u"}
        elif words[:1] == ["for"]:
            own.add(words[1])
    return found - own


def commands(text: str) -> Iterator[Simple]:
    """Yield each command of a shell text, those in ``$(...)`` and behind ``sudo`` or ``srun`` too."""
    for words in _parts(text):
        while words and ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        if words and words[0] != "for":
            yield from _simple(words)


def _parts(text: str) -> Iterator[list[str]]:
    """Yield the words of each part between ``;``, ``|`` and ``&&``; redirections are left out."""
    text, inner = _without_substitutions(text)
    for part in inner:
        yield from _parts(part)
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for word in lexer:
        if redirected:
            redirected = False
        elif REDIRECTION.fullmatch(word):
            redirected = True
            if words and words[-1].isdigit():
                words.pop()
        elif word in ("do", "done") and not words:
            pass
        elif re.fullmatch(r"[();|&\n]+", word):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def _without_substitutions(text: str) -> tuple[str, list[str]]:
    """Return a text with a word in the place of each ``$(...)``, and what stood in them; quotes are kept."""
    out, inner, place, quoted = "", [], 0, False
    while place < len(text):
        if text[place] == "'" and out.count('"') % 2 == 0:
            quoted = not quoted
        if text.startswith("$((", place) and not quoted:  # a sum, in which nothing is run
            out += SUBSTITUTED
            place = text.index("))", place) + 2
            continue
        if text.startswith("$(", place) and not quoted:
            depth, end = 1, place + 2
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            inner.append(text[place + 2 : end - 1])
            out += SUBSTITUTED
            place = end
            continue
        out += text[place]
        place += 1
    return out, inner


def _simple(words: list[str]) -> Iterator[Simple]:
    name = (
        words[0].removeprefix("!").rsplit("/", 1)[-1]
    )  # a notebook's cells have a mark before the shell's lines
    name = "python" if re.fullmatch(r"python[\d.]*", name) else name
    rest = words[1:]
    if name in ("bash", "sh") and "-c" in rest:
        yield Simple(name, words, ["-c"])
        yield from commands(rest[rest.index("-c") + 1])
    elif name == "python":
        yield from _python(words)
    else:
        key, rest = _key(name, rest)
        options, behind = _options(key, rest)
        yield Simple(key, words, options)
        if key in WRAPPERS:
            behind = behind[WRAPPERS[key] :]
            while behind and ASSIGNMENT.fullmatch(behind[0]):
                behind = behind[1:]
            if behind:
                yield from _simple(behind)
        elif key == "torchrun" and "--no-python" in options and behind:
            yield from _simple(behind)


def _python(words: list[str]) -> Iterator[Simple]:
    """Yield what ``python`` runs: a module's own command, a text, or a script, whose options are its own."""
    options: list[str] = []
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        option, rest = rest[0], rest[1:]
        if option == "-m":
            yield Simple("python", words, [*options, "-m"])
            if not rest:
                return
            yield from _simple([MODULES.get(rest[0], f"python -m {rest[0]}"), *rest[1:]])
            return
        options.append(option)
        if option == "-c":
            yield Simple("python", words, options, [rest[0]])
            return
        if option in TAKING_A_WORD["python"]:
            rest = rest[1:]
    yield Simple("python", words, options)


def _key(name: str, rest: list[str]) -> tuple[str, list[str]]:
    """Return a tool with its subcommand, and the words without that."""
    most = SUBCOMMANDS.get(name, 0)
    taking = TAKING_A_WORD.get(name, set())
    key, kept, place = [name], [], 0
    while place < len(rest):
        word = rest[place]
        if word.startswith("-"):
            kept.append(word)
            if word in NO_SUBCOMMAND.get(name, set()):
                most = 0
            if word in taking and place + 1 < len(rest):
                kept.append(rest[place + 1])
                place += 1
        elif len(key) <= most and (len(key) == 1 or key[-1] in INNER.get(name, set())):
            key.append(word)
        else:
            break
        place += 1
    return " ".join(key), [*kept, *rest[place:]]


def _options(key: str, rest: list[str]) -> tuple[list[str], list[str]]:
    """Return the options of a command, and the words from the first that is none where these are another's."""
    taking = TAKING_A_WORD.get(key, set())
    options: list[str] = []
    place = 0
    while place < len(rest):
        word = rest[place]
        if word == "--":
            return options, rest[place + 1 :]
        if re.fullmatch(r"-{1,2}[A-Za-z][\w.-]*(=.*)?", word, re.DOTALL):
            options.append(word.partition("=")[0])
            place += word in taking
        elif key in WRAPPERS or "--no-python" in options or (word.endswith(".py") and key != "grep"):
            return options, rest[place:]
        place += 1
    return options, []
