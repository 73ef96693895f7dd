"""implicit-softmax-dim: seen in logs."""

EXAMPLES = {
    (
        "/data/model.py:41: UserWarning: Implicit dimension choice for softmax has been deprecated. Change the call to include "
        "dim=X as an argument."
    ): (
        "softmax was called without dim; with 3-dimensional input it runs over the batch, which every GPU has "
        "another part of"
    ),
    (
        "[rank1]: /opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py:1511: UserWarning: Implicit dimension choice "
        "for log_softmax has been deprecated. Change the call to include dim=X as an argument."
    ): (
        "log_softmax was called without dim; with 3-dimensional input it runs over the batch, which every GPU "
        "has another part of"
    ),
}
NOT_THIS = [
    "TypeError: softmax() received an invalid combination of arguments - got (Tensor), but expected one of:",
    "  (softmax): Softmax(dim=None)",
]
