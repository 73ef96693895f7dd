"""pickled-class-moved: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("pickled-class-moved")
FRAME = (
    '  File "/opt/venv/lib/python3.11/site-packages/torch/serialization.py", line 2249, in find_class\n'
    "    return super().find_class(mod_name, name)\n"
    "           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
)
EXAMPLES = {
    "AttributeError: Can't get attribute 'UNet' on <module '__main__' from 'serve.py'>": "the file asks for UNet of the script that was started, and this script has none",
    FRAME + "ModuleNotFoundError: No module named 'models'": (
        "the file holds objects of the module models, which cannot be imported here"
    ),
    (
        '  File "/opt/conda/lib/python3.6/site-packages/torch/serialization.py", line 542, in _load\n'
        "    result = unpickler.load()\n"
        "ModuleNotFoundError: No module named 'networks.classifiers'"
    ): "the file holds objects of the module networks.classifiers, which cannot be imported here",
    FRAME + "AttributeError: Can't get attribute 'Cfg' on <module 'models' from '/home/me/models.py'>": (
        "the file asks for Cfg of the module models, which has no such class or function now"
    ),
    FRAME + "AttributeError: Can't get attribute 'RecorderMeter' on <module '__main__' from 'test.py'>": (
        "the file asks for RecorderMeter of the script that was started, and this script has none"
    ),
    "AttributeError: 'Upsample' object has no attribute 'recompute_scale_factor'": (
        "the file holds an object of Upsample that was made before the class had recompute_scale_factor"
    ),
}
NOT_THIS = [
    "ModuleNotFoundError: No module named 'models'",
    FRAME
    + "RuntimeError: something else\n"
    + "a line\n" * 8
    + "ModuleNotFoundError: No module named 'models'",
    (
        '  File "/opt/conda/lib/python3.11/multiprocessing/spawn.py", line 132, in _main\n'
        "AttributeError: Can't get attribute 'Images' on <module '__main__' (built-in)>"
    ),
    "AttributeError: 'DistributedDataParallel' object has no attribute 'generate'",
]


def test_a_class_of_the_script_is_imported_by_its_name():
    text = FRAME + "AttributeError: Can't get attribute 'Net' on <module '__main__' from 'test.py'>"
    assert matches(text, [CHECK])[0].finding.fixes[0].command == "from train import Net"
