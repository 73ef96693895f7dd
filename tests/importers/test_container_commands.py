"""How a container was started, by the commands in a ticket."""

import pytest

from gpudoctor.facts import ContainerStart

IMAGE = "pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime"
NOT_FOUND = "bash: nvidia-smi: command not found\n"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (
            f"$ docker run --rm {IMAGE} nvidia-smi\n{NOT_FOUND}",
            ContainerStart(engine="docker", verb="run", gpus=False, missing=NOT_FOUND.strip()),
        ),
        (
            f"I use `docker run -it {IMAGE} sh`\nboth nvcc and nvidia-smi not found.\n",
            ContainerStart(engine="docker", verb="run", gpus=False, missing="nvidia-smi is not found"),
        ),
        (
            f"docker run \\\n  --rm \\\n  {IMAGE} ipython\nIn [2]: torch.cuda.is_available()\nOut[2]: False\n",
            ContainerStart(
                engine="docker", verb="run", gpus=False, missing="torch.cuda.is_available() is False"
            ),
        ),
        (
            "[u@node1 ~]$ singularity exec pytorch.sif python train.py\n",
            ContainerStart(engine="singularity", verb="exec", gpus=False),
        ),
        (
            f"sudo podman run --device nvidia.com/gpu=all --shm-size=2g {IMAGE}\n",
            ContainerStart(engine="podman", verb="run", gpus=True, shm_bytes=2 << 30),
        ),
        (f"nvidia-docker run {IMAGE}\n", ContainerStart(engine="docker", verb="run", gpus=True)),
        # what the shell would put in may be the option
        (
            f"docker run $GPU_OPTIONS {IMAGE}\n{NOT_FOUND}",
            ContainerStart(engine="docker", verb="run", gpus=True, missing=NOT_FOUND.strip()),
        ),
        (
            f"docker run --device /dev/davinci0 {IMAGE}\n",
            ContainerStart(engine="docker", verb="run", gpus=True),
        ),
        # somebody tried both
        (
            f"docker run {IMAGE}\ndocker run --gpus all {IMAGE}\n",
            ContainerStart(engine="docker", verb="run", gpus=True),
        ),
    ],
)
def test_a_start(text, start, facts_of, read_text):
    assert read_text(f"{text}NVIDIA_REQUIRE_CUDA=x\n").snapshot.facts["container_start"] == start


@pytest.mark.parametrize(
    "text",
    [
        "docker run -d -p 5432:5432 postgres:16\n",
        "docker exec -it vllm-openai nvidia-smi\n",
        "you may start docker run with pytorch\n",
    ],
)
def test_no_start(text, facts_of):
    assert "container_start" not in facts_of(f"{text}NVIDIA_REQUIRE_CUDA=x\n")


def test_shared_memory_of_a_container(facts_of):
    host = facts_of(f"docker run --gpus all --shm-size 64m {IMAGE}\n")["host"]
    assert (host.container, host.shm_bytes) == ("docker", 64 << 20)
    host = facts_of("services:\n  train:\n    image: x\n    shm_size: '8gb'\n")["host"]
    assert (host.container, host.shm_bytes) == ("docker", 8 << 30)
    df = "shm  16G  1.2M  16G  1% /dev/shm\n"
    assert facts_of(f"docker run --shm-size=64m {IMAGE}\n{df}")["host"].shm_bytes == 16 << 30
