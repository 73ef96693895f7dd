"""torch-shadowed: seen in logs, and in what import torch raised."""

import pytest

from gpudoctor.facts import Distribution, Distributions, Python, Raised, Shadow, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("torch-shadowed")

MESSAGE = "Python imported something else under the name torch, which hides the real module"
EXAMPLES = {
    "ModuleNotFoundError: No module named 'torch.nn'; 'torch' is not a package": MESSAGE,
    "[rank1]: ModuleNotFoundError: No module named 'torch.distributed.elastic'; 'torch' is not a package": MESSAGE,
    "ModuleNotFoundError: No module named 'torch._C'; 'torch' is not a package": MESSAGE,
    "ModuleNotFoundError: No module named 'logging.handlers'; 'logging' is not a package": (
        "Python imported something else under the name logging, which hides the real module"
    ),
    "AttributeError: module 'torch' has no attribute 'tensor' (consider renaming '/data/proj/torch.py' if it has the same name as a third-party module you intended to import)": (
        "Python imported something else: /data/proj/torch.py, which hides the real module"
    ),
    "AttributeError: module 'random' has no attribute 'randint' (consider renaming '/data/proj/random.py' since it has the same name as the standard library module named 'random' and the import system gives it precedence)": (
        "Python imported something else: /data/proj/random.py, which hides the real module"
    ),
    "AttributeError: module 'secrets' has no attribute 'token_hex' (consider renaming '/data/proj/secrets.py' since it has the same name as the standard library module named 'secrets' and prevents importing that standard library module)": (
        "Python imported something else: /data/proj/secrets.py, which hides the real module"
    ),
    "AttributeError: partially initialized module 'torch' has no attribute 'tensor' (most likely due to a circular import)": MESSAGE,
    "AttributeError: partially initialized module 'random' has no attribute 'Random' (most likely due to a circular import)": (
        "Python imported something else under the name random, which hides the real module"
    ),
    "ImportError: cannot import name 'Random' from 'random' (/data/proj/random.py)": (
        "Python imported something else under the name random: /data/proj/random.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'randint' from partially initialized module 'random' (most likely due to a circular import) (/data/proj/random.py)": (
        "Python imported something else under the name random: /data/proj/random.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'Queue' from 'queue' (C:\\work\\proj\\queue.py)": (
        "Python imported something else under the name queue: C:\\work\\proj\\queue.py, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'nn' from 'torch' (/data/proj/torch.py)": (
        "Python imported something else under the name torch: /data/proj/torch.py, which hides the real module"
    ),
    "ImportError: cannot import name 'load_dataset' from 'datasets' (/data/proj/datasets/__init__.py)": (
        "Python imported something else under the name datasets: /data/proj/datasets, which hides the real "
        "module"
    ),
    "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)": MESSAGE,
    "ImportError: cannot import name 'load_dataset' from 'datasets' (unknown location)": (
        "Python imported something else under the name datasets, which hides the real module"
    ),
    "AttributeError: module 'torch' has no attribute 'zeros'": MESSAGE,
    "AttributeError: module 'torch' has no attribute '__version__'": MESSAGE,
    "AttributeError: module 'wandb' has no attribute 'init'": (
        "Python imported something else under the name wandb, which hides the real module"
    ),
    "AttributeError: module 'random' has no attribute 'seed'": (
        "Python imported something else under the name random, which hides the real module"
    ),
    "AttributeError: module 'logging' has no attribute 'getLogger'": (
        "Python imported something else under the name logging, which hides the real module"
    ),
    "AttributeError: module 'platform' has no attribute 'system'": (
        "Python imported something else under the name platform, which hides the real module"
    ),
    (
        '  File "numpy/random/bit_generator.pyx", line 39, in init numpy.random.bit_generator\n'
        "ImportError: cannot import name randbits"
    ): "Python imported something else, without randbits, which hides the real module",
    "AttributeError: module 'json' has no attribute 'JSONEncoder'": (
        "Python imported something else under the name json, which hides the real module"
    ),
    "AttributeError: module 'secrets' has no attribute 'randbits'": (
        "Python imported something else under the name secrets, which hides the real module"
    ),
    "AttributeError: module 'numpy' has no attribute 'ndarray'": (
        "Python imported something else under the name numpy, which hides the real module"
    ),
    (
        '  File "/usr/lib/python3.11/selectors.py", line 317, in SelectSelector\n'
        "    _select = select.select\n"
        "              ^^^^^^^^^^^^^\n"
        "AttributeError: module 'select' has no attribute 'select'"
    ): "Python imported something else under the name select, which hides the real module",
    (
        '  File "/env/lib/python3.11/site-packages/torch/_lobpcg.py", line 3, in <module>\n'
        "    pool = threading.BoundedSemaphore(4)\n"
        "AttributeError: module 'threading' has no attribute 'BoundedSemaphore'"
    ): "Python imported something else under the name threading, which hides the real module",
    "ImportError: cannot import name 'deprecated' from 'typing_extensions' (/data/lib/typing_extensions.py)": (
        "Python imported something else under the name typing_extensions: /data/lib/typing_extensions.py, which "
        "hides the real module"
    ),
    "ImportError: cannot import name 'randbits' from 'secrets' (/data/src/secrets.py)": (
        "Python imported something else under the name secrets: /data/src/secrets.py, which hides the real module"
    ),
    "AttributeError: module 'enum' has no attribute 'IntFlag'": (
        "Python imported something else under the name enum, which hides the real module"
    ),
    "ImportError: cannot import name 'stack' from partially initialized module 'torch' (most likely due to a circular import)": MESSAGE,
    "ImportError: cannot import name 'Random' from 'random' (/env/lib/python3.7/site-packages/torch/random.py)": (
        "Python imported something else under the name random: "
        "/env/lib/python3.7/site-packages/torch/random.py, which hides the real module"
    ),
    "    from random import Random as _Random\nImportError: cannot import name 'Random'": (
        "Python imported something else under the name random, which hides the real module"
    ),
}
NOT_THIS = [
    "  File \"/env/lib/python3.12/site-packages/oldlib/a.py\", line 2, in f\n    inspect.getargspec(g)\nAttributeError: module 'inspect' has no attribute 'getargspec'",
    "  File \"/env/lib/python3.12/site-packages/oldlib/a.py\", line 2, in f\n    np.bool\nAttributeError: module 'numpy' has no attribute 'bool'.",
    "  File \"/data/proj/train.py\", line 2, in f\n    random.randit(3)\nAttributeError: module 'random' has no attribute 'randit'",
    "ImportError: cannot import name 'deprecated' from 'typing_extensions' (/env/lib/python3.11/site-packages/typing_extensions.py)",
    "Traceback (most recent call last):\n  File \"/env/lib/python3.10/site-packages/torch/__init__.py\", line 778, in <module>\n    _C._initExtension(manager_path())\nAttributeError: partially initialized module 'torch' has no attribute 'UntypedStorage' (most likely due to a circular import)",
    "AttributeError: module 'torch' has no attribute 'compiler'",
    "ModuleNotFoundError: No module named 'torch._six'",
    "ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/__init__.py)",
    "ImportError: cannot import name 'Self' from 'typing' (/opt/conda/lib/python3.10/typing.py)",
    "ImportError: cannot import name 'LRScheduler' from 'torch.optim.lr_scheduler' (/opt/conda/lib/python3.10/site-packages/torch/optim/lr_scheduler.py)",
    "ImportError: cannot import name 'AutoModel' from 'transformers' (/data/transformers/src/transformers/__init__.py)",
    "ImportError: cannot import name 'log' from 'datasets' (C:\\envs\\a\\Lib\\site-packages\\datasets\\__init__.py)",
    "ImportError: cannot import name 'build' from partially initialized module 'models' (most likely due to a circular import) (/data/proj/models.py)",
    "AttributeError: partially initialized module 'torchvision' has no attribute 'extension' (most likely due to a circular import)",
    "ModuleNotFoundError: No module named 'torch'",
]


FILE = "/env/lib/python3.11/site-packages/torch/__init__.py"
ASKED = f'Traceback (most recent call last):\n  File "{FILE}", line 69, in <module>\n    import tempfile\n'
OWN = '  File "/data/proj/random.py", line 4, in <module>\n    import torch.nn\n'


def raised(type, message, traceback=ASKED):
    error = Raised(type=type, message=message, traceback=f"{traceback}{type}: {message}")
    return Torch(file=FILE, imported=False, error=error)


def run(torch, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, **facts}))


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        (
            raised("ImportError", "cannot import name 'Random' from 'random' (/data/proj/random.py)"),
            "/data/proj/random.py is imported as random and hides the real module",
        ),
        (
            raised(
                "AttributeError",
                "partially initialized module 'torch' has no attribute 'tensor'",
                ASKED + OWN,
            ),
            "/data/proj/random.py is imported as random and hides the real module",
        ),
        (
            raised("AttributeError", "module 'json' has no attribute 'JSONEncoder'"),
            "another json than the real one is imported, which hides it",
        ),
        (
            raised("AttributeError", "module 'numpy' has no attribute 'ndarray'"),
            "another numpy than the real one is imported, which hides it",
        ),
        (
            Torch(file="/data/proj/torch.py", imported=True),
            "/data/proj/torch.py is imported as torch and hides the real module",
        ),
    ],
)
def test_found_and_the_import_is_not_called_broken(torch, message):
    result, [finding] = run(torch, python=Python(executable="/env/bin/python"))
    assert result.status is CheckStatus.FOUND
    assert finding.message == message
    assert "/env/bin/python -c" in finding.fixes[-1].command
    facts = Snapshot({"torch": torch})
    assert examine(Registry().check("torch-import-broken"), Source.ENVIRONMENT, facts)[1] == []


