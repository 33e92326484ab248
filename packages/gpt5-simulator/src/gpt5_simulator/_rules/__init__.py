"""The rule-driven model: it reads the request, calls the tools that fit, and answers from what they return.

The way of a request: `_conversation` finds the open question, `_clauses` takes it apart, `_matching` finds tools, `_arguments`
fills them in (with `_kinds`, `_extract` and `_places` for what a text has, `_schema` for what a schema wants), `_plan` says what is
still to do, `_wording` says it, `_model` puts it together.
"""

from gpt5_simulator._rules._model import RuleModel


__all__ = ["RuleModel"]
