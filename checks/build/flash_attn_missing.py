"""The model asks for FlashAttention, and flash-attn is not installed.

## What happens

Loading a model ends with "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following
error: the package flash_attn seems to be not installed", or with "No module named 'flash_attn'".

## Why

- The code, or the model's own configuration, says `attn_implementation="flash_attention_2"`. flash-attn is a package of
  its own, which neither torch nor transformers installs.
- It was installed into another environment, or its build failed and nobody looked.
- There is no prebuilt wheel for this torch, CUDA and Python, so that pip would have to compile it.

Nothing is lost without it: torch's own `scaled_dot_product_attention` (`"sdpa"`) has a FlashAttention kernel inside.

## How to tell

`python -c "import flash_attn; print(flash_attn.__version__)"` under the Python that trains. "undefined symbol" there is
another failure: flash-attn was built for another torch (`torch-import-broken`).

## See also

- [transformers: attention](https://huggingface.co/docs/transformers/attention_interface): `attn_implementation`
- [flash-attention](https://github.com/Dao-AILab/flash-attention#installation-and-features): requirements, wheels
- [scaled_dot_product_attention](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html): torch's own, with FlashAttention in it
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"Flash ?Attention[ _]?\d? has been toggled on, but it cannot be used due to the following error: (?P<why>[^.]{4,160})",
        r"Flash ?Attention[ _]?\d? has been toggled on, but (?!it cannot be used due to)",
        r"packages that were not found in your environment: (?P<module>flash_attn)\b",
        r"package `?flash[_-]attn(?:_\d)?`? seems to be not installed",
        r"No module named '?(?P<module>flash_attn(?:_interface|_2_cuda|_3)?)\b",
        r"(?:ImportError|AssertionError|ValueError|RuntimeError): .{0,40}\b[Ff]lash[ _-]?[Aa]tt(?:ention|n)(?:[ -]?\d)? (?:is not (?:available|installed)|not (?:found|installed))",
        r"(?:Import|Runtime|Assertion|Value)Error: .{0,160}\b[Rr]equires (?:the )?flash[_-]attn\b(?! (?:version|v\d))",
    ],
    message="the model asks for FlashAttention, which is not there[: <why>][: there is no <module>]",
    fixes=[
        Fix(
            "Use torch's own attention, which needs no package",
            'model = AutoModel.from_pretrained(name, attn_implementation="sdpa")',
            Kind.EDIT,
        ),
        Fix(
            "Install it into the environment that trains; without a prebuilt wheel this compiles for long",
            "MAX_JOBS=4 python -m pip install --no-build-isolation flash-attn",
        ),
        Fix(
            "See whether a prebuilt wheel fits: its name has CUDA, torch, ABI and Python in it",
            'python -c "import sys, torch; print(torch.__version__, torch.version.cuda, sys.version)"',
        ),
    ],
)
