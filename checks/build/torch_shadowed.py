"""A file or folder of your own hides a module that torch needs.

## What happens

`import torch` finds another `torch`, or torch finds another `random`, `copy` or `queue`: "No module named 'torch.nn';
'torch' is not a package", "partially initialized module 'torch' has no attribute 'tensor' (most likely due to a
circular import)", "cannot import name 'Random' from 'random' (/home/me/random.py)". Python 3.13 adds "consider
renaming". Under torchrun every rank says the same.

## Why

Python looks for modules in the folder of the script first, and in the folder it was started from for `python -m`.

- A script has the name of a module: `torch.py`, `random.py`, `json.py`, `logging.py`, `datasets.py`, `wandb.py`.
- A folder is called `torch`, `numpy` or `datasets`. Without `__init__.py` it is an empty package ("unknown location").
- A folder on PYTHONPATH holds such a file: then it happens in every folder.
- An installation that was half removed left an empty `torch` folder in site-packages.

## How to tell

`python -c "import random; print(random.__file__)"`, typed in the folder of the script, with the name that the message
gives in the place of `random`: the file must be in site-packages or in Python's own folder. None means a folder without
`__init__.py`. `echo $PYTHONPATH` shows what else is searched first; `python -I -c "import torch"` does without both.

## See also

- [The initialization of sys.path](https://docs.python.org/3/library/sys_path_init.html): the script's own folder comes first
- [Python 3.13](https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages): names the file that hides a module
"""

import re
import shlex
import sys
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Distributions, Python, Shadow, Torch, parsed_version

