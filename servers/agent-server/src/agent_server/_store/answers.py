"""Whether an answer has all that a run waits for, and nothing else."""

from collections.abc import Collection, Iterator

from agent_server.executor import InputAnswer, InputRequest, Problem


def find_answer_problems(asked: InputRequest, given: InputAnswer) -> list[Problem]:
    """Return what is missing in an answer, and what it has that nobody asked for."""
    problems = [
        *_compare("approvals", {one.call_id for one in asked.approvals}, given.approvals),
        *_compare("results", {one.call_id for one in asked.results}, given.results),
    ]
    if asked.question is None and given.answer is not None:
        problems.append(Problem(field="answer", message="expected none, for there is no question"))
    # Null is no answer: who gives none needs no right to answer for a person.
    if asked.question is not None and given.answer is None:
        problems.append(Problem(field="answer", message="expected to be present"))
    return problems


def _compare(field: str, wanted: Collection[str], given: Collection[str]) -> Iterator[Problem]:
    for call_id in sorted(set(wanted) - set(given)):
        yield Problem(field=f"{field}.{call_id}", message="expected to be present")
    for call_id in sorted(set(given) - set(wanted)):
        yield Problem(
            field=f"{field}.{call_id}", message="expected a call that waits for this in the run"
        )
