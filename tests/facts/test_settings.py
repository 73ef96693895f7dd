"""What is set for the ranks, and how it is taken away."""

from gpudoctor.facts import ConfigurationFile, Launch, NcclConfiguration, Setting, settings


def test_the_environment_comes_before_a_file() -> None:
    launch = Launch(variables={"NCCL_DEBUG": "INFO"})
    file = ConfigurationFile(path="/etc/nccl.conf", settings={"NCCL_DEBUG": "WARN", "NCCL_P2P_DISABLE": "1"})
    known = settings(launch, NcclConfiguration(files=[file]))
    assert {name: str(setting) for name, setting in known.items()} == {
        "NCCL_DEBUG": "NCCL_DEBUG=INFO",
        "NCCL_P2P_DISABLE": "NCCL_P2P_DISABLE=1 in /etc/nccl.conf",
    }


def test_what_stands_in_the_environment_is_unset() -> None:
    setting = Setting("NCCL_DEBUG", "INFO")
    assert (setting.removal(), setting.removal_command) == ("Do without it", "unset NCCL_DEBUG")
    assert setting.removal("It has no use") == "It has no use"


def test_what_stands_in_a_file_is_looked_for_there() -> None:
    setting = Setting("NCCL_DEBUG", "INFO", "/home/a user/.nccl.conf")
    assert setting.removal("It has no use") == "Take the line out of /home/a user/.nccl.conf"
    assert setting.removal_command == "grep -n NCCL_DEBUG '/home/a user/.nccl.conf'"
