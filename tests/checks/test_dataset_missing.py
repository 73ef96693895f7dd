"""dataset-missing: seen in logs."""

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("dataset-missing")
MESSAGE = "the data is not there for this process, or holds nothing that it can read"
ITEM = (
    '  File "train.py", line 10, in __getitem__\n    with open(path, "rb") as file:\n'
    "FileNotFoundError: [Errno 2] No such file or directory: '{}'\n"
)
EXAMPLES = {
    "FileNotFoundError: [Errno 2] File b'lists/part_one.csv' does not exist: b'lists/part_one.csv'": (
        "the data lists/part_one.csv is not there for this process, or holds nothing that it can read"
    ),
    "ValueError: File data/demo.json not found.": (
        "the data data/demo.json is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'configs/paths/femur/train+val.csv'": (
        "the data configs/paths/femur/train+val.csv is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Unable to find '/home/me/dataset/infos.json' at /home/me": (
        "the data /home/me/dataset/infos.json is not there for this process, or holds nothing that it can read"
    ),
    "datasets.exceptions.DataFilesNotFoundError: No (supported) data files found in /data/squad": (
        "the data /data/squad is not there for this process, or holds nothing that it can read"
    ),
    ITEM.format("imgs/0007.raw"): (
        "the data imgs/0007.raw is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/imagenet/train/n01440764/n01440764_18.JPEG'": (
        "the data /data/imagenet/train/n01440764/n01440764_18.JPEG is not there for this process, or holds "
        "nothing that it can read"
    ),
    "[rank8]: FileNotFoundError: [Errno 2] No such file or directory: './data/train'": (
        "the data ./data/train is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'coco/annotations/instances_train2017.json'": (
        "the data coco/annotations/instances_train2017.json is not there for this process, or holds nothing "
        "that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'corpus_text_document.idx'": (
        "the data corpus_text_document.idx is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'part-1.bin'": (
        "the data part-1.bin is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/openwebtext/train.bin'": (
        "the data data/openwebtext/train.bin is not there for this process, or holds nothing that it can read"
    ),
    "lmdb.Error: /data/train.lmdb: No such file or directory": (
        "the data /data/train.lmdb is not there for this process, or holds nothing that it can read"
    ),
    (
        "FileNotFoundError: [Errno 2] Unable to synchronously open file (unable to open file: name = 'train.h5', errno = 2, "
        "error message = 'No such file or directory', flags = 0)"
    ): "the data train.h5 is not there for this process, or holds nothing that it can read",
    "DataError: /data/t10k-labels-idx1-ubyte: not a complete IDX file of bytes with 1 dimension(s)": (
        "/data/t10k-labels-idx1-ubyte cannot be used: not a complete IDX file of bytes with 1 dimension(s)"
    ),
    "RuntimeError: Dataset not found or corrupted. You can use download=True to download it": MESSAGE,
    "RuntimeError: Dataset not found. You can use download=True to download it": MESSAGE,
    "RuntimeError: Dataset metadata file not found or corrupted. You can use download=True to download it": MESSAGE,
    "FileNotFoundError: Couldn't find any class folder in ./data/train.": (
        "the data ./data/train is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Found no valid file for the classes cat, dog. Supported extensions are: .jpg, .jpeg, .png": MESSAGE,
    "RuntimeError: Found 0 files in subfolders of: ./data/train": (
        "the data ./data/train is not there for this process, or holds nothing that it can read"
    ),
    "RuntimeError: The archive ILSVRC2012_devkit_t12.tar.gz is not present in the root directory or is corrupted.": (
        "the data ILSVRC2012_devkit_t12.tar.gz is not there for this process, or holds nothing that it can read"
    ),
    "ValueError: num_samples should be a positive integer value, but got num_samples=0": MESSAGE,
    "AssertionError: train: No images found in /data/train, see the guide": (
        "the data /data/train is not there for this process, or holds nothing that it can read"
    ),
    "AssertionError: train: No labels found in /data/train.cache.": (
        "the data /data/train.cache is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: train: Error loading data from /data/coco/train2017.txt": (
        "the data /data/coco/train2017.txt is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Dataset 'coco.yaml' images not found, missing path '/data/coco/val2017'": (
        "the data /data/coco/val2017 is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Directory /data/wiki not found": (
        "the data /data/wiki is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Couldn't find any data file at /data/wiki. Couldn't find 'wiki' on the Hugging Face Hub either": (
        "the data /data/wiki is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Couldn't find any data file at /data/wiki.": (
        "the data /data/wiki is not there for this process, or holds nothing that it can read"
    ),
    "datasets.exceptions.DatasetNotFoundError: Dataset 'me/wiki' doesn't exist on the Hub or cannot be accessed.": (
        "the data me/wiki is not there for this process, or holds nothing that it can read"
    ),
    "datasets.data_files.EmptyDatasetError: The directory at /data/wiki doesn't contain any data files": (
        "the data /data/wiki is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Couldn't find a dataset script at /data/wiki/wiki.py": (
        "the data /data/wiki/wiki.py is not there for this process, or holds nothing that it can read"
    ),
    "PIL.UnidentifiedImageError: cannot identify image file '/data/train/0001.jpg'": (
        "the data /data/train/0001.jpg is not there for this process, or holds nothing that it can read"
    ),
    "OSError: image file is truncated (44 bytes not processed)": (
        "an image cannot be read to its end: image file is truncated"
    ),
    'FileNotFoundError: Traceback (most recent call last):\n  File "/venv/torch/utils/data/dataloader.py", line 106, in _worker_loop': MESSAGE,
    "FileNotFoundError: Dataset not found: train (/srv/data/train)": (
        "the data /srv/data/train is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Dataset books: could not find data in /srv/data/books. Please make sure to call the builder": (
        "the data /srv/data/books is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: No such files: '/srv/data/a.json', nor '/srv/data/b.json' found. Expected to load a `Dataset` object": (
        "the data /srv/data/a.json is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: Dataset 'birds.yaml' for task=detect not found": (
        "the data birds.yaml is not there for this process, or holds nothing that it can read"
    ),
    "FileNotFoundError: [WinError 3] The system cannot find the path specified: 'D:\\\\sets\\\\train'": "the data D:\\\\sets\\\\train is not there for this process, or holds nothing that it can read",
    "PIL.UnidentifiedImageError: cannot identify image file <_io.BufferedReader name=7>": "the data is not there for this process, or holds nothing that it can read",
    "ValueError: No samples found in /data/clips": "the data /data/clips is not there for this process, or holds nothing that it can read",
}
NOT_THIS = [
    # nothing tells that it is data
    "FileNotFoundError: [Errno 2] No such file or directory: 'imgs/0007.raw'",
    "ConnectionError: Couldn't reach 'me/wiki' on the Hub (LocalEntryNotFoundError)",
    "datasets.exceptions.DatasetNotFoundError: Dataset 'me/wiki' is a gated dataset on the Hub. You must be authenticated to access it.",
    "FileNotFoundError: [Errno 2] No such file or directory: 'data/coco.yaml'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/run1/checkpoints/last.ckpt'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/models/bert/config.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'outputs/run1/metrics.csv'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/a.json'",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    "Downloading https://data.example.org/train.tar.gz\nRuntimeError: Dataset not found or corrupted. You can use download=True to download it",
    "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'",
]


def test_what_a_data_set_opens_for_an_item_may_be_a_checkpoint_all_the_same():
    assert not matches(ITEM.format("outputs/last.ckpt"), [CHECK])


def test_the_command_names_the_path_that_the_log_names():
    line = "FileNotFoundError: [Errno 2] No such file or directory: './data/train'"
    assert (
        matches(line, [CHECK])[0].finding.fixes[0].command == "srun --ntasks-per-node=1 ls -ld ./data/train"
    )
