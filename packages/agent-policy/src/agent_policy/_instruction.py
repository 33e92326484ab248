"""The instruction and the policy blocks, joined into one system instruction."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stream_text import InvalidJsonError, is_object, parse_json

from ._blocks import (
    CONTEXT_GATHERING_POLICY,
    PERSISTENCE_POLICY,
    TOOL_PREAMBLE_POLICY,
    UNCERTAINTY_POLICY,
)
from ._errors import PolicyError


DEFAULT_INSTRUCTION: Final = (
    "You are a careful assistant that completes the user's task and uses tools where they help."
)
"""The instruction that replaces an empty one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """One tagged block: the override key that replaces it, its tag, and its default text."""

    key: str
    tag: str
    default: str

    def wrap(self, text: str) -> str:
        """Add whichever of the two tags is missing around `text`."""
        opening, closing = f"<{self.tag}>", f"</{self.tag}>"
        head = "" if text.startswith(opening) else f"{opening}\n"
        tail = "" if text.endswith(closing) else f"\n{closing}"
        return f"{head}{text}{tail}"


_PREAMBLE_KEY: Final = "tool_preamble_policy"
_EXTRA_KEY: Final = "extra_policy"
# The order of the instruction: changing it changes its bytes, and prompt caches miss.
_BLOCKS: Final = (
    _Block(key="persistence_policy", tag="persistence", default=PERSISTENCE_POLICY),
    _Block(
        key="context_gathering_policy", tag="context_gathering", default=CONTEXT_GATHERING_POLICY
    ),
    _Block(key="uncertainty_policy", tag="uncertainty_and_ambiguity", default=UNCERTAINTY_POLICY),
    _Block(key=_PREAMBLE_KEY, tag="tool_preamble", default=TOOL_PREAMBLE_POLICY),
)
_KEYS: Final = (*(block.key for block in _BLOCKS), _EXTRA_KEY)
# Text that begins like an object, or quotes a key as an object does: somebody meant it as JSON, such
# as `{"extra_policy": "Be brief.",}` with its last comma.
_NEARLY_JSON: Final = re.compile(
    rf"""[\s\ufeff]*\{{\s*(?:["'}}]|\w+\s*:|\Z)|.*["'](?:{"|".join(_KEYS)})["']\s*:""", re.DOTALL
)


def build_system_instruction(
    base_instruction: str | None,
    prompt_policy_overrides: str | Mapping[str, object] | None = None,
    *,
    model: str | None = None,
) -> str:
    """Join the instruction and the policy blocks in a fixed order, with a blank line between them.

    The order is: instruction, persistence, context gathering, uncertainty, tool preamble, extra. The same
    arguments give the same bytes, so that prompt caches hit.

    Args:
        base_instruction: The task's own instruction. Blank or None stands for `DEFAULT_INSTRUCTION`.
        prompt_policy_overrides: A JSON object, as text or as a mapping, with any of the keys `persistence_policy`,
            `context_gathering_policy`, `uncertainty_policy`, `tool_preamble_policy` and `extra_policy`. A text replaces
            the block (its tags are added when missing), a blank text removes it, and null keeps the default. Other
            keys, and values that JSON cannot hold (NaN), change nothing. Text that is not a JSON object is the extra
            policy as a whole, unless it nearly is one, which changes nothing. `check_overrides` reports what changes
            nothing.
        model: Name of the model that will read the instruction. Codex models get no default tool preamble:
            they end their turn early when asked for one. An overridden preamble is kept.

    Raises:
        PolicyError: If an argument has a type that is not listed above.
    """
    overrides = _read_overrides(prompt_policy_overrides)
    texts = {key: _find_policy_text(overrides.get(key)) for key in _KEYS}
    sections = [
        _instruction_text(base_instruction),
        *(_block_text(block, texts[block.key], model=model) for block in _BLOCKS),
        texts[_EXTRA_KEY],
    ]
    return "\n\n".join(section for section in sections if section)


def check_overrides(prompt_policy_overrides: object) -> tuple[str, ...]:
    """Return a clause for each part of overrides that changes nothing, although somebody must have meant it to; never raise.

    Example:
        >>> check_overrides({"extra_polisy": "Be brief."})
        ("the key 'extra_polisy' is unknown and changes nothing",)
    """
    value = prompt_policy_overrides
    if isinstance(prompt_policy_overrides, str):
        try:
            value = parse_json(prompt_policy_overrides)
        except InvalidJsonError as error:
            # Other text is an extra policy as it stands, so there is nothing to report.
            problem = "it looks like a JSON object but cannot be read as one, and changes nothing"
            is_meant = _NEARLY_JSON.match(prompt_policy_overrides)
            return (f"{problem}: {error}",) if is_meant else ()
    overrides: Mapping[object, object] = value if is_object(value) else {}
    problems = ((key, _find_problem(key, override)) for key, override in overrides.items())
    return tuple(
        f"the key {key!r} {problem} and changes nothing" for key, problem in problems if problem
    )


def _find_problem(key: object, override: object) -> str | None:
    if key not in _KEYS:
        return "is unknown"
    is_lost = override is not None and _find_policy_text(override) is None
    return "has a value that JSON does not know" if is_lost else None


def _instruction_text(base_instruction: object) -> str:
    """Return the task's own instruction, or the default one if it is blank."""
    if not isinstance(base_instruction, str | None):
        raise PolicyError("base_instruction", "text or None", base_instruction)
    return (base_instruction or "").strip() or DEFAULT_INSTRUCTION


def _read_overrides(overrides: object) -> Mapping[str, object]:
    """Read overrides in any accepted shape as a mapping of policy keys."""
    if overrides is None:
        return {}
    if is_object(overrides):
        return overrides
    if not isinstance(overrides, str):
        raise PolicyError("prompt_policy_overrides", "text, a mapping or None", overrides)
    try:
        value: object = parse_json(overrides)
    except InvalidJsonError:
        return {} if _NEARLY_JSON.match(overrides) else {_EXTRA_KEY: overrides}
    return value if is_object(value) else {_EXTRA_KEY: overrides}


def _block_text(block: _Block, override: str | None, *, model: str | None) -> str:
    """Return the text of a block in the instruction; "" if it is left out."""
    if override is None:
        is_unwanted = block.key == _PREAMBLE_KEY and "codex" in (model or "").lower()
        return "" if is_unwanted else block.default
    return block.wrap(override) if override else ""


def _find_policy_text(value: object) -> str | None:
    """Return an override's value as stripped text, or as JSON if it is not text; None for null and for values that JSON cannot hold."""
    if value is None or isinstance(value, str):
        # "" stays "", which removes a block, while None keeps it.
        return value and value.strip()
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except (ValueError, TypeError, RecursionError):
        return None