@pytest.mark.parametrize(
    "torch",
    [
        Torch(file=FILE, imported=True, version="2.15.0"),
        Torch(
            file=None,
            imported=False,
            error=Raised(type="ModuleNotFoundError", message="No module named 'torch'"),
        ),
        raised("ImportError", "libcudart.so.13: cannot open shared object file: No such file or directory"),
        raised("AttributeError", "module 'triton' has no attribute 'language'"),
    ],
)
def test_passes(torch):
    assert run(torch)[0].status is CheckStatus.PASSED


OWN = "/home/me/torch/__init__.py"


@pytest.mark.parametrize(
    ("git_version", "status"), [(None, CheckStatus.FOUND), ("3f5a1b", CheckStatus.PASSED)]
)
def test_a_package_of_the_users_own_that_can_be_imported(git_version, status):
    shadow = Shadow(module="torch", path=OWN, loaded=True)
    torch = Torch(file=OWN, imported=True, version="0", git_version=git_version, shadows=[shadow])
    result, found = run(torch)
    assert result.status is status
    assert [f.message for f in found] == [
        "/home/me/torch is imported as torch and hides the real module"
    ] * len(found)


def test_unknown():
    assert run(Torch())[0].status is CheckStatus.UNKNOWN


SHADOW = Shadow(module="random", path="/home/me/random.py", loaded=True)


