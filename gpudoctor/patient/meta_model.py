"""Build the user's model without its weights, print the names, types and shapes of its state dict, and load into it.

What is loaded are names, types and shapes without numbers, to see what torch says of them.

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
import time

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
    tell({"doing": "the import of " + place})
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


def build(torch, factory, name, arguments):
    """Return the model and a note on how it was built."""
    if isinstance(factory, torch.nn.Module):
        return factory, "{} is a model already, and was built with its weights on import".format(name)
    if isinstance(factory, type) and not issubclass(factory, torch.nn.Module):
        raise Refused("{} is a class, and no torch.nn.Module".format(name))
    if not callable(factory):
        raise Refused(
            "{} is of type {}, and nothing that builds a model".format(name, type(factory).__name__)
        )
    check_arguments(factory, name, arguments)
    why = "torch {} has no torch.device('meta') to build under".format(torch.__version__)
    if hasattr(torch.device("cpu"), "__enter__"):
        tell({"doing": "the building of {} on the meta device".format(name)})
        try:
            with torch.device("meta"):
                return factory(**arguments), ""
        except Exception as error:
            why = "it cannot be built on the meta device ({})".format(one_line(error))
    tell({"doing": "the building of {} with its weights".format(name)})
    limit_memory()
    try:
        return factory(**arguments), why + ": the weights were allocated"
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


def module_of(torch, model, name):
    if isinstance(model, (tuple, list)):  # (model, preprocessing)
        models = [part for part in model if isinstance(part, torch.nn.Module)]
        model = models[0] if len(models) == 1 else model
    if not isinstance(model, torch.nn.Module):
        raise Refused("{} gives a {}, and no torch.nn.Module".format(name, type(model).__name__))
    return model


def state_of(model):
    """Return the state dict with the parameters themselves, by which those that are tied are known."""
    try:
        return model.state_dict(keep_vars=True)
    except TypeError:  # a method of the user's that takes no arguments
        return model.state_dict()


def keys_of(torch, model, name):
    """Return a row for each tensor of the state dict, and the names of its other entries."""
    tell({"doing": "the question for its state dict"})
    found = []
    others = []
    numbers = {}
    try:
        state = dict(state_of(model))
        for key, value in state.items():
            if not isinstance(value, torch.Tensor):
                others.append(str(key))
                continue
            try:
                shape = [int(size) for size in value.shape]
            except Exception:  # of a lazy module, it is known after the first batch
                shape = None
            layout = str(getattr(value, "layout", "strided")).replace("torch.", "")
            one = numbers.setdefault(id(value), len(numbers))
            found.append([str(key), str(value.dtype).replace("torch.", ""), shape, layout, one])
    except Exception as error:
        raise Refused("the state dict of {} cannot be had: {}".format(name, one_line(error)))
    return found, others


def empty(torch, dtype, shape):
    try:
        return torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
    except Exception:  # quantised types have no such tensors
        return torch.empty(shape, device="meta")


def ignore_extra_state(torch, model):
    """Let modules take any extra state: what it is in the file is not known here."""
    own = getattr(torch.nn.Module, "set_extra_state", None)
    for part in model.modules():
        if getattr(type(part), "set_extra_state", own) is not own:
            type(part).set_extra_state = lambda self, state: None


def trial(torch, model, question):
    """Say what torch says when a state dict of these names is loaded, strictly and else."""
    import collections
    import copy

    state = collections.OrderedDict()
    for name, dtype, shape, layout in question["keys"]:
        state[name] = None if layout == "object" else empty(torch, dtype, shape)
    state._metadata = collections.OrderedDict((k, {"version": v}) for k, v in question["versions"].items())
    result = {"error": "", "refused": "", "missing": [], "unexpected": []}
    for strict in (True, False):
        given = state.copy()
        given._metadata = state._metadata
        try:
            target = copy.deepcopy(model)
        except Exception:
            target = model
        try:
            said = target.load_state_dict(given, strict=strict)
        except Exception as error:
            result["error" if strict else "refused"] = one_line(error)
            continue
        if strict:
            break
        result["missing"] = [str(key) for key in getattr(said, "missing_keys", ())]
        result["unexpected"] = [str(key) for key in getattr(said, "unexpected_keys", ())]
    return result


def questions(path):
    """Wait for what is to be tried: a list in a file, which is there whole once it is there."""
    parent = os.getppid()
    while not os.path.exists(path):
        time.sleep(0.01)
        if os.getppid() != parent:  # who would have asked is gone
            return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def try_all(torch, model, name, path):
    asked = questions(path)
    if not asked:
        return []
    tell({"doing": "the loading of the names into {}".format(name)})
    import warnings

    warnings.simplefilter("ignore")
    if any(value.device.type != "meta" for value in list(model.parameters()) + list(model.buffers())):
        model = model.to("meta")
    ignore_extra_state(torch, model)
    return [trial(torch, model, question) for question in asked]


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
    model = module_of(torch, model, request["factory"])
    keys, others = keys_of(torch, model, request["factory"])
    tell({"torch": str(torch.__version__), "note": note, "keys": keys, "others": others})
    try:
        return {"verdicts": try_all(torch, model, request["factory"], request["questions"])}
    except BaseException as error:
        return {"untried": one_line(error)}


try:
    result = answer(json.loads(sys.argv[2]))
except Refused as refused:
    result = {"failed": str(refused)}
except BaseException as error:
    result = {"failed": one_line(error)}
tell(result)
os._exit(0)  # all is told; what the user's code does on the way out costs time and may hang
