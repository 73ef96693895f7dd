"""dataset-missing: seen in logs."""

EXAMPLES = [
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/imagenet/train/n01440764/n01440764_18.JPEG'",
    "[rank8]: FileNotFoundError: [Errno 2] No such file or directory: './data/train'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'coco/annotations/instances_train2017.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'corpus_text_document.idx'",
    "lmdb.Error: /data/train.lmdb: No such file or directory",
    (
        "FileNotFoundError: [Errno 2] Unable to synchronously open file (unable to open file: name = 'train.h5', errno = 2, "
        "error message = 'No such file or directory', flags = 0)"
    ),
    "RuntimeError: Dataset not found or corrupted. You can use download=True to download it",
    "RuntimeError: Dataset not found. You can use download=True to download it",
    "RuntimeError: Dataset metadata file not found or corrupted. You can use download=True to download it",
    "FileNotFoundError: Couldn't find any class folder in ./data/train.",
    "FileNotFoundError: Found no valid file for the classes cat, dog. Supported extensions are: .jpg, .jpeg, .png",
    "RuntimeError: Found 0 files in subfolders of: ./data/train",
    "RuntimeError: The archive ILSVRC2012_devkit_t12.tar.gz is not present in the root directory or is corrupted.",
    "ValueError: num_samples should be a positive integer value, but got num_samples=0",
    "AssertionError: train: No images found in /data/train, see the guide",
    "AssertionError: train: No labels found in /data/train.cache.",
    "FileNotFoundError: train: Error loading data from /data/coco/train2017.txt",
    "FileNotFoundError: Dataset 'coco.yaml' images not found, missing path '/data/coco/val2017'",
    "FileNotFoundError: Directory /data/wiki not found",
    "FileNotFoundError: Couldn't find any data file at /data/wiki. Couldn't find 'wiki' on the Hugging Face Hub either",
    "FileNotFoundError: Couldn't find any data file at /data/wiki.",
    "datasets.exceptions.DatasetNotFoundError: Dataset 'me/wiki' doesn't exist on the Hub or cannot be accessed.",
    "datasets.data_files.EmptyDatasetError: The directory at /data/wiki doesn't contain any data files",
    "ConnectionError: Couldn't reach 'me/wiki' on the Hub (LocalEntryNotFoundError)",
    "ConnectionError: Couldn't reach the Hugging Face Hub for dataset 'me/wiki': timed out",
    "FileNotFoundError: Couldn't find a dataset script at /data/wiki/wiki.py",
    "PIL.UnidentifiedImageError: cannot identify image file '/data/train/0001.jpg'",
    'FileNotFoundError: Traceback (most recent call last):\n  File "/venv/torch/utils/data/dataloader.py", line 106, in _worker_loop',
]
NOT_THIS = [
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/run1/checkpoints/last.ckpt'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/models/bert/config.json'",
    "FileNotFoundError: [Errno 2] No such file or directory: 'outputs/run1/metrics.csv'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/root/.triton/cache/a.json'",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    "Downloading https://data.example.org/train.tar.gz\nRuntimeError: Dataset not found or corrupted. You can use download=True to download it",
    "FileNotFoundError: [Errno 2] No such file or directory: 'scontrol'",
]
SAYS = {
    EXAMPLES[1]: "the data ./data/train is not there for this process, or holds nothing that it can read",
    EXAMPLES[13]: "the data is not there for this process, or holds nothing that it can read",
}