def test_a_file_that_was_imported_is_the_cause_whatever_it_raised():
    error = Raised(type="ValueError", message="no such option", traceback="")
    result, [finding] = run(Torch(imported=False, error=error, shadows=[SHADOW]))
    assert result.status is CheckStatus.FOUND
    assert finding.message == "/home/me/random.py is imported as random and hides the real module"
    assert finding.fixes[0].command == "mv -n /home/me/random.py /home/me/random.py.old"


def test_of_several_the_one_that_the_message_names():
    other = Shadow(module="json", path="/home/me/json.py", loaded=True)
    error = Raised(type="AttributeError", message="module 'random' has no attribute 'Random'", traceback="")
    _, [finding] = run(Torch(imported=False, error=error, shadows=[other, SHADOW]))
    assert "/home/me/random.py" in finding.message


def test_a_library_that_does_not_load_is_no_shadows_fault():
    error = Raised(type="OSError", message="libcudnn.so.9: cannot open shared object file", traceback="")
    result, found = run(Torch(imported=False, error=error, shadows=[SHADOW]))
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_a_file_that_never_ends():
    hidden = Shadow(module="queue", path="/home/me/queue.py")
    _, [finding] = run(Torch(interrupted="no answer in 90 s", stage="import torch", shadows=[hidden]))
    assert "/home/me/queue.py" in finding.message


def test_a_file_that_hides_what_torch_imports_later():
    hidden = Shadow(module="sympy", path="/home/me/sympy.py", loaded=False)
    _, [finding] = run(Torch(imported=True, version="2.15.0", shadows=[hidden]))
    assert finding.severity is Severity.WARNING
    assert run(Torch(imported=True, version="1.13.1", shadows=[hidden]))[1] == []  # which needs none


def test_a_signal_is_a_librarys_doing():
    hidden = Shadow(module="queue", path="/home/me/queue.py")
    result, _ = run(Torch(interrupted="killed by SIGBUS", stage="import torch", shadows=[hidden]))
    assert result.status is CheckStatus.PASSED


def test_a_folder_is_renamed_as_a_whole():
    folder = Shadow(module="logging", path="/home/me/logging/__init__.py", loaded=True)
    error = Raised(type="AttributeError", message="module 'logging' has no attribute 'Filter'", traceback="")
    _, [finding] = run(Torch(imported=False, error=error, shadows=[folder]))
    assert finding.fixes[0].command == "mv -n /home/me/logging /home/me/logging.old"


@pytest.mark.parametrize("name", ["test", "profile", "statistics", "cmd"])
def test_a_script_with_the_name_of_a_module_that_torch_does_without(name):
    torch = Torch(
        imported=True, version="2.15.0", shadows=[Shadow(module=name, path=f"/a/{name}.py", loaded=False)]
    )
    result, found = run(torch)
    assert (result.status, found) == (CheckStatus.PASSED, [])


def test_torchvision_is_hidden_though_torch_is_not():
    shadows = [Shadow(module="torchvision", path="/a/torchvision.py", loaded=False)]
    there = Distributions(installed=[Distribution(name="torchvision", version="0.29.2")])
    facts = {"torch": Torch(imported=True, version="2.15.0", shadows=shadows), "distributions": there}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("/a/torchvision.py is imported as torchvision and hides the real one")
    for torch in (
        Torch(imported=False, shadows=shadows),  # it hangs, and not for that
        Torch(imported=True, version="2.15.0", shadows=shadows),  # there is no real one
    ):
        result, _ = examine(
            CHECK, Source.ENVIRONMENT, Snapshot({"torch": torch, "distributions": Distributions()})
        )
        assert result.status is CheckStatus.PASSED


def test_secrets_breaks_what_is_imported_later():
    torch = Torch(imported=True, version="2.15.0", shadows=[Shadow(module="secrets", path="/a/secrets.py")])
    _, [finding] = run(torch)
    assert "numpy.random cannot" in finding.message
