"""Something that a spawned process should get cannot be pickled.

## What happens

"Can't pickle local object 'main.<locals>.<lambda>'" (Python 3.12: "Can't get local object"), "cannot pickle
'_thread.lock' object", "h5py objects cannot be pickled", while a process is started. The child may add "EOFError: Ran
out of input". torch says "Got pickle error when attempting to start a worker Process".

## Why

A process that is spawned gets its function and arguments as bytes; a forked one inherits them. Windows and macOS spawn
always, `mp.spawn` and Lightning's `ddp_spawn` too, and Linux uses `forkserver` since Python 3.14. It cannot send:

- lambdas, and functions and classes that are defined inside a function or in a notebook;
- open files, databases (lmdb, h5py), sockets, locks, loggers, generators, `torch.Generator`, process groups;
- tensors that are part of a graph.

The dataset, `collate_fn`, `worker_init_fn` and the arguments of `mp.spawn` are sent, with all that hangs on them.

## How to tell

The message names the type. `pickle.dumps(dataset)` and `pickle.dumps(collate_fn)` show which object holds it. If the
traceback goes through `torch.save`, a whole model is being saved, and no process is at fault: save its `state_dict()`.
Through `_object_to_tensor` it is a collective such as `all_gather_object`: `object-unpicklable`.

## See also

- [pickle: what can be pickled](https://docs.python.org/3/library/pickle.html#what-can-be-pickled-and-unpickled): no lambdas, no local functions
- [Lightning#9155](https://github.com/Lightning-AI/pytorch-lightning/issues/9155): a local object and `ddp_spawn`
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import A_FRAME

# The same words come from saving, hashing or copying an object, and from sending it to other ranks.
SAVING = (
    r"in _object_to_tensor|_pickler\(f\)\.dump|(?:all_gather|gather|broadcast|scatter|send)_object(?:_list)?\(|torch[/\\]serialization\.py|torch\.save\(|joblib|cloudpickle|fingerprint|couldn't be hashed|[/\\]dill[/\\]|"
    r"(?<!\w)pickle\.dumps?\(|[/\\]copy\.py|deepcopy\("
)
STARTING = (
    r"multiprocessing[/\\]\w+\.py|popen_(?:spawn|forkserver)|ForkingPickler|mp\.spawn|multiprocessing[/\\.]spawn|"
    r"[Dd]ata[Ll]oader|data[/\\]dataloader\.py|worker Process"
)

# what is open in one process: files, data bases, connections
OPEN = r"_io\.\w+|sqlite3\.\w+|lmdb\.\w+|Environment|h5py\.[\w.]+|_?socket(?:\.socket)?|[\w.]*(?:Connection|Cursor|Session)"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"Can't (?:pickle|get) local object (?:<function |')?(?P<object>[^'\s]{1,120})", unless=SAVING
        ),
        Symptom(
            r"Can't pickle <(?:function|class|built-in function) '?(?P<object><lambda>|[^' >]{1,120})[^>]{0,40}>?.{0,40}"
            r"(?:attribute lookup|not the same object as|import of module)",
            unless=SAVING,
        ),
        Symptom(
            rf"(?:TypeError|PicklingError): [Cc]an(?:no|')t pickle:? '?(?P<object>(?P<open>{OPEN})|(?!local |generator')[A-Za-z_][\w.]{{1,120}})'? objects?",
            near=STARTING,
            unless=SAVING,
        ),
        Symptom(r"(?P<object>h5py objects?) can(?:no|')t be pickled", unless=SAVING),
        # cython's, of PyTables for one
        Symptom(
            r"(?P<object>[\w.,]{1,200}) cannot be converted to a Python object for pickling", unless=SAVING
        ),
        Symptom(r"no default __reduce__ due to non-trivial __cinit__", near=STARTING, unless=SAVING),
        Symptom(
            r"Can't get attribute '(?P<object>[\w.<>]{1,120})' on <module '__(?:mp_)?main__'(?: \((?P<notebook>built-in)\))?",
            near=r"multiprocessing[/\\](?:spawn|queues|pool|process|forkserver)\.py|spawn_main",
            unless=SAVING,
        ),
        # the line alone: a module without a file is that of a notebook or a prompt, which a child has not
        Symptom(
            r"Can't get attribute '(?P<object>[\w.<>]{1,120})' on <module '__main__' \((?P<notebook>built-in)\)",
            unless=rf"{SAVING}|torch\.load\(|pickle\.load\(|serialization\.py",
        ),
        # what the child says when the parent could not send it all, where the parent's own words are missing
        Symptom(
            r"EOFError: Ran out of input|UnpicklingError: pickle data was truncated",
            near=r"load\(from_parent\)",
            unless=r"(?m)^\S{0,80}(?:Error|Exception)(?!: (?:Ran out of input|pickle data was truncated))\b",
        ),
        r"Cowardly refusing to serialize non-leaf tensor which requires_grad",
        r"A SemLock created in a fork context is being shared with a process in a spawn context",
        r"Got pickle error when attempting to start a worker Process",
        r"to a spawned child process, so they must be picklable",
        # the line alone
        Symptom(
            rf"^\W{{0,3}}(?:TypeError|_?(?:pickle\.)?PicklingError): [Cc]an(?:no|')t pickle:? '?(?P<object>(?P<open>{OPEN})|(?!local )[A-Za-z_][\w.]{{1,120}})'? objects?\W{{0,3}}$",
            unless=rf"{A_FRAME}|{SAVING}",
        ),
    ],
    message="a process is started with something that cannot be sent to it[: <object>]",
    fixes=[
        Fix(
            "Leave <open> out of what is sent: open it in the process that uses it",
            'def worker(rank):\n    log = open(f"train.{rank}.txt", "w")\n    ...\n\n\nmp.spawn(worker, nprocs=2)',
            Kind.EDIT,
        ),
        Fix(
            "In a notebook, whose main module is <notebook>: write the function into a file, and import it",
            "from worker import train  # worker.py, beside the notebook, holds the function\n\n"
            "mp.spawn(train, args=(2,), nprocs=2)",
            Kind.EDIT,
        ),
        Fix(
            "Define functions and classes in a module, and bind arguments with partial",
            "collate_fn = functools.partial(collate, tokenizer=tokenizer)  # was: lambda batch: collate(batch, tokenizer)",
            Kind.EDIT,
            proof="collate_fn = functools.partial(collate, tokenizer=tokenizer)",
        ),
        Fix(
            "Open files and databases in the worker, at their first use",
            'def __getitem__(self, i):\n    if self.file is None:\n        self.file = h5py.File(self.path, "r")',
            Kind.EDIT,
        ),
        Fix(
            'Take mp.spawn out and let torchrun start the ranks; in Lightning strategy="ddp"',
            "torchrun --nproc-per-node=N train.py",
        ),
        Fix(
            "Fork DataLoader workers as before Python 3.14; not where CUDA or threads are used before them",
            'DataLoader(dataset, num_workers=4, multiprocessing_context="fork")',
            Kind.MITIGATION,
        ),
    ],
)
