"""A file or folder of your own hides a module that torch needs.

## What happens

`import torch` finds another `torch`, or torch finds another `random`, `copy` or `queue`: "No module named 'torch.nn';
'torch' is not a package", "partially initialized module 'torch' has no attribute 'tensor' (most likely due to a
circular import)", "cannot import name 'Random' from 'random' (/home/me/random.py)". Python 3.13 adds "consider
renaming". Under torchrun every rank says the same.

## Why

Python looks for modules in the folder of the script first, and in the folder it was started from for `python -m`.

- A script bears the name of a module: `torch.py`, `random.py`, `logging.py`, `datasets.py`, `wandb.py`.
- A folder `torch/` or `datasets/` stands there. Without `__init__.py` it is an empty package ("unknown location").
- An installation that was half removed left an empty `torch` folder in site-packages.

## How to tell

`python -c "import torch, random; print(torch.__file__, random.__file__)"`, typed in the folder of the script: the first
must lie in site-packages, the second in Python's own folder. None means a folder without `__init__.py`.

## See also

- [The initialization of sys.path](https://docs.python.org/3/library/sys_path_init.html)
- [Python 3.13: improved error messages](https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages)
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# Modules that torch imports, and whose names people give to scripts.
STANDARD = (
    r"random|queue|copy|numbers|struct|string|types|enum|logging|platform|inspect|select|tokenize|token|operator"
    r"|signal|socket|ssl|json|secrets|statistics|calendar|datetime|dataclasses|abc|io|math|time|warnings|tempfile"
    r"|threading|multiprocessing|pickle|traceback|weakref|functools|contextlib|code|profile|glob|shutil|uuid|email|html"
)
OTHERS = r"torch|torchvision|datasets|wandb|tqdm|numpy|deepspeed|accelerate|transformers|lightning"
# Not Python's own folder, site-packages, or a checkout that is installed in place.
OWN = r"(?P<path>(?![^()]{0,200}(/|\\)([Ll]ib(64)?|src|(site|dist)-packages)(/|\\))[^()']{0,200}(/|\\)"
# torch's own files ask for what torch does not have yet: torch-import-broken
WITHIN = (
    r"(site|dist)-packages[/\\]torch[/\\][^\n]{0,200}\n([^\n]{0,300}\n){1,2}"
    r"[^\n]{0,60}AttributeError: partially initialized module 'torch'"
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # since Python 3.13
        r"\(consider renaming '(?P<path>[^']{1,300})' (since|if) it has the same name as",
        rf"No module named '(?P<module>{STANDARD}|{OTHERS})(\.\w+){{1,6}}'; '\w+' is not a package",
        Symptom(
            rf"partially initialized module '(?P<module>{STANDARD}|{OTHERS})' (from '(?P<path>[^']{{1,300}})' )?has no attribute '(?!extension')\w+'",
            unless=WITHIN,
        ),
        rf"cannot import name '\w+' from (partially initialized module )?'(?P<module>{STANDARD})' (\(most likely [^()]{{1,60}}\) )?\({OWN}(?P=module)(?:\.py)?)((/|\\)__init__\.py)?\)",
        rf"cannot import name '\w+' from (partially initialized module )?'(?P<module>{OTHERS})' (\(most likely [^()]{{1,60}}\) )?\({OWN}(?P=module)\.py)\)",
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
        # names that every release has; others may be newer than the installed torch
        r"module '(?P<module>torch)' has no attribute '(Tensor|tensor|FloatTensor|zeros|ones|nn|cuda|device|float|float32|long|__version__|manual_seed|load|save|no_grad|randn|rand|from_numpy|optim|utils|arange|cat|stack|_C)'(?! \(consider)",
        r"module '(?P<module>wandb)' has no attribute '(init|log|login|finish)'(?! \(consider)|module '(?P<name>datasets)' has no attribute '(load_dataset|Dataset)'(?! \(consider)",
        r"module '(?P<module>random)' has no attribute '(Random|randint|random|seed|shuffle|choice|sample)'(?! \(consider)",
        r"module '(?P<module>logging)' has no attribute '(getLogger|Logger|basicConfig|INFO)'(?! \(consider)",
        r"module '(?P<module>copy|queue|string|platform|inspect|select|tokenize|signal)' has no attribute '(copy|deepcopy|Queue|Empty|Template|ascii_\w+|system|machine|signature|getfile|select|poll|open|SIG[A-Z]+)'(?! \(consider)",
        r"module '(?P<module>enum|types|numbers|struct|typing)' has no attribute '(Enum|IntFlag|IntEnum|ModuleType|FunctionType|MappingProxyType|Number|Real|calcsize|unpack|pack|ForwardRef|TypeVar)'(?! \(consider)",
    ],
    message="Python imported something else[ under the name <module>][: <path>], which hides the real module",
    fixes=[
        Fix("Give what is yours another name", "mv -n '<path>' '<path>.old'"),
        Fix(
            "See which file is imported, from the folder of the script: it must not be one of yours",
            'python -c "import torch, random; print(torch.__file__, random.__file__)"',
        ),
        Fix(
            "Give your file or folder another name, and remove what was compiled of it",
            "mv -n torch.py my_torch.py && rm -f __pycache__/torch.*.pyc",
        ),
        Fix(
            "Keep the script's folder off the path (Python 3.11); imports of your own files beside it stop working",
            "PYTHONSAFEPATH=1 python train.py",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="not written yet",
)
