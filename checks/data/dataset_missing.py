"""The data set is not where the script looks, or is empty or unreadable.

## What happens

`FileNotFoundError` for an image or a table, out of a DataLoader worker too; torchvision: "Dataset not found or
corrupted", "Couldn't find any class folder"; "num_samples should be a positive integer value, but got num_samples=0"
for an empty one; Hugging Face: "DatasetNotFoundError". The first rank that fails ends the others.

## Why

- A relative path, and the scheduler or container starts the job in another directory.
- The folder is not mounted in the container, or lies on a disk that only one of the nodes has.
- Compute nodes without internet, while the data is downloaded at the first use: mostly `hub-unreachable`.
- Not unpacked, another layout (`train/CLASS/IMAGE` for ImageFolder), another suffix, a pattern that matches nothing.
- An image that is cut off or no image at all: a copy or download that broke off.

## How to tell

`srun --ntasks-per-node=1 ls -ld PATH`, or `ls -ld PATH` in the container on every node. When all failing ranks are of
one node, the data is not on that node.

## See also

- [torchvision: datasets](https://docs.pytorch.org/vision/stable/datasets.html): the data sets and their classes
- [Hugging Face datasets: cache](https://huggingface.co/docs/datasets/cache): where it is, and how to move it
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

# What a job writes, and what models are made of, is checkpoint-directory or a failure of its own.
NOT_DATA = (
    r"(?![^'\"\n]{0,300}(?:checkpoint|ckpt|config(?![^'\"\n]{0,300}\.(?:csv|tsv|parquet|h5|np[yz]|jpg|png)['\"])|output|result|/logs?/|/runs?/|wandb|pytorch_model|safetensors|optimizer|"
    r"tokenizer|vocab|requirements|torch_extensions|triton|\.cache/|\.incomplete|\.lock|\.partial|site-packages|/tmp/|\.ya?ml['\"]))"
)
SUFFIX = (
    r"[^'\"\n]{1,300}\.(?:[jJ][pP][eE]?[gG]|JPEG|png|PNG|bmp|tiff?|webp|csv|tsv|jsonl|parquet|arrow|h5|hdf5|lmdb|mdb|tfrecords?|"
    r"np[yz]|idx|bin|wav|flac|mp[34]|avi|xml|txt|tar|zip|t?gz|pkl)"
)
FOLDER = r"(?:[^'\"\n]{0,200}[/\\])?(?:data|datasets?|train|val|valid|validation|test|images|labels|annotations|imagenet|coco)(?:[/\\][^'\"\n]{0,200})?"
JSON = r"[^'\"\n]{0,300}(?:annotations?|instances|captions|train|val|test|data)[^'\"\n/]{0,60}\.json"
# After a download it is the download that went wrong: dataset-download-race.
DOWNLOAD = r"Downloading \S|already downloaded and verified|Extracting \S"
RESOLVED = Fix(
    "Use a path that does not depend on where the job starts",
    'root = Path(os.environ["DATA"]).resolve(strict=True)',
    Kind.EDIT,
    proof='root = Path(os.environ["DATA"]).resolve(strict=True)',
)
MOUNTED = Fix("In docker: mount it", "docker run --volume DATA:DATA:ro IMAGE")
OFFLINE = Fix(
    "Nodes without internet: download where there is some, onto the shared disk, then forbid the attempt",
    "export HF_HOME=/DISK/hf HF_HUB_OFFLINE=1",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"No such file or directory: ['\"]{NOT_DATA}(?P<path>{SUFFIX}|{FOLDER}|{JSON})['\"]",
        rf"\[Errno 2\] File b?['\"]{NOT_DATA}(?P<path>{SUFFIX})['\"] does not exist",  # pandas until 1.0
        # What a dataset opens for an item is data, whatever it is called.
        Symptom(
            rf"No such file or directory: ['\"]{NOT_DATA}(?P<path>[^'\"\n]{{1,300}})['\"]",
            near=r"in __getitem__|in _worker_loop",
            unless=r"torch\.load",
        ),
        Symptom(
            r"FileNotFoundError: ",
            near=r"in _worker_loop|in __getitem__",
            unless=r"torch\.load|No such file or directory: .|DataLoader worker .{0,40}killed",
        ),
        r"lmdb\.Error: (?P<path>\S+): No such file or directory",
        r"Unable to (?:synchronously )?open file \(unable to open file: name = '(?P<path>[^']+)', errno = 2\b",  # h5py
        Symptom(r"Dataset not found(?: or corrupted|\. You can use download=True)", unless=DOWNLOAD),
        r"Dataset metadata file not found or corrupted|Dataset not found or incomplete\. Please make sure",
        r"Couldn't find any class folder in (?P<path>\S+?)\.? *$",
        r"Found no valid file for the classes",
        r"Found 0 (?:files|images|samples) in (?:subfolders|sub-folders)? ?(?:of|directory)?:? ?(?P<path>\S*)",
        r"The archive (?P<path>\S+) is not present in the root directory or is corrupted",
        r"num_samples should be a positive integer value, but got num_samples ?= ?(?P<samples>0)\b",
        r"No (?:images|labels) found in (?P<path>\S+?)[.,]? ",
        r"No (?:images|labels) found in (?P<path>\S+?)[.,]? *$",
        r"(?:train|val|test): Error loading data from (?P<path>\S+)",
        r"Dataset .{0,100}not found.{0,10}, missing paths? \[?['\"](?P<path>[^'\"]+)",
        # Hugging Face
        r"FileNotFoundError: Directory (?P<path>\S+) (?:not found|is neither a)",
        r"FileNotFoundError: Unable to find '(?P<path>[^'\n]{1,300})'(?: at \S| with any supported extension|\s*$)",
        r"No \(supported\) data files(?: or dataset script)? found in (?P<path>\S+)",
        r"Couldn't find any data file at (?P<path>\S+?)\.? ",
        r"Couldn't find any data file at (?P<path>\S+?)\.? *$",
        # a gated one is there: hub-gated
        r"DatasetNotFoundError: (?!.{0,200}\bgated\b).{0,100}?['\"](?P<path>[^'\"]+)['\"]",
        r"ValueError: File (?P<path>\S{1,300}\.(?:jsonl?|csv|parquet|arrow|txt)) not found\.",  # LLaMA-Factory
        r"EmptyDatasetError: The directory at (?P<path>\S+) doesn't contain any data files",
        r"Couldn't find a dataset script at (?P<path>\S+)",
        r"cannot identify image file ['\"](?P<path>[^'\"]+)",
        # gpudoctor's own training scripts, of MNIST's files
        (
            r"DataError: (?P<path>\S.{0,300}?): (?P<damage>(?:not a complete IDX file|compressed by gzip|has \d dimension|"
            r"cannot be read|not one 28 x 28 image).{0,200})"
        ),
        r"OSError: (?P<cut>image file is truncated|broken data stream when reading image file|unrecognized data stream contents)",
        # fairseq, datasets, Ultralytics
        r"(?:Error|Exception): (?:Cannot find dataset|could not find dataset|Dataset not found): (?:.{0,200}\()?(?P<path>[^\s()]{1,300})",
        r"Dataset \S{1,100}: could not find data in (?P<path>\S{1,300})\. Please make sure to call",
        r"No such files?: '(?P<path>[^'\n]{1,300})'.{0,340}\. Expected to load a `?Dataset\w*`? object",
        r"Dataset '(?P<path>[^'\n]{1,300})' (?:for task=\w+ )?not found\b",
        rf"\[WinError [23]\] .{{0,120}}: ['\"]{NOT_DATA}(?P<path>{SUFFIX}|{FOLDER}|{JSON})['\"]",
        r"UnidentifiedImageError: cannot identify image file <_io\.",
        r"(?:Error|Exception): No (?:files|samples|videos|data|audio files) found in (?P<path>[^\s,]{1,300})",
    ],
    fixes=[
        Fix(
            "Look for it on every node, where and as the job runs",
            "srun --ntasks-per-node=1 bash -c 'hostname; pwd; ls -ld DATA'",
        ),
        RESOLVED,
        MOUNTED,
        OFFLINE,
    ],
)

ANY = re.compile(r"[\w./~@+-]+\Z")
CUT_OFF = [
    Fix(
        "Find every file that is cut off, before the training",
        "for path in Path(root).rglob('*.jpg'):\n    try:\n        Image.open(path).load()\n"
        "    except OSError as error:\n        print(path, error)",
        Kind.EDIT,
    ),
    Fix(
        "Read what is there of them: the rest of such an image is grey, and nobody says so",
        "PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True",
        Kind.MITIGATION,
    ),
]

SIZES = Fix(
    "See how long the files are: MNIST's training images have 47040016 bytes unpacked, their labels 60008",
    "ls -l DATA",
)
FETCH = Fix(
    "Fetch the set again, whole: torchvision compares the checksums of what it downloads",
    'torchvision.datasets.MNIST("DATA", download=True)',
    Kind.EDIT,
    source="https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.MNIST.html",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what cannot be read."""
    path = sighting.groups.get("path", "")
    if "cut" in sighting.groups:
        said = f"an image cannot be read to its end: {sighting.groups['cut']}"
        yield check.found(said, fixes=CUT_OFF)
        return
    if "damage" in sighting.groups:
        yield check.found(
            f"{path} cannot be used: {sighting.groups['damage']}",
            fixes=[SIZES, FETCH],
        )
        return
    named = f" {path}" if path else ""
    fixes = None
    if ANY.match(path):
        look = Fix("Look for it on every node", f"srun --ntasks-per-node=1 ls -ld {path}")
        fixes = [look, RESOLVED, MOUNTED, OFFLINE]
    said = f"the data{named} is not there for this process, or holds nothing that it can read"
    yield check.found(said, fixes=fixes)
