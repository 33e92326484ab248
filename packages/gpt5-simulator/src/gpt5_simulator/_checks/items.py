"""What a real server would refuse about the items of a conversation.

Source: recorded 400 bodies; docs/evidence/responses-api.md, R4 to R11.
"""

from gpt5_simulator._checks.parts import validate_amounts, validate_parts
from gpt5_simulator._checks.schema import SCHEMAS, bad_value, unknown, validate, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, objects_in
from gpt5_simulator._profiles import ModelProfile
from gpt5_simulator._request import item_type
from gpt5_simulator._responses.item_kinds import kind_of


_KINDS: Json = SCHEMAS["items"]
_PREFIXED = frozenset(
    kind for kind, schema in _KINDS.items() if "id" in schema.get("required", ())
) - {"item_reference"}
_WITH_PARTS = ("function_call_output", "custom_tool_call_output")
# What the server shows of a picture and does not take back. Source: Yeachan-Heo/gajae-code, issue 1688.
_SHOWN_ONLY = ("action", "background", "output_format", "quality", "revised_prompt", "size")


def validate_items(value: object, *, profile: ModelProfile) -> None:
    """Refuse input items of the wrong shape, one by one.

    Args:
        value: The request's `input`; a string is fine.
        profile: The model's profile, which knows which roles it takes.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    validate_amounts(objects_in(value))
    for index, item in enumerate(value if is_array(value) else ()):
        where = f"input[{index}]"
        if not is_object(item):
            raise wrong_type(where, wanted="an object", got=item)
        _validate_item(item, where, profile)


def _validate_item(item: Json, where: str, profile: ModelProfile) -> None:
    kind = item_type(item)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise bad_value(where, kind, accepted=tuple(_KINDS))
    validate(item, _KINDS[kind], where, profile=profile)
    if kind == "message":
        if item["role"] == "system" and not profile.takes_system:
            raise ApiError("System messages are not allowed.", param=f"{where}.role")
        validate_parts(item["content"], f"{where}.content", role=item["role"], profile=profile)
    elif kind in _WITH_PARTS:
        validate_parts(item["output"], f"{where}.output", role=None, profile=profile)
    for name in item if kind == "image_generation_call" else ():
        if name in _SHOWN_ONLY:
            raise unknown(f"{where}.{name}")
    _validate_id(item, where)


def _validate_id(item: Json, where: str) -> None:
    """Refuse an id of another type of item, as other servers make them."""
    item_id: object = item.get("id")
    prefix = kind_of(item).prefix if item.get("type") in _PREFIXED else None
    if isinstance(item_id, str) and prefix is not None and not item_id.startswith(prefix):
        text = f"Invalid '{where}.id': '{item_id}'. Expected an ID that begins with '{prefix}'."
        raise ApiError(text, param=f"{where}.id", code="invalid_value")
