"""The command that installs into the patient's environment."""

from gpudoctor.facts import Distribution, Distributions, Python

PIP = Distributions(installed=[Distribution(name="pip", version="24.0")])


def test_pip_of_the_patient_is_used_where_it_is_installed() -> None:
    python = Python(executable="/home/me/.venv/bin/python", version="3.11.7")
    assert python.install_command("torch torchvision", PIP) == (
        "/home/me/.venv/bin/python -m pip install torch torchvision"
    )
    assert python.install_command("torch", PIP, reinstall=True) == (
        "/home/me/.venv/bin/python -m pip install --force-reinstall torch"
    )


def test_uv_installs_where_there_is_no_pip() -> None:
    python = Python(executable="/home/me/.venv/bin/python", version="3.11.7")
    assert python.install_command("torch torchvision", Distributions(), reinstall=True) == (
        "uv pip install --python /home/me/.venv/bin/python --reinstall --torch-backend=auto torch torchvision"
    )
    assert python.install_command("'mkl<2024.1'", Distributions()) == (
        "uv pip install --python /home/me/.venv/bin/python 'mkl<2024.1'"
    )


def test_pip_is_assumed_where_nobody_looked() -> None:
    python = Python(executable="/usr/bin/python3", version="3.11.7")
    assert python.install_command("torch", None) == "/usr/bin/python3 -m pip install torch"


def test_a_pasted_text_names_no_interpreter() -> None:
    python = Python(executable="", version="3.11.7")
    assert python.install_command("torch", PIP) == "pip install torch"
    assert (
        python.install_command("torch", Distributions(), reinstall=True)
        == "pip install --force-reinstall torch"
    )


def test_a_path_with_a_blank_is_quoted() -> None:
    python = Python(executable="/home/me/my env/bin/python", version="3.11.7")
    assert python.install_command("torch", PIP) == "'/home/me/my env/bin/python' -m pip install torch"


def test_uv_can_be_asked_for_where_there_is_pip_and_where_the_interpreter_is_not_known() -> None:
    python = Python(executable="/home/me/my env/bin/python", version="3.11.7")
    assert python.uv_install_command("torch") == (
        "uv pip install --python '/home/me/my env/bin/python' --torch-backend=auto torch"
    )
    assert Python().uv_install_command("numpy", reinstall=True) == "uv pip install --reinstall numpy"
