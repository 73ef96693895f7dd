"""Build the user's model without its weights, and print the names, types and shapes of its state dict.

This imports and calls the user's own code, as a training of theirs would: that is what was asked for. Nothing of a
checkpoint comes here.
"""

import os
import sys

# A file named json.py in the working folder must not break this script; it may well break the user's model, and then
# that is what must be told: the patient's own path is back before anything of theirs is imported.
search_path = list(sys.path)
loaded = set(sys.modules)
sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
import ast
import difflib
import importlib
import importlib.util
import inspect
import json
import resource

sys.path[:] = search_path
beside = {os.path.splitext(name)[0] for name in os.listdir(".")}
for name in set(sys.modules) - loaded:
    if name.partition(".")[0] in beside:
        del sys.modules[name]

# What the user's code prints goes to standard error; the answer has the real standard output for itself.
answers = os.dup(1)
os.dup2(2, 1)


class Refused(Exception):
    """Why there is no model, in one line."""


def tell(message):
    # Names of files may hold bytes that are no UTF-8; Python keeps such a byte as a lone surrogate.
    data = ("\ngpudoctor " + json.dumps(message) + "\n").encode("ascii", "replace")
    while data:
        data = data[os.write(answers, data) :]


def one_line(error):
    text = " ".join(str(error).split())
    return (type(error).__name__ + (": " + text if text else ""))[:400]


def literal(text):
    """Return what a Python literal means, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def load_module(place):
    """Import `package.module`, or the file that `place` names, whose folder comes first on the path."""
    tell({"doing": "importing " + place})
    try:
        if not place.endswith(".py"):
            return importlib.import_module(place)
        path = os.path.abspath(place)
        sys.path.insert(0, os.path.dirname(path))
        name = os.path.splitext(os.path.basename(path))[0]
        if name in sys.modules or not name.isidentifier():
            name = "model_file"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look for it there
        spec.loader.exec_module(module)
        return module
    except BaseException as error:  # sys.exit() on import, too
        raise Refused("cannot import {}: {}".format(place, one_line(error)))


def find(module, path):
    found = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = difflib.get_close_matches(part, [n for n in dir(found) if not n.startswith("_")], 3)
            hint = "; near: " + ", ".join(near) if near else ""
            raise Refused("{} has no {}{}".format(getattr(module, "__name__", "it"), path, hint))
        except Exception as error:
            raise Refused("{}: {}".format(path, one_line(error)))
    return found


def check_arguments(factory, name, arguments):
    """Refuse arguments that do not fit the factory's signature, naming those that are missing."""
    try:
        signature = inspect.signature(factory)
    except (ValueError, TypeError):  # a built-in tells no signature; calling it will
        return
    try:
        signature.bind(**arguments)
        return
    except TypeError as error:
        reason = str(error)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes = [p for p in signature.parameters.values() if p.kind in kinds]
    missing = [p.name for p in takes if p.default is p.empty and p.name not in arguments]
    unknown = [key for key in arguments if key not in [p.name for p in takes]]
    if missing:
        options = " ".join("--arg {}=VALUE".format(key) for key in missing)
        raise Refused("{} needs arguments: add {}".format(name, options))
    if unknown:
        known = ", ".join(p.name for p in takes) or "none"
        raise Refused("{} takes no argument {}; it takes {}".format(name, ", ".join(unknown), known))
    raise Refused("{} cannot be called with these arguments: {}".format(name, reason))


def is_module(torch, thing):
    return isinstance(thing, torch.nn.Module)


def build(torch, factory, name, arguments):
    """Return the model and a note on how it was built."""
    if is_module(torch, factory):
        return factory, "{} is a model already, and was built with its weights on import".format(name)
    if isinstance(factory, type) and not issubclass(factory, torch.nn.Module):
        raise Refused("{} is a class, and no torch.nn.Module".format(name))
    if not callable(factory):
        raise Refused(
            "{} is of type {}, and nothing that builds a model".format(name, type(factory).__name__)
        )
    check_arguments(factory, name, arguments)
    note = "torch {} has no torch.device('meta') to build under: the weights were allocated".format(
        torch.__version__
    )
    if hasattr(torch.device("cpu"), "__enter__"):
        tell({"doing": "building {} on the meta device".format(name)})
        try:
            with torch.device("meta"):
                return factory(**arguments), ""
        except Exception as error:
            note = "it cannot be built on the meta device ({}): the weights were allocated".format(
                one_line(error)
            )
    tell({"doing": "building {} with its weights".format(name)})
    limit_memory()
    try:
        return factory(**arguments), note
    except BaseException as error:
        raise Refused("building {} failed: {}".format(name, one_line(error)))


def limit_memory():
    """Let this process allocate no more than four fifths of what is free, so that a large model harms itself alone."""
    try:
        with open("/proc/meminfo") as file:
            free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) * 1024
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + free * 4 // 5, resource.RLIM_INFINITY))
    except (OSError, StopIteration, ValueError):
        pass


def keys_of(torch, model, name):
    if isinstance(model, (tuple, list)):  # (model, preprocessing)
        models = [part for part in model if is_module(torch, part)]
        model = models[0] if len(models) == 1 else model
    if not is_module(torch, model):
        raise Refused("{} gives a {}, and no torch.nn.Module".format(name, type(model).__name__))
    tell({"doing": "asking the model for its state dict"})
    found = []
    try:
        for key, value in model.state_dict().items():
            if not isinstance(value, torch.Tensor):
                continue
            try:
                shape = [int(size) for size in value.shape]
            except Exception:  # of a lazy module, it is known after the first batch
                shape = None
            layout = str(getattr(value, "layout", "strided")).replace("torch.", "")
            found.append([str(key), str(value.dtype).replace("torch.", ""), shape, layout])
    except Exception as error:
        raise Refused("the state dict of {} cannot be had: {}".format(name, one_line(error)))
    return found


def answer(request):
    sys.argv[:] = [request["place"]]  # a script that parses its command line on import must not find ours
    tell({"doing": "import torch"})
    try:
        import torch
    except BaseException as error:
        raise Refused("torch cannot be imported by {}: {}".format(sys.executable, one_line(error)))
    module = load_module(request["place"])
    arguments = {key: literal(value) for key, value in request["arguments"].items()}
    model, note = build(torch, find(module, request["factory"]), request["factory"], arguments)
    return {"torch": str(torch.__version__), "note": note, "keys": keys_of(torch, model, request["factory"])}


try:
    result = answer(json.loads(sys.argv[2]))
except Refused as refused:
    result = {"failed": str(refused)}
except BaseException as error:
    result = {"failed": one_line(error)}
tell(result)
os._exit(0)  # all is told; what the user's code does on the way out costs time and may hang