# Modules that torch imports, and whose names people give to scripts.
STANDARD = (
    r"random|queue|copy|numbers|struct|string|types|enum|logging|platform|inspect|selectors|select|tokenize|token"
    r"|operator|signal|socket|ssl|json|secrets|statistics|calendar|datetime|dataclasses|abc|io|math|time|warnings"
    r"|tempfile|threading|multiprocessing|pickle|traceback|weakref|functools|contextlib|code|profile|glob|shutil|uuid"
    r"|email|html|typing|collections|itertools|subprocess|concurrent|asyncio|hashlib|bisect|heapq|textwrap|argparse"
    r"|configparser|importlib|pathlib|fractions|decimal|keyword|linecache|locale|optparse|pdb|pprint|resource|stat"
    r"|test|timeit|trace|tarfile|zipfile|http|urllib|xml|csv|cmd|dis|ast|re|site|base64|gzip|getpass"
)
OTHERS = (
    r"torch|torchvision|datasets|wandb|tqdm|numpy|deepspeed|accelerate|transformers|lightning|typing_extensions|yaml"
    r"|filelock|sympy|networkx|jinja2|fsspec|packaging|requests"
)
# Whose file asks: Python's own folder, or an installed package.
INSTALLED = r"[/\\](?:lib(?:64)?[/\\]python\d|Lib[/\\]|python3\d+\.zip|(?:site|dist)-packages)"
ASKED = rf'File "[^"\n]{{0,300}}{INSTALLED}[^"\n]{{0,300}}", line \d+[^\n]{{0,200}}\n(?:[^\n]{{0,300}}\n){{1,2}}[^\n]{{0,60}}'
# What Python itself dropped, or added late: who asks for that runs under another Python, and nothing is hidden.
DATED = (
    r"(?!'?(?:getargspec|ArgSpec|formatargspec|clock|linux_distribution|dist|popen|wrap_socket|ImpImporter|Mapping|MutableMapping"
    r"|Sequence|MutableSequence|Iterable|Callable|Hashable|Container|Sized|OrderedDict|escape|encodestring|decodestring"
    r"|gcd|maketrans|letters|lowercase|uppercase|izip|batched|pairwise|NoneType|UnionType|EllipsisType|StringType"
    r"|ClassType|KW_ONLY|StrEnum|UTC|cache|coroutine|get_event_loop|makeSuite|SafeConfigParser|resources|metadata|util"
    r"|cached_property|prod|nullcontext|Self|Literal|Protocol|Final|ParamSpec|TypeAlias|Never|override|SIG[A-Z]+|AF_UNIX|fork|now|today|strptime)')"
)
# A user's own file: not in Python's own folder and not installed.
ELSEWHERE = rf"(?P<path>(?![^()]{{0,200}}{INSTALLED})[^()']{{0,200}}(/|\\)"
# Nor a checkout that is installed in place.
OWN = r"(?P<path>(?![^()]{0,200}(/|\\)([Ll]ib(64)?|src|(site|dist)-packages)(/|\\))[^()']{0,200}(/|\\)"
# torch's own files ask for what torch does not have yet: torch-import-broken
WITHIN = (
    r"(site|dist)-packages[/\\]torch[/\\][^\n]{0,200}\n([^\n]{0,300}\n){1,2}"
    r"[^\n]{0,60}AttributeError: partially initialized module 'torch'"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where torch can be imported all the same",
    symptoms=[
        # since Python 3.13
        r"\(consider renaming '(?P<path>[^']{1,300})' (since|if) it has the same name as",
        rf"No module named '(?P<module>{STANDARD}|{OTHERS})(\.\w+){{1,6}}'; '\w+' is not a package",
        Symptom(
            rf"partially initialized module '(?P<module>{STANDARD}|{OTHERS})' (from '(?P<path>[^']{{1,300}})' )?has no attribute '(?!extension')\w+'",
            unless=WITHIN,
        ),
        rf"cannot import name '\w+' from (partially initialized module )?'(?P<module>{STANDARD})' (\(most likely [^()]{{1,60}}\) )?\({ELSEWHERE}(?P=module)(?:\.py)?)((/|\\)__init__\.py)?\)",
        rf"cannot import name '\w+' from (partially initialized module )?'(?P<module>{OTHERS})' (\(most likely [^()]{{1,60}}\) )?\({ELSEWHERE}(?P=module)\.py)\)",
        rf"cannot import name '\w+' from (partially initialized module )?'(?P<module>datasets|wandb)' (\(most likely [^()]{{1,60}}\) )?\({OWN}(?P=module))(/|\\)__init__\.py\)",
        rf"cannot import name '\w+' from '(?P<module>{OTHERS})' \(unknown location\)",
        Symptom(
            rf"cannot import name '\w+' from partially initialized module '(?P<module>{STANDARD}|{OTHERS})' \(most likely due to a circular import\)\s*$",
            unless=WITHIN,
        ),
        # started in torch's own folder, whose random.py is then the first on the path
        r"cannot import name '\w+' from '(?P<module>random)' \((?P<path>[^()']{0,200}torch(/|\\)random\.py)\)",
        # until Python 3.6 the message does not say where from
        Symptom(r"ImportError: cannot import name '\w+'\s*$", near=rf"from (?P<module>{STANDARD}) import "),
        # Python or a package misses what every release of the module has
        Symptom(
            rf"module '(?!typing'|importlib'|collections'|asyncio'|ast')(?P<module>{STANDARD})' has no attribute {DATED}'\w+'(?! \(consider)",
            near=rf"{ASKED}AttributeError: module '(?:{STANDARD})' has no attribute",
        ),
        # from compiled code, which shows no line of source: NumPy asks secrets for it
        Symptom(
            r"ImportError: cannot import name '?(?P<name>randbits)'?\s*$",
            near=r"numpy[/\\]random[/\\]bit_generator",
        ),
        # names that every release has; others may be newer than the installed torch
        r"module '(?P<module>torch)' has no attribute '(Tensor|tensor|FloatTensor|zeros|ones|nn|cuda|float|float32|long|__version__|manual_seed|load|save|randn|rand|from_numpy|optim|utils|arange|cat|stack|_C)'(?! \(consider)",
        r"module '(?P<module>wandb)' has no attribute '(init|log|login|finish)'(?! \(consider)|module 'datasets' has no attribute '(load_dataset|Dataset)'(?! \(consider)",
        r"module '(?P<module>random)' has no attribute '(Random|randint|random|seed|shuffle|choice|sample)'(?! \(consider)",
        r"module '(?P<module>logging)' has no attribute '(getLogger|Logger|basicConfig|INFO)'(?! \(consider)",
        r"module '(?P<module>copy|queue|string|platform|inspect|select|tokenize|signal)' has no attribute '(copy|deepcopy|Queue|Empty|Template|ascii_\w+|system|machine|signature|getfile|select|poll|open|SIG[A-Z]+)'(?! \(consider)",
        r"module '(?P<module>enum|types|numbers|struct|typing)' has no attribute '(Enum|IntFlag|IntEnum|ModuleType|FunctionType|MethodType|CodeType|MappingProxyType|SimpleNamespace|DynamicClassAttribute|Number|Real|Integral|calcsize|unpack|pack|ForwardRef|TypeVar)'(?! \(consider)",
        r"module '(?P<module>json|selectors|secrets)' has no attribute '(dumps?|loads?|JSON\w+|Default\w+|Poll\w+|Select\w+|EVENT_\w+|token_\w+|randbits|SystemRandom|choice)'(?! \(consider)",
        r"module '(?P<module>numpy)' has no attribute '(ndarray|array|zeros|ones|float32|float64|int64|random|arange|mean|__version__)'(?! \(consider)",
    ],
    message="Python imported something else[ under the name <module>][: <path>][, without <name>], which hides the real module",
    fixes=[
        Fix(
            "Take it out of the way; what you import from it goes into a file of another name",
            "mv -n '<path>' '<path>.old'",
        ),
        Fix(
            "See which file is imported as <module>, from the folder of the script: it must not be one of yours",
            'python -c "import <module>; print(<module>.__file__)"; echo "$PYTHONPATH"',
        ),
        Fix(
            "Give your file or folder another name, and remove what was compiled of it",
            "mv -n <module>.py my_<module>.py && rm -f __pycache__/<module>.*.pyc",
        ),
        Fix(
            "See which file is imported, from the folder of the script: it must not be one of yours",
            'python -c "import torch, random; print(torch.__file__, random.__file__)"',
        ),
        Fix(
            "Where a folder on PYTHONPATH holds it: start without that folder, and install what you need from it",
            "unset PYTHONPATH",
        ),
        Fix(
            "Keep the script's folder off the path (Python 3.11); imports of your own files beside it stop working",
            "export PYTHONSAFEPATH=1",
            Kind.MITIGATION,
        ),
    ],
)

