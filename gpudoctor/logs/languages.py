"""The words of programs that speak to their users in another language than English."""

import re

from gpudoctor.patterns import late_pattern

FAILED_AS_A_WHOLE = late_pattern(
    r"\b(?:training|train(?:er)? (?:job|run|loop)|fine-?tuning|experiment|pipeline|"
    r"(?:the |this )(?:run|job|program|script))\b"
    r"(?: (?:has|was|is|job|run|loop|process))* (?:failed|crashed|died|(?:been )?aborted)\b|"
    # the same in other languages: what it is of, and that it failed
    r"(?:训练|任务|程序|运行|进程|作业|脚本).{0,8}(?:失败|出错|崩溃|异常(?:终止|退出)|中断)|"
    r"(?:学習|訓練|トレーニング|実行|ジョブ|プログラム).{0,8}(?:失敗|異常終了|中断)|"
    r"(?:학습|훈련|실행|작업|프로그램).{0,8}(?:실패|중단|비정상)|"
    r"\b(?:entra[îi]nement|apprentissage|ex[ée]cution|programme|t[âa]che)\b.{0,20}(?:échou|échec|interrompu|avort|planté)|"
    r"[ÉéEe]chec (?:de |du )(?:l')?(?:la )?(?:entra[îi]nement|apprentissage|ex[ée]cution|programme|t[âa]che)|"
    r"\b(?:Training|Lauf|Programm|Job|Skript)\b.{0,20}(?:fehlgeschlagen|abgebrochen|gescheitert|abgestürzt)|"
    r"(?:[Оо]бучение|[Зз]апуск|[Пп]рограмма|[Зз]адача|[Зз]адание).{0,20}(?:не удал|ошибк|прерван|аварийн|упал|сбо)|"
    r"\b(?:[Ee]ntrenamiento|[Ee]jecución|[Tt]reinamento|[Tt]reino|[Ee]xecução|[Pp]rograma|[Tt]rabajo)\b.{0,20}"
    r"(?:falló|fallado|falhou|abortad|interrumpid|interrompid)",
    re.IGNORECASE,
)
"""What a program says last, in whatever language, of a failure of the whole and not of a part."""
