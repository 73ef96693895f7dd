"""What a program says at its end that failed as a whole, in whatever language."""

import pytest

from gpudoctor import explain
from gpudoctor.model import Severity

STEPS = "".join(f"round {n} acc 0.5{n}\n" for n in range(3))


@pytest.mark.parametrize(
    "said",
    [
        "Training failed: 'bs'",
        "the run was aborted after 3 rounds",
        "训练失败: KeyError '批大小'",
        "任务异常退出，请检查日志",
        "学習が失敗しました",
        "학습 실패: 파일 없음",
        "Échec de l'entraînement : fichier absent",
        "L'entraînement a échoué",
        "Training fehlgeschlagen: Datei fehlt",
        "Обучение завершилось с ошибкой",
        "El entrenamiento ha fallado",
    ],
)
def test_the_end_of_the_whole_is_a_failure(said):
    rule = "=" * 40
    assert explain(STEPS + said + "\n").worst() is Severity.ERROR
    assert (
        explain(f"{STEPS}{rule}\n{said}\nplease ask the administrators\n{rule}\n").worst() is Severity.ERROR
    )
    # it went on
    assert explain(f"{said}\n{STEPS}model written to best.pt, acc 0.61\n").worst() in (None, Severity.NOTE)


@pytest.mark.parametrize(
    "said",
    [
        "训练完成",
        "0 training failed",
        "no experiment failed",
        "fertig: Training beendet",
        "entraînement terminé",
    ],
)
def test_a_good_end_is_none(said):
    assert explain(STEPS + said + "\n").worst() in (None, Severity.NOTE)


def test_a_wrong_argument_stands_above_how_a_program_is_called():
    usage = "Usage: f.py train -\n\nFor detailed information on this command, run:\n  f.py train - --help\n"
    assert explain(f"epochs 1\nERROR: Could not consume arg: --epoch\n{usage}").worst() is Severity.ERROR
    assert explain(usage).findings == []


def test_the_name_of_an_exception_that_ends_a_log_is_worth_a_look():
    assert explain(STEPS + "KeyError 'bs'\n").worst() is Severity.WARNING
    assert explain("KeyError 'bs'\n" + STEPS).worst() in (None, Severity.NOTE)
