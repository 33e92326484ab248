"""The rules for calls that a person has to approve, as the agent node has them."""

from agent_tooling import ApprovalRules, DeclarationError

from ._errors import ParameterError


FIELD = "approval_rules"
"""The parameter."""


def read_approval_rules(value: object) -> ApprovalRules | None:
    """Read the rules; None where there are none.

    Raises:
        ParameterError: If they are none.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        return ApprovalRules.parse(value)
    except DeclarationError as error:
        raise refuse(str(error)) from None


def refuse(sentence: str) -> ParameterError:
    """Return the error that tells a sentence of the rules."""
    return ParameterError(FIELD, "rules", None, sentence=sentence)
