"""hub-gated: seen in logs."""

REST = ": no token in the job, no access granted yet, or another name"
MESSAGE = f"the Hub did not hand out the repository{REST}"
EXAMPLES = {
    "RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1-9a)": MESSAGE,
    "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-66f4b037)": MESSAGE,
    "Cannot access gated repo for url https://huggingface.co/black-forest-labs/FLUX.1-dev/resolve/main/ae.safetensors.": (
        f"the Hub did not hand out the repository black-forest-labs/FLUX.1-dev{REST}"
    ),
    "OSError: You are trying to access a gated repo.": MESSAGE,
    "datasets.exceptions.DatasetNotFoundError: Dataset 'me/wiki' is a gated dataset on the Hub. You must be authenticated to": (
        f"the Hub did not hand out the repository me/wiki{REST}"
    ),
    "Access to model google/gemma-2-2b-it is restricted. You must have access to it and be authenticated to access it.": (
        f"the Hub did not hand out the repository google/gemma-2-2b-it{REST}"
    ),
    "OSError: meta-llama/Llama-2-7b is a gated repository. Make sure to request access at": (
        f"the Hub did not hand out the repository meta-llama/Llama-2-7b{REST}"
    ),
    "Repository Not Found for url: https://huggingface.co/api/models/org/private-model/revision/main.": (
        f"the Hub did not hand out the repository org/private-model{REST}"
    ),
    "Repository Not Found for url: https://huggingface.co/bert-base-uncase/resolve/main/config.json.": (
        f"the Hub did not hand out the repository bert-base-uncase{REST}"
    ),
    "OSError: my-org/my-model is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'": (
        f"the Hub did not hand out the repository my-org/my-model{REST}"
    ),
    (
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: "
        "https://huggingface.co/meta-llama/Meta-Llama-3-8B/resolve/main/config.json"
    ): f"the Hub did not hand out the repository meta-llama/Meta-Llama-3-8B{REST}",
    "ValueError: Invalid user token. If you didn't pass a user token, make sure you are properly logged in": MESSAGE,
    "LocalTokenNotFoundError: Token is required (`token=True`), but no token found. Log in first.": (
        "the Hub did not hand out the repository: no token in the job, no access granted yet, or another name"
    ),
    "HTTPError: 401 Unauthorized: a valid token is required to read the quota.": (
        "the Hub did not hand out the repository: no token in the job, no access granted yet, or another name"
    ),
    "OSError: Repo for model `lab/tower` does not exist on the Hub. If you are trying to access a private repo, log in.": (
        "the Hub did not hand out the repository lab/tower: no token in the job, no access granted yet, or another name"
    ),
}
NOT_THIS = [
    "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.org/x",
    "OSError: We couldn't connect to 'https://huggingface.co' to load this file",
    "Checkpoint is gated by a flag",
]