FROM = re.compile(
    rf"from (?:partially initialized module )?'(?P<module>\w+)' (?:\(most likely [^()]*\) )?"
    rf"\((?P<path>(?![^()]*{INSTALLED})[^()]+\.py)\)"
)
LOST = re.compile(r"^module '(?P<module>\w+)' has no attribute '(?P<name>\w+)'")
FRAME = re.compile(rf'File "(?P<path>(?![^"\n]*{INSTALLED})[^"\n]*[/\\](?P<module>\w+)\.py)", line')


OF_THE_LOADER = re.compile(
    r"cannot open shared object file|undefined symbol|version `|invalid ELF header|DLL load failed"
)
BY_SIGNAL = "killed by SIG"
NEEDED_LATER = "secrets"
COMPANIONS = ("torchvision", "torchaudio")
LATER = ("sympy", "mpmath", "networkx", "jinja2", "fsspec")
"""Packages that torch imports when it needs them."""
REQUIRED_SINCE = (2, 1)
RARELY_NEEDED = {
    *COMPANIONS,
    "test",
    "code",
    "imp",
    "cmd",
    "pdb",
    "trace",
    "site",
    "stat",
    "profile",
    "this",
    "turtle",
}
"""Modules that torch can be imported without, and whose names scripts often have."""


