"""A library asks torch for something that the installed release does not have.

## What happens

The library says so: "Disabling PyTorch because PyTorch >= 2.4 is required but found 2.3.0", "FSDP requires PyTorch >=
2.1.0". Or it uses a name that this torch does not have yet: "module 'torch' has no attribute 'compiler'", "No module
named 'torch.distributed.device_mesh'". transformers then goes on without torch and says that it "was not found".

## Why

- `pip install -U transformers` (or accelerate, diffusers, vllm …) in an image or environment whose torch is pinned.
- A checkpoint was written by a newer torch: "maximum supported version for reading", "is a zip archive".
- transformers refuses `torch.load` of `.bin` files before torch 2.6, for safety; safetensors files are read.

- The other way round: the library is old, and the name was taken out of torch since. A newer torch does not help then.

Names and the release that brought them: `torch.compile` 2.0, `torch.compiler` 2.1, `device_mesh` 2.2,
`torch.amp.GradScaler` 2.3, `torch.nn.RMSNorm` 2.4, `fully_shard` in `torch.distributed.fsdp` 2.6.

## How to tell

`python -c "import torch; print(torch.__version__, torch.__file__)"` and `python -m pip check`. In the traceback, the
last frame outside of torch names the library. Where torch's documentation does not know the name, a newer torch does
not have it either: look for a release of the library that fits. Where every torch has it, see `torch-shadowed`.

## See also

- [transformers#38464](https://github.com/huggingface/transformers/issues/38464): torch.load and torch 2.6
- [Previous versions](https://pytorch.org/get-started/previous-versions/): the install command of each release
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import A_FRAME

VERSION = r"v?(?P<needed>\d+(?:\.\d+)+)"
# What torch once had: who asks for it is too old, not torch. And what a torch without CUDA, NCCL or distributed lacks.
GONE = (
    r"(?!'?(?:_six|rfft|irfft|fft|ifft|gels|btrifact\w*|symeig|solve|eig|lstsq|matrix_rank|_dl|_tensor|legacy|reduce_op"
    r"|ProcessGroup\w*|ReduceOp|_jit_internal|make_non_contiguous|_cuda_\w+|_nccl_\w+"
    # older than any torch that is still in use: distributed-not-built
    r"|init_process_group|is_initialized|get_rank|get_world_size|new_group|barrier|all_reduce|all_gather|broadcast|\w*Store)')"
)
NAMES = (
    r"inference_mode|frombuffer|set_float32_matmul_precision|compile|compiler|set_default_device|get_default_device"
    r"|_dynamo|_inductor|vmap|func|export|float8_\w+|float4_\w+|uint16|uint32|uint64|mps|xpu|accelerator|int1|bfloat16"
    r"|argsort|searchsorted|bucketize|logical_and|logical_or|hstack|vstack|movedim|cummax|isin|tile|maximum|minimum"
    r"|amp|profiler|linalg|special|nan_to_num|concat|asarray|is_inference_mode_enabled|get_autocast_dtype|bool"
    r"|no_grad|device|enable_grad|set_grad_enabled|is_grad_enabled|as_tensor|einsum|where|argmax"
    r"|argmin|unique|empty|sparse_coo_tensor|flip|rot90|roll|isnan|isinf"
    r"|isfinite|isclose|allclose|logsumexp|bincount|meshgrid|flatten|pdist|cdist"
    r"|tril_indices|triu_indices|cartesian_prod|combinations|repeat_interleave|std_mean|var_mean|true_divide|floor_divide"
    r"|square|quantile|nanquantile|nansum|nanmean|nanmedian|amax|amin|aminmax"
    r"|hypot|heaviside|dstack|count_nonzero|fliplr|flipud|complex|complex64|view_as_complex"
    r"|view_as_real|polar|absolute|clip|deg2rad|rad2deg|logaddexp|outer|use_deterministic_algorithms"
    r"|are_deterministic_algorithms_enabled|diff|broadcast_to|broadcast_tensors|swapaxes|moveaxis|tensor_split|fmax|fmin"
    r"|float_power|msort|copysign|ravel|row_stack|column_stack|trapezoid|corrcoef|cov"
    r"|take_along_dim|fx|package|futures|overrides|quantization|nested|masked|sinc"
    r"|unravel_index|get_autocast_gpu_dtype|is_autocast_enabled|is_autocast_cache_enabled|autocast|is_complex|is_floating_point|isreal|result_type"
    r"|promote_types|vander|block_diag|cummin|logcumsumexp|logical_not|logical_xor|lobpcg|svd_lowrank"
    r"|pca_lowrank|matrix_exp|channels_last|contiguous_format|memory_format|preserve_format|celu|finfo|iinfo"
    r"|get_default_dtype|set_default_dtype|unflatten|histogram|adjoint|kron|istft|stft|hub"
    r"|quint8|qint8|bitwise_not|bitwise_and|bitwise_or|bitwise_xor|square_|hann_window|multiply"
    r"|divide|subtract|greater|less|gradient|library"
)
INNER = (
    r"register_pytree_node|register_fake|custom_op|impl_abstract|GradScaler|custom_fwd|custom_bwd|RMSNorm"
    r"|scaled_dot_product_attention|init_device_mesh|_all_gather_base|_reduce_scatter_base|all_gather_into_tensor"
    r"|reduce_scatter_tensor|amp|sdp_kernel|sdpa_kernel|autocast|is_autocast_available|mem_get_info"
    r"|is_bf16_supported|LRScheduler|device_count|current_accelerator|set_stance|is_compiling|disable"
    r"|_?script_if_tracing|unused|freeze|optimize_for_inference|SiLU|Hardswish|Mish|GELU|Identity|MultiheadAttention|SyncBatchNorm"
    r"|silu|mish|gelu|hardswish|one_hot|parametrizations|TensorDataset|IterableDataset|SummaryWriter"
    r"|non_deterministic|fully_shard|CPUOffloadPolicy|MixedPrecisionPolicy|FSDPModule|StatefulDataLoader|log_softmax"
    r"|elastic|run|fsdp|device_mesh|_composable|pipelining|tensor|_tensor|_functional_collectives|get_default_backend_for_device|mps|cudnn_sdp_enabled|register_constant"
    r"|ModuleDict|ParameterDict|Flatten|Unflatten|Transformer|TransformerEncoder|TransformerEncoderLayer"
    r"|TransformerDecoder|TransformerDecoderLayer|Hardsigmoid|CELU|LazyLinear|LazyConv2d|UninitializedParameter"
    r"|Buffer|HuberLoss|GaussianNLLLoss|TripletMarginWithDistanceLoss|ChannelShuffle|PixelUnshuffle|AdaptiveLogSoftmaxWithLoss"
    r"|CTCLoss|GroupNorm|LayerNorm|Unfold|Fold|interpolate|unfold"
    r"|fold|gumbel_softmax|hardsigmoid|huber_loss|group_norm|layer_norm|multi_head_attention_forward"
    r"|ctc_loss|pixel_unshuffle|rms_norm|gaussian_nll_loss|AdamW|RAdam|NAdam"
    r"|Adafactor|Muon|OneCycleLR|CyclicLR|CosineAnnealingWarmRestarts|LinearLR|SequentialLR"
    r"|ConstantLR|ChainedScheduler|PolynomialLR|MultiplicativeLR|get_worker_info|random_split|Subset"
    r"|ChainDataset|default_collate|default_convert|tensorboard|max_memory_allocated|memory_allocated|memory_reserved"
    r"|max_memory_reserved|reset_peak_memory_stats|memory_summary|memory_stats|CUDAGraph|OutOfMemoryError|set_per_process_memory_fraction"
    r"|get_arch_list|kaiming_normal_|xavier_uniform_|xavier_normal_|kaiming_uniform_|orthogonal_|normal_"
    r"|constant_|uniform_|zeros_|ones_|trunc_normal_|script|trace_module"
    r"|ignore|export|spectral_norm|weight_norm|clip_grad_norm_|clip_grad_value_|parametrize"
    r"|prune|swa_utils"
)
MODULES = (
    r"distributed\.(checkpoint|fsdp|run|device_mesh|tensor|elastic|pipelining|_composable|_tensor|_shard|algorithms)"
    r"|nn\.attention|nn\.parallel\.\w+|ao|func|export|_dynamo|_inductor|compiler|fx|profiler|amp|accelerator|mps|xpu"
    r"|_custom_ops?|_library|_logging|_subclasses|_ops|_functorch|fft|linalg|special|nested|masked|package|monitor"
    r"|nn\.utils\.(prune|parametrize)|utils\.tensorboard|optim\.lr_scheduler|cuda\.amp"
    r"|utils\._pytree|utils\._python_dispatch|nn\.utils\.parametrizations|optim\.swa_utils|library|_higher_order_ops"
)
TORCH = r"(?:/|\\)(?:site|dist)-packages(?:/|\\)torch(?:/|\\)"
# a name that a program read from a configuration, and looks up, is the program's own
LIBRARY = r"(?:site|dist)-packages[/\\](?!torch[/\\])[^\n]{0,300}\n(?![^\n]{0,200}\bgetattr\(\w+, \w+\))(?:[^\n]{0,300}\n){1,2}[^\n]{0,60}AttributeError: module 'torch"

NEWEST = Fix(
    "Take the newest torch, and a torchvision made for it",
    "python -m pip install --upgrade torch torchvision",
)
KEEP = Fix(
    "Or keep torch, and take the library's last release that knows it, such as transformers for torch 2.0",
    "python -m pip install 'transformers<4.50'",
)
SAFETENSORS = Fix(
    "Read weights from safetensors, which transformers does with any torch",
    "model = AutoModel.from_pretrained(name, use_safetensors=True)",
    Kind.EDIT,
)
LOOK = Fix(
    "See which torch is installed, and what the library asks for",
    "python -m pip show torch LIBRARY && python -m pip check",
)
FIT = Fix(
    "Take a release of the library that fits this torch; a newer torch helps only if its documentation knows the name",
    "python -m pip install --upgrade LIBRARY",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"PyTorch ?>= ?{VERSION} is required but found (?P<found>\d[\w.+]*\w)",  # transformers
        rf"torch ?(>=|==|>|~=) ?{VERSION}\S{{0,20}} is required for a normal functioning of this module, but found torch==(?P<found>[\w.+]*\w)",
        rf"\b(?!torchvision )[\w.-]{{1,80}} \S{{1,40}} requires torch ?(>=|>|~=) ?{VERSION}\S{{0,20}}, but you(?:'ll)? have torch (?P<found>[\w.+]*\w)",  # pip
        rf"Requirement 'torch ?(>=|>|~=) ?{VERSION}\S{{0,20}}' not met",  # lightning
        rf"VersionConflict: \(torch (?P<found>[\w.+]*\w) .{{0,200}}Requirement\.parse\('torch ?(>=|>|~=) ?{VERSION}",
        rf"\b(?:[Rr]equires?|[Nn]eeds|[Ee]xpects|[Dd]epends on) (?:at least |to have |an? )?`?(?:PyTorch|[Pp]ytorch|[Tt]orch)(?: version)? ?(?:>=|>) ?{VERSION}(?!\S{{0,40}}, but you|\S{{0,9}} and a supported device)",
        rf"\b[Rr]equires? PyTorch {VERSION} or (?:higher|newer|later|above)",
        rf"\b(?:PyTorch|[Tt]orch)(?: version)? (?:must|should|has to) be (?:>=|>|at least|newer than) ?{VERSION}",
        rf"require users to upgrade torch to at least {VERSION}",
        r"Your [Pp]y[Tt]orch (version|installation) (is|may be) too old",
        r"requires a newer version of PyTorch",
        r"Attempted to read a PyTorch file with version (?P<file_version>\d+), but the maximum supported version for reading is",
        r"version_ <= kMaxSupportedFileFormatVersion INTERNAL ASSERT FAILED(?!.{0,300}Attempted to read)",
        r"\.(pt|pth|bin|ckpt|tar|pkl) is a zip archive \(did you mean to use torch\.jit\.load",
        # a name that this torch does not have yet
        rf"module 'torch' has no attribute '(?P<name>{NAMES})'",
        rf"module 'torch\.(?!_C)[\w.]{{2,60}}' has no attribute '(?P<name>{INNER})'",
        # Python 2, which does not name the module
        Symptom(
            rf"'module' object has no attribute '(?P<name>{NAMES}|{INNER})'",
            near=rf"\b(?:torch(?:\.\w+){{0,3}}|nn|F|optim|init)\.(?:{NAMES}|{INNER})\b",
        ),
        Symptom(
            rf"module 'torch(?!\._C|\.distributed'|\.cuda\.nccl)(\.[\w.]{{2,60}})?' has no attribute {GONE}'(?!(?:{NAMES}|{INNER})')(?P<unknown>\w+)'",
            near=LIBRARY,
            unless=r"partially initialized module",
        ),
        rf"No module named '?torch\.(?P<name>({MODULES})(\.\w+){{0,4}})'?\s*$",
        rf"cannot import name '(?P<name>{NAMES}|{INNER})' from 'torch(?!\._C)[\w.]{{0,80}}' \([^()]{{0,300}}{TORCH}",
        # an installed library asks for a name that is not listed here: it may be newer than torch, or older
        Symptom(
            rf"cannot import name {GONE}'(?!log'|(?:{NAMES}|{INNER})')(?P<unknown>\w+)' from 'torch(?!\._C)[\w.]{{0,80}}' \([^()]{{0,300}}{TORCH}",
            near=r"(?:site|dist)-packages[/\\](?!torch[/\\])[^\n]{0,300}\n(?:[^\n]{0,300}\n){1,2}[^\n]{0,60}ImportError: cannot import name '\w+' from 'torch",
        ),
        r"__init__\(\) got an unexpected keyword argument '(?P<name>static_graph|use_orig_params)'",
        Symptom(
            r"__init__\(\) got an unexpected keyword argument '(?P<name>drop_last|persistent_workers|prefetch_factor)'",
            near=r"\b(DistributedSampler|DataLoader)\([^\n]*\n[^\n]{0,60}unexpected keyword",
        ),
        Symptom(  # cut off, or by a Python that does not name the module
            rf"ImportError: cannot import name {GONE}'?(?P<unknown>\w{{3,60}})'?$",
            near=r"from torch\.(distributed|nn\.attention|amp|utils\._pytree)[\w.]* import [^\n]{0,200}\n[^\n]{0,60}ImportError: cannot",
        ),
        r"(init_process_group|\bcheckpoint)\(\) got an unexpected keyword argument '(?P<name>device_id|use_reentrant)'",
        r"'DistributedDataParallel' object has no attribute '(?P<name>_set_static_graph)'",
        r"'(?P<name>weights_only|mmap)' is an invalid keyword argument for Unpickler",
        rf"\b(?:[Hh]ave at least|[Uu]se|[Rr]equires?|[Nn]eeds) (?:PyTorch|[Tt]orch) (?:version )?{VERSION} or (?:higher|newer|later|above)",
        rf"\b(?:PyTorch|[Tt]orch) version (?:must|should|has to) be {VERSION} or (?:higher|newer|later|above)",
        rf"\b(?:PyTorch|pytorch|[Tt]orch) ?>= ?{VERSION} is required (?:to\b|for (?!a normal))",
        rf"\bonly available (?:when|in|with|for) (?:PyTorch|pytorch|[Tt]orch)(?: version)? ?(?:>= ?)?{VERSION}",
        rf"\bnot available (?:in|with|for) (?:PyTorch|pytorch|[Tt]orch) ?< ?{VERSION}",
        rf"\bupgrade (?:your )?(?:PyTorch|[Tt]orch) to at least {VERSION}",
        rf"\b[Mm]inimum (?:PyTorch|pytorch|torch) version(?: requirements?)?(?: of [\w.-]{{1,40}})? is {VERSION}, but got",
        r"\bcheckpoint was (?:likely )?saved with a newer version of (?:PyTorch|torch)\b",
        # the line alone
        Symptom(
            rf"cannot import name {GONE}'(?P<unknown>\w+)' from 'torch\.(?!_C|_six|distributed\.elastic)[\w.]{{1,80}}'(?: \([^()]{{0,300}}\))?\W{{0,3}}$",
            unless=rf"{A_FRAME}|partially initialized",
        ),
        r"\b(?:__init__|load|save|scaled_dot_product_attention|clip_grad_norm_|checkpoint)\(\) got an unexpected keyword argument '(?P<name>weights_only|mmap|enable_gqa|pin_memory_device|device_mesh|device_id|fused|foreach|skip_all_reduce_unused_params|gradient_as_bucket_view)'",
        Symptom(
            r"__init__\(\) got an unexpected keyword argument '(?P<name>persistent_workers|prefetch_factor)'",
            unless=A_FRAME,
        ),
        Symptom(
            rf"module 'torch(?!\._C|\.distributed'|\.cuda\.nccl)(?:\.\w+){{1,4}}' has no attribute {GONE}'(?P<unknown>\w+)'",
            unless=rf"{A_FRAME}|partially initialized",
        ),
    ],
    # a foreign or empty torch lacks the newer names too
    follows=["torch-shadowed"],
    fixes=[NEWEST, KEEP, SAFETENSORS],
    no_reproduction="needs an older torch",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Of a name that is not known to be torch's, say no more than that this torch does not have it."""
    groups = sighting.groups
    if "unknown" in groups:
        message = f"a library asks torch for {groups['unknown']}, which this torch does not have: one of the two is too old"
        yield check.found(message, fixes=[LOOK, FIT, KEEP])
        return
    message = "the installed torch is older than what uses it"
    if "found" in groups:
        message = f"the installed torch ({groups['found']}) is older than what uses it"
    if "needed" in groups:
        message += f", which asks for {groups['needed']} or later"
    if "name" in groups:
        message += f": it does not have {groups['name']}"
    if "file_version" in groups:
        message += f": the file has format {groups['file_version']}"
    newer = NEWEST
    if "needed" in groups:
        command = f"python -m pip install --upgrade 'torch>={groups['needed']}' torchvision"
        newer = Fix("Take a torch that is new enough, and a torchvision made for it", command)
    yield check.found(message, fixes=[newer, KEEP, SAFETENSORS])
