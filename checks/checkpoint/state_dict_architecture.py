"""The checkpoint's keys are those of another model.

## What happens

`load_state_dict` reports "Missing key(s) in state_dict" and "Unexpected key(s) in state_dict", and the two lists differ
by more than a wrapper's prefix. With `strict=False` the parameters that are missing keep their random values.

## Why

- Another architecture, depth or option than the one that was saved: another backbone, a head more or less.
- The code was changed since: a layer got another name or place.
- A library changed its keys: transformers 4.31 dropped `embeddings.position_ids`, timm and torchvision renamed layers.
- An adapter (LoRA), quantised or EMA weights; or the file holds more than the model: `{"model": …, "optimizer": …}`.

## How to tell

Compare both sets of keys: `set(torch.load("model.pt", weights_only=True)) ^ set(model.state_dict())`. Keys with one
common stem name the part that differs. If they agree but for a prefix, it is `state-dict-prefix`.

## See also

- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html)
- [load_state_dict](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict)
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

# A wrapper's prefix on one side alone is state-dict-prefix; on both sides the keys differ otherwise.
MISSING = r"[Mm]issing[ _]keys?(\(s\))?\W.{0,20}?['\"](module|_orig_mod)\."
UNEXPECTED = r"[Uu]nexpected[ _]keys?(\(s\))?\W.{0,20}?['\"](module|_orig_mod)\."
ONE_SIDE = rf"\A(?!(?=[\s\S]*{MISSING})[\s\S]*{UNEXPECTED})[\s\S]*({MISSING}|{UNEXPECTED})"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(r"(Missing|Unexpected) key\(s\) in state_dict: ['\"](?P<key>[\w.]+)", unless=ONE_SIDE),
        Symptom(r"KeyError: .(unexpected key|missing keys) .{0,20}?['\"](?P<key>[\w.]+)", unless=ONE_SIDE),
        r"([Uu]nexpected|[Mm]issing) keys? in source state_dict: (?!module\.|_orig_mod\.)(?P<key>[\w.]+)",
    ],
    message="the model and the file have different keys, such as <key>, and no wrapper's prefix explains it",
    fixes=[
        Fix(
            "Build the model as it was when it was saved, then load strictly",
            "model.load_state_dict(state, strict=True)",
            Kind.EDIT,
        ),
        Fix(
            "Take the model out of a file that holds more", 'model.load_state_dict(file["model"])', Kind.EDIT
        ),
        Fix(
            "Drop by name what is not wanted on purpose, and look at what is left",
            'state = {k: v for k, v in state.items() if not k.endswith("position_ids")}\n'
            "print(model.load_state_dict(state, strict=False))",
            Kind.EDIT,
        ),
    ],
)
