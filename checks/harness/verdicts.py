"""How a run is judged: by the state of the tools, what the person was told, and what was called."""

import re
from typing import Literal, get_args

from gpt5_simulator import Refusal, Text

from .cells import Played


type Verdict = Literal[
    "gold", "told", "broke off", "gave up", "hung", "outside", "untrue", "not offered"
]
"""What a run came to.

`gold` and `told` as in `mutations.toml`, in this order of what is better. The rest is wrong: it broke off with an error
where it could have gone on, or died; the model gave up, because of what it was told or not told; it hung; a tool was
called with what the model had not asked for; the person was told what is not so, or nothing.
"""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict.__value__)


def judge(played: Played) -> Verdict:
    """Return what a run came to, whether it is right for its mutation or not."""
    is_told = "told" in played.run.case.mutation.right
    match played.ended:
        case "hung" | "not offered":
            return played.ended
        case _ if played.run.outside:
            return "outside"
        case "answered":
            return _judge_answer(played, played.text.strip(), is_told=is_told)
        case "raised" if is_told:
            return "told"
        case _:
            return "broke off"


def _judge_answer(played: Played, text: str, *, is_told: bool) -> Verdict:
    run, script = played.run, played.run.script
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).strip()
    told = (one.text.strip() for one in script.said or () if isinstance(one, Text | Refusal))
    said = tuple(filter(None, told))
    if script.not_done in text:
        return "told" if is_told else "gave up"
    if script.done in text:
        return "gold" if run.case.mutation.taste or run.is_done() else "untrue"
    if run.case.mutation.shown:
        is_told = is_told and any(one in text for one in said)
    # A word of the harness's own after it says that it is not the whole answer; with none it is passed off as that.
    elif text.endswith(said + tuple(script.done[:end] for end in range(2, len(script.done)))):
        is_told = False
    return "told" if is_told and text else "untrue"
