"""config-missing: a configuration file that is not there, seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity
from gpudoctor.registry import Registry

CHECK = Registry().check("config-missing")
REST = "is not where this process looks for it"
EXAMPLES = {
    "it tells me no file or directory: 'options/finetune.yaml": f"the configuration options/finetune.yaml {REST}",
    "Cannot find primary config 'train'. Check that it's in your config search path.": "the configuration train is not in the search path",
    "hydra.errors.MissingConfigException: Primary config directory not found.": "the configuration is not in the search path",
    "hydra.errors.MissingConfigException: Primary config module 'project.conf' not found.": (
        "the configuration project.conf is not in the search path"
    ),
    "In 'train': Could not find 'model/big'\n\nAvailable options in 'model':\n\tsmall\nConfig search path:": (
        "the configuration model/big is not in the search path"
    ),
    "OSError: ./out/run1 does not appear to have a file named config.json. Checkout 'https://huggingface.co/x' for available files.": (
        "./out/run1 has no config.json that says which model it holds"
    ),
    "OSError: Can't load the configuration of './out/run1'. If you were trying to load it from": (
        "./out/run1 has no config.json that says which model it holds"
    ),
    "OSError: Can't load config for 'bert-x'. Make sure that:": "bert-x has no config.json that says which model it holds",
    "ValueError: Unrecognized model in ./out/run1. Should have a `model_type` key in its config.json.": (
        "./out/run1 has no config.json that says which model it holds"
    ),
    "FileNotFoundError: The passed configuration file `two.yaml` does not exist. Please pass an existing file to `accelerate launch`, or use the default one": (
        f"accelerate's configuration two.yaml {REST}"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/root/.cache/huggingface/accelerate/default_config.yaml'": (
        f"accelerate's configuration /root/.cache/huggingface/accelerate/default_config.yaml {REST}"
    ),
    (
        "ValueError: Expected a string path to an existing deepspeed config, or a dictionary, or a base64 encoded string. "
        "Received: ds_config_zero2.json"
    ): f"the configuration ds_config_zero2.json {REST}",
    "MisconfigurationException: You passed in a path to a DeepSpeed config but the path does not exist: zero.json": (
        f"the configuration zero.json {REST}"
    ),
    "[rank0]: FileNotFoundError: [Errno 2] No such file or directory: 'configs/train.yaml'": (
        f"the configuration configs/train.yaml {REST}"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/shared/models/bert/config.json'": (
        f"the configuration /shared/models/bert/config.json {REST}"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/coco.yaml'": f"the configuration data/coco.yaml {REST}",
    'FileNotFoundError: file "configs/yolox/yolox_s.py" does not exist': f"the configuration configs/yolox/yolox_s.py {REST}",
    "FileNotFoundError: 'yolov8x.yaml' does not exist": f"the configuration yolov8x.yaml {REST}",
    "AssertionError: Config file 'conf/a.toml' does not exist": f"the configuration conf/a.toml {REST}",
    "error: config file not found: conf/a.toml": f"the configuration conf/a.toml {REST}",
    "AssertionError: File Not Found: cfg/small.yaml": "the configuration cfg/small.yaml is not where this process looks for it",
    "FileNotFoundError: [WinError 2] The system cannot find the file specified: 'D:\\\\job\\\\settings.yaml'": "the configuration D:\\\\job\\\\settings.yaml is not where this process looks for it",
}
NOT_THIS = [
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/annotations/instances_val.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'checkpoints/step-500/config.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/config.json'",
    "OSError: out/run1 does not appear to have a file named pytorch_model.bin, model.safetensors",
    "Could not load 'libcudnn.so'",
    "ImportError: cannot import name 'Config' from 'configs'",
]


def test_a_program_that_goes_on_without_it_has_not_failed():
    line = "Config file config.yaml not found, using the default settings"
    assert matches(line, [CHECK])[0].finding.severity is Severity.NOTE
    asked = "The passed configuration file `a.yaml` does not exist. Please pass an existing one, or use the default one"
    assert matches(asked, [CHECK])[0].finding.severity is not Severity.NOTE
