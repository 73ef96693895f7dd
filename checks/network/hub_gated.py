"""The Hugging Face Hub refuses a model or data set to this user.

## What happens

"Cannot access gated repo for url …", "You are trying to access a gated repo", "401 Client Error … Repository Not Found",
"is not a local folder and is not a valid model identifier". The Hub was reached, and it said no.

## Why

| what it says | what it means |
|---|---|
| gated repo, 401 | nobody is logged in where the job runs: HF_TOKEN is not set there, and the home folder is another one |
| gated repo, 403, "not in the authorized list" | logged in, and the licence was not accepted by this account, or not granted yet |
| Repository Not Found, 401 or 404 | a name that does not exist; or a private one: the Hub does not tell strangers that it is there |
| Invalid user token, Invalid credentials | a token that was revoked, is cut off, or has a space or a newline in it |
| 403 with a fine-grained token | the token was made without the right to read gated repositories |

## How to tell

In the job: `hf auth whoami` (older: `huggingface-cli whoami`) must print your name. Open the model's page in a browser
with the same account: it must say that you have been granted access.

## See also

- [Gated models](https://huggingface.co/docs/hub/models-gated): how to ask for access
- [Security tokens](https://huggingface.co/docs/hub/security-tokens): which rights a token has
- [huggingface_hub#1225](https://github.com/huggingface/huggingface_hub/pull/1225): the error for gated repositories
"""

from gpudoctor import Check, Fix, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\bGatedRepoError\b",
        r"Cannot access gated repo for url https?://[^/\s]+/(?:api/(?:models|datasets)/|datasets/)?(?P<repository>[\w.-]+/[\w.-]+)",
        r"[Yy]ou are trying to access a gated repo",
        r"Access to (?:model|dataset) (?P<repository>[\w./-]+?) is restricted",
        r"(?:[Dd]ataset|[Mm]odel) ['\"](?P<repository>[\w./-]+)['\"] is a gated (?:dataset|model) on the Hub",
        r"(?P<repository>[\w./-]+) is a gated repository\. Make sure to request access",
        r"Repository Not Found for url: https?://[^/\s]+/(?:api/(?:models|datasets)/|datasets/)?(?P<repository>[\w.-]+(?:/(?!resolve)[\w.-]+)?)",
        r"\bRepositoryNotFoundError: 40[134] Client Error",
        r"(?<![\w./~-])(?P<repository>\w[\w.-]*(?:/[\w.-]+)?) is not a local folder and is not a valid model identifier listed on",
        r"40[13] Client Error: (?:Unauthorized|Forbidden) for url: https?://(?:huggingface\.co|hf\.co)/(?:api/(?:models|datasets)/|datasets/)?(?P<repository>[\w.-]+/[\w.-]+)",
        r"Invalid (?:user token|credentials in Authorization header)",
        r"\bToken is required\b.{0,60}, but no token found",
        r"401 Unauthorized: a valid token is required",
        r"Repo for (?:model|dataset) `?(?P<repository>[\w./-]+)`? does not exist on the Hub\. If you are trying to access a private repo",
    ],
    message="the Hub did not hand out the repository[ <repository>]: no token in the job, no access granted yet, or another "
    "name",
    fixes=[
        Fix("See who is logged in where the job runs", "hf auth whoami; echo ${HF_TOKEN:+HF_TOKEN is set}"),
        Fix(
            "In a browser, with the account that the token belongs to: accept the licence on the model's page, "
            "https://huggingface.co/REPOSITORY, and wait until access is granted",
        ),
        Fix(
            "Log in where the job can read it, and hand the token on",
            "hf auth login  # then, in the job script: export HF_TOKEN=$(cat ~/.cache/huggingface/token)",
        ),
        Fix("Compare the name with the page's, capital letters too", "hf download REPOSITORY config.json"),
    ],
    no_reproduction="needs the internet",
)
