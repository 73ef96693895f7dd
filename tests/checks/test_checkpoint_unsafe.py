"""checkpoint-unsafe: seen in files; the error that torch raises for one is checkpoint-weights-only."""

import pytest

from gpudoctor.facts import CheckpointFile, Entry, Foreign
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry

CHECK = Registry().check("checkpoint-unsafe")


def found(*names, opcode="REDUCE", entries=(), kind="torch zip"):
    foreign = tuple(Foreign(name=n, opcode=opcode, place=7, entry="m/data.pkl") for n in names)
    file = CheckpointFile(path="my model.pt", kind=kind, foreign=foreign, entries=tuple(entries))
    return list(CHECK.functions[Source.CHECKPOINT](file))


@pytest.mark.parametrize(
    "name",
    [
        "posix.system", "os.system", "builtins.eval", "builtins.exec", "builtins.getattr", "__builtin__.apply",
        "subprocess.Popen", "torch.hub.load", "torch.storage._load_from_bytes", "numpy.load", "numpy.f2py.crackfortran",
        "functools.partial", "__main__.Net", "torch.nn.modules.evil", "operator.attrgetter", "runpy._run_code", "eval",
        # Through a harmless module everything that it imports can be reached.
        "torch.nn.modules.module.os.system", "torch.nn.modules.module.torch.PyTorchFileWriter",
        "transformers.trainer_utils.subprocess.Popen", "accelerate.utils.dataclasses.Popen",
        "torchvision.models.feature_extraction._CodeOnlyModule", "torch.nn.modules.linear.Linear.forward",
        "torch.ao.quantization.fx.graph_module.ObservedGraphModule", "torch.fx.graph_module.reduce_graph_module",
        # Functions and classes of the same libraries that do run things.
        "torch.utils.cpp_extension.load", "torch.load", "torch.jit.load", "numpy.testing._private.utils.runstring",
        "torchvision.io.read_file", "transformers.pipelines.pipeline", "accelerate.launchers.notebook_launcher",
        "torch.distributed.elastic.multiprocessing.subprocess_handler.SubprocessHandler", "torch.distributed.TCPStore",
        "torch.nn.functional.boolean_dispatch", "numpy.lib.npyio.DataSource", "numpy.int64.tofile",
        "transformers.training_args", "transformers.Trainer", "torch.nn", "webbrowser.open", "pty.spawn",
        "what __builtin__.getattr returns", "something that the pickle computes",
    ],
)  # fmt: skip
def test_what_can_run_code_is_an_error(name):
    (finding,) = found(name)
    assert finding.severity is Severity.ERROR
    assert f"opening this file runs code: {name} (REDUCE at byte 7 of m/data.pkl)" in finding.message


@pytest.mark.parametrize(
    "name",
    [
        "argparse.Namespace", "numpy.core.multiarray.scalar", "numpy._core.multiarray._reconstruct", "numpy.dtype",
        "pathlib.PosixPath", "datetime.datetime", "torch.nn.modules.linear.Linear", "collections.defaultdict",
        "transformers.training_args.TrainingArguments", "transformers.trainer_utils.SchedulerType",
        "transformers.trainer_pt_utils.AcceleratorConfig", "accelerate.state.PartialState",
        "accelerate.utils.dataclasses.DistributedType", "omegaconf.dictconfig.DictConfig", "numpy.float64",
        "torchvision.models.resnet.BasicBlock", "torchvision.models.detection.faster_rcnn.FasterRCNN",
        "torch.ao.quantization.observer.MinMaxObserver", "torch.ao.nn.quantized.dynamic.modules.linear.Linear",
        "torch.distributed._shard.sharded_tensor.api.ShardedTensor", "torch.nn.parallel.data_parallel.DataParallel",
        "torch.nn.Linear", "torch.optim.lr_scheduler.StepLR", "torch.ScriptObject",
    ],
)  # fmt: skip
def test_known_types_are_a_note_that_names_them(name):
    (finding,) = found(name)
    assert finding.severity is Severity.NOTE
    assert f"imports {name}, known types which only hold values (REDUCE at byte 7" in finding.message


def test_one_bad_name_among_known_ones_is_an_error_that_names_it():
    (finding,) = found("argparse.Namespace", "posix.system")
    assert finding.severity is Severity.ERROR
    assert "posix.system" in finding.message
    assert "argparse" not in finding.message


@pytest.mark.parametrize("opcode", ["NEWOBJ", "REDUCE", "GLOBAL", "STACK_GLOBAL", "INST"])
def test_a_class_that_nobody_knows_is_an_error_in_a_whole_model_too(opcode):
    whole = [Entry(path="", kind="module", text="mine.Net")]
    (finding,) = found("mine.Net", opcode=opcode, entries=whole)
    assert finding.severity is Severity.ERROR


def test_a_plain_pickle_is_not_sent_to_torch_load_which_does_not_read_it():
    (finding,) = found("posix.system", kind="pickle")
    assert not any("torch.load(" in fix.command for fix in finding.fixes)
    assert finding.fixes[0].command == "gpudoctor checkpoint inspect -v 'my model.pt'"
    (finding,) = found("posix.system")
    assert any("weights_only=True" in fix.command for fix in finding.fixes)


def test_a_file_of_tensors_alone_is_safe():
    assert found() == []
