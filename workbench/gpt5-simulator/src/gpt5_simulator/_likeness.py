"""Servers of the Responses API that are not OpenAI: each is a file in `_likenesses`, and all its members but the first three may be missing.

- `server`, `version`, `source`: what it is a likeness of, and how that is known; `notes` says what the file cannot show;
- `knows`: the parameters that it takes, and `unknown`, the refusal of others; without these it takes them and ignores them;
- `refuses`: further refusals, in order: `at` is a path such as `input[].content[]`, `is` what the value there is, or
  `where` what its members are. A value stands for itself, a list for any of its entries, null for a missing member, and
  an object is one of `_TESTS`. `message`, `param`, `code`, `type` and `status` are those of the refusal;
- `errors`: the body of an error, by its type, its status or `default`; `strict`: whether it refuses what OpenAI does;
- `ignores`: parameters that it does not read; `needs_effort`: whether it thinks only where an effort is asked;
- `items`, `added`, `final`: by type, an item as `output_item.done`, as `output_item.added` and as the last event or a body has it;
- `response`, `usage`, `length`: members to set in a response, its usage, and the status of one that the limit cut;
- `events`: an event by its type, or by its type and that of its item; null leaves it out; `last`: those that come late,
  right before the last one, likewise;
- `without`, `with`: the members that no event has, and those that all have; `event_line`, `done`: whether events are
  named, and `[DONE]` ends the stream.

In texts `{name}` stands for the member `name` of what is described, and in refusals for its `param`, the `index` in it,
or its `value`; a text that is nothing else takes its type.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from gpt5_simulator._errors import ApiError, LikenessError
from gpt5_simulator._json import Json, dump, encode, is_array, is_object, object_at, objects_in
from gpt5_simulator._reply import Reply
from gpt5_simulator._responses.events import encode_event, iter_events


_FOLDER = Path(__file__).with_name("_likenesses")
LIKENESSES = tuple(sorted(path.stem for path in _FOLDER.glob("*.json")))
"""The names of the servers that there are files for."""

_NAMED = re.compile(r"\{(\w+)\}")
_KINDS: dict[str, type] = {"array": list, "object": dict, "text": str}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "kind": lambda value, kind: isinstance(value, _KINDS[kind]),
    "other": lambda value, known: value is not None and value not in known,
    "longer": lambda value, bound: isinstance(value, str) and len(value) > bound,
    "below": lambda value, bound: isinstance(value, int) and value < bound,
}


@dataclass(frozen=True, slots=True)
class Likeness:
    """A server of the Responses API, as its file describes it."""

    table: Json

    @classmethod
    def read(cls, name: str) -> Self:
        """Read a server's file.

        Raises:
            LikenessError: If there is none.
        """
        if name not in LIKENESSES:
            raise LikenessError(f"like: expected one of {', '.join(LIKENESSES)}, found {name!r}")
        return cls(json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8")))

    def dress(self, error: ApiError, headers: dict[str, str] | None = None) -> Reply:
        """Return an error as the server sends it."""
        dresses, keys = self.table["errors"], (error.error_type, str(error.status), "default")
        told = {**vars(error), "status_text": str(error.status), "body": dump(error.envelope())}
        dress = next(dresses[key] for key in keys if key in dresses)
        return Reply.of_json(_fill(dress, told), status=error.status, headers=headers)

    def read_body(self, body: Json) -> Json:
        """Return a request as the server reads it; the thoughts, which it does not hide, are asked for as a summary.

        Raises:
            ApiError: If it refuses the request.
        """
        for name in body:
            if name not in self.table.get("knows", body):
                raise _refusal(self.table["unknown"], {"param": name})
        for rule in self.table.get("refuses", ()):
            for param, value in _iter_at(body, rule["at"]):
                if _fits(value, rule):
                    names = {"param": param, "index": re.sub(r"\D", "", param), "value": value}
                    raise _refusal(rule, {**(value if is_object(value) else {}), **names})
        read = {name: body[name] for name in body if name not in self.table.get("ignores", ())}
        return read | {"reasoning": object_at(read, "reasoning") | {"summary": "auto"}}

    def reply(self, response: Json, body: Json) -> Reply:
        """Return the reply with a response, as a stream or whole."""
        if self.table.get("needs_effort") and not object_at(body, "reasoning").get("effort"):
            shown = [one for one in response["output"] if one["type"] != "reasoning"]
            response = response | {"output": shown}
        response = response | {"reasoning": body.get("reasoning")}
        if not body.get("stream"):
            return Reply.of_json(self._response(response))
        frame = encode_event if self.table.get("event_line") else _encode_data
        end = (b"data: [DONE]\n\n",) if self.table.get("done") else ()
        return Reply.of_events((*map(frame, self._iter_events(response)), *end))

    def _response(self, response: Json) -> Json:
        """Return a response object as the server has it."""
        output = [self._item(item, "final", "items") for item in response["output"]]
        usage = object_at(response, "usage")
        counts = usage | object_at(usage, "input_tokens_details")
        counts |= object_at(usage, "output_tokens_details")
        told = {"usage": _fill(self.table.get("usage", usage), counts)} if usage else {}
        if response["status"] == "incomplete":
            told["status"] = self.table.get("length", "incomplete")
        return response | {"output": output} | told | self.table.get("response", {})

    def _item(self, item: Json, *moments: str) -> Json:
        """Return an item as the server has it at the first of the moments that its file describes."""
        tables = (self.table.get(moment, {}) for moment in moments)
        found = next((table[item["type"]] for table in tables if item["type"] in table), None)
        parts = objects_in(item.get("summary")) or objects_in(item.get("content"))
        said = "".join(part.get("text", "") for part in parts)
        return item if found is None else _fill(found, {**item, "text": said})

    def _iter_events(self, response: Json) -> Iterator[Json]:
        """Yield the events of a response as the server sends them."""
        late = frozenset(self.table.get("last", ()))
        items = {item["id"]: item for item in response["output"]}
        ids = (one for one, item in items.items() if item["type"] == "message")
        named = {**response, "message_id": next(ids, "msg_1")}
        *early, end = iter_events(response, obfuscate=False)
        # Sorted by nothing else, so that those that come early, and those that come late, keep their order.
        early.sort(key=lambda event: not late.isdisjoint(_kinds(event, items)))
        told = filter(None, (self._event(event, items, named) for event in (*early, end)))
        for number, event in enumerate(told):
            added = {"sequence_number": number, **_fill(self.table.get("with", {}), named)}
            whole = event | added
            yield {name: whole[name] for name in whole if name not in self.table.get("without", ())}

    def _event(self, event: Json, items: Json, named: Json) -> Json | None:
        if "response" in event:
            event = event | {"response": self._response(event["response"])}
        if "item" in event:
            moment = "added" if event["type"].endswith("added") else "items"
            event = event | {"item": self._item(event["item"], moment)}
        events = self.table.get("events", {})
        found = next((kind for kind in _kinds(event, items) if kind in events), None)
        told = named | _item_of(event, items) | event
        return event if found is None else _fill(events[found], told)


def _encode_data(event: Json) -> bytes:
    return b"data: %b\n\n" % encode(event)


def _item_of(event: Json, items: Json) -> Json:
    return items.get(str(event.get("item_id", object_at(event, "item").get("id"))), {})


def _kinds(event: Json, items: Json) -> tuple[str, str]:
    """Return the type of an event with that of its item, and alone."""
    kind: str = event["type"]
    return f"{kind} {_item_of(event, items).get('type')}", kind


def _iter_at(value: object, path: str, param: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what stands at a path, with the whole path of each."""
    step, _, rest = path.partition(".")
    name = step.removesuffix("[]")
    if not name:
        yield param, value
    elif is_object(value) and name in value:
        found, where = value[name], f"{param}.{name}".lstrip(".")
        if name == step:
            yield from _iter_at(found, rest, where)
        for index, entry in enumerate(found) if name != step and is_array(found) else ():
            yield from _iter_at(entry, rest, f"{where}[{index}]")


