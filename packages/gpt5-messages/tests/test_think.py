import pytest

from gpt5_messages import strip_think


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no thoughts", "no thoughts"),
        ("<think>\nPlan\n</think>Answer", "Answer"),
        ("<think>a</think>\n\nOne <THINK>b</THINK>two", "One two"),
        ("Answer <think>cut off", "Answer "),
        ("stray</think> Answer", "strayAnswer"),
        ("<think></think>", ""),
        ("I think> so", "I think> so"),
    ],
)
def test_thoughts_are_removed_and_answers_kept(text: str, expected: str) -> None:
    assert strip_think(text) == expected