@check.environment
def environment(
    torch: Torch, python: Python | None, distributions: Distributions | None
) -> Iterator[Finding]:
    """`import torch` gives a file that is not torch, or torch meets a file of the user's own."""
    if torch.imported is None and torch.error is None and not torch.shadows:
        raise CannotTell("whether torch can be imported is not known")
    if torch.named:
        raise CannotTell("torch is only named: whether it can be imported is not known")
    own = next((s for s in torch.shadows if s.module == "torch"), None)
    if torch.imported and torch.version is not None and not _pretends(torch, own):
        for one in (s for s in torch.shadows if s.module in COMPANIONS):
            if distributions is None or distributions.get(one.module) is None:
                continue  # there is none that it could hide
            message = f"{one.path} is imported as {one.module} and hides the real one, which whoever asks for it does not get"
            yield check.found(message, severity=Severity.WARNING, fixes=[_rename(one.path)])
        version = parsed_version(torch.version)
        for one in (s for s in torch.shadows if s.module in LATER and not s.loaded):
            if version is not None and version.release >= REQUIRED_SINCE:
                message = f"{one.path} hides {one.module}: torch can be imported, and what needs that later cannot, such as torch.compile"
                yield check.found(message, severity=Severity.WARNING, fixes=[_rename(one.path)])
        later = next((s for s in torch.shadows if s.module == NEEDED_LATER), None)
        if later is not None:
            # numpy/random/bit_generator: "from secrets import randbits"
            message = f"{later.path} hides Python's secrets: torch can be imported, and numpy.random cannot"
            yield check.found(message, severity=Severity.WARNING, fixes=[_rename(later.path)])
        return
    if own is not None and torch.file in (own.path, None):
        yield _hidden("torch", own.path, python)
    elif torch.imported:
        if (torch.file or "").endswith("torch.py"):
            yield _hidden("torch", torch.file or "", python)  # an empty folder of that name is torch-missing
    elif met := _met(torch):
        yield _hidden(*met, python)


def _pretends(torch: Torch, own: Shadow | None) -> bool:
    """Return whether the user's own file was imported as torch; a source tree that was built in place is torch.

    Every build has ``torch.version.git_version``.
    """
    return own is not None and torch.file == own.path and torch.git_version is None


def _met(torch: Torch) -> tuple[str, str] | None:
    """Return the module that is hidden and the file that hides it, where torch could not be imported."""
    if torch.error is None and (torch.interrupted or "").startswith(BY_SIGNAL):
        return None  # a file of Python's hangs or exits; a signal is a library's doing
    if torch.error is None:
        # It hangs, or ended the process: what has the name of a module that torch needs was run in its place.
        names = [s for s in torch.shadows if s.module not in RARELY_NEEDED]
        return (names[0].module, names[0].path) if names else None
    message, traceback = torch.error.message, torch.error.traceback
    named = [s for s in torch.shadows if s.path in traceback or s.path in message]
    if not named and not OF_THE_LOADER.search(message):
        named = [s for s in torch.shadows if s.loaded]
    if named:
        said = [s for s in named if f"'{s.module}'" in message]
        return (said or named)[0].module, (said or named)[0].path
    match = FROM.search(message)
    frames = [m for m in FRAME.finditer(traceback) if m["module"] in sys.stdlib_module_names]
    if match or frames:
        where = match or frames[-1]
        return where["module"], where["path"]
    lost = LOST.search(message)
    if lost and (lost["module"] in sys.stdlib_module_names or lost.groups() == ("numpy", "ndarray")):
        return lost["module"], ""
    return None


def _hidden(module: str, path: str, python: Python | None) -> Finding:
    """Word the finding, with the file where it is known."""
    executable = shlex.quote(python.executable) if python and python.executable else "python"
    look = Fix(
        f"See which file is imported as {module}: it must not be one of yours",
        f'{executable} -c "import {module}; print({module}.__file__)"; echo "$PYTHONPATH"',
    )
    if path:
        path = path.removesuffix("/__init__.py")
        return check.found(
            f"{path} is imported as {module} and hides the real module", fixes=[_rename(path), look]
        )
    return check.found(f"another {module} than the real one is imported, which hides it", fixes=[look])


def _rename(path: str) -> Fix:
    old, new = shlex.quote(path), shlex.quote(f"{path}.old")
    return Fix("Give that file another name, and remove what was compiled of it", f"mv -n {old} {new}")