def _fits(value: object, rule: Json) -> bool:
    """Return whether a value is what a rule is about."""
    if "is" in rule:
        return _is(value, rule["is"])
    members: Json = rule["where"]
    return is_object(value) and all(_is(value.get(name), members[name]) for name in members)


def _is(value: object, wanted: object) -> bool:
    if is_object(wanted):
        return all(_TESTS[test](value, operand) for test, operand in wanted.items())
    return value in wanted if is_array(wanted) else value == wanted


def _refusal(rule: Json, names: Mapping[str, Any]) -> ApiError:
    told = _fill({name: rule.get(name) for name in ("message", "param", "code")}, names)
    kind = rule.get("type", "invalid_request_error")
    return ApiError(**told, status=rule.get("status", 400), error_type=kind)


def _fill(template: Any, names: Mapping[str, Any]) -> Any:
    """Return a template with its names replaced; a text that is nothing but a name becomes its value."""
    if is_object(template):
        return {key: _fill(value, names) for key, value in template.items()}
    if is_array(template):
        return [_fill(value, names) for value in template]
    if not isinstance(template, str):
        return template
    if (whole := _NAMED.fullmatch(template)) and whole[1] in names:
        return names[whole[1]]
    return _NAMED.sub(lambda found: str(names.get(found[1], found[0])), template)
