"""Rules for declarations that Dify's API or its web editor cannot use, although the daemon accepts and the plugin SDK loads them.

Each rule holds for the releases of Dify from one on and before another; most hold for all that are known. Tried on the official plugins: they
work, so a rule that finds one broken is wrong.

Source: docs/evidence/dify-declarations.md, R2 to R9, G1, S1 to S32, T1 to T5, T9, T13 to T15, M1, M2, M4, M5, M22, M24,
M26, M27, M31 and N2; docs/evidence/responses-api.md, R14.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dify_plugin_packager._errors import DifyPluginError
from dify_plugin_packager.declarations import PLUGIN_TAGS, initialize_parameter
from dify_plugin_packager.json_access import JsonObject, is_object, list_at, object_at, objects_at
from dify_plugin_packager.rules._dify_releases import DifyRelease
from dify_plugin_packager.rules._finding import Finding


@dataclass(frozen=True, slots=True)
class _Flaw:
    """A field that Dify cannot use well.

    Attributes:
        field: The field.
        expected: What was expected, and for advice why.
        effect: What breaks in Dify otherwise; empty for advice.
        since: The first version of Dify in which it does.
        until: The first one in which it no longer does.
    """

    field: str
    expected: str
    effect: str = ""
    since: tuple[int, ...] = ()
    until: tuple[int, ...] | None = None


_MODELS = frozenset({"llm", "text-embedding", "rerank", "tts", "speech2text", "moderation"})
_SCOPES = _MODELS | {"all", "chat", "workflow", "completion", "vision", "custom", "builtin"}
_CREDENTIAL_TYPES = frozenset(
    {"secret-input", "text-input", "select", "boolean", "app-selector", "model-selector"}
    | {"array[tools]"}
)
_EVENT_TYPES = frozenset(
    {"string", "number", "boolean", "select", "dynamic-select", "checkbox", "file", "files"}
    | {"app-selector", "model-selector", "array", "object"}
)
# Dify knows a manifest's tags `agent` and `trigger`, but not a provider's.
_TAGS = tuple(tag for tag in PLUGIN_TAGS.split() if tag not in {"agent", "trigger"})
# Semantic versions, which Dify's web page compares; the daemon takes shorter ones as well.
_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
# Dify's own fields in a model's form, on which other fields may depend.
_SHOWN_WITHOUT_FIELD = frozenset({"__model_type", "__model_name"})


# A name that a model's API takes for a function.
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# A node's own outputs, of which Dify takes no variables.
_OUTPUTS = frozenset({"text", "json", "files"})

_NOT_UPLOADED = "it cannot be uploaded"

# The versions of Dify that first took such declarations.
_POLLS = (1, 15, 0)
_TAKES_LISTS = (1, 11, 3)
_COUNTS_FROM_0 = (1, 13, 2)
_READS_MULTIPLE = (1, 16, 1)
_TAKES_DATES = (1, 17, 0)


def check_use(
    declared: tuple[str, str], path: str, content: JsonObject, releases: Sequence[DifyRelease]
) -> Iterator[Finding]:
    """Check that releases of Dify can use the declarations of a file.

    Args:
        declared: Its kind and role, such as `("tools", "item")`.
        path: The file.
        content: Its content.
        releases: The releases, the oldest first.
    """
    flaws = (flaw for check in _CHECKS.get(declared, ()) for flaw in check(content))
    yield from _judge(path, flaws, releases)


def check_tags(
    kind: str,
    path: str,
    provider: JsonObject,
    manifest: JsonObject,
    releases: Sequence[DifyRelease],
) -> Iterator[Finding]:
    """Check the tags of a provider; a tool provider that has none takes those of the manifest.

    Args:
        kind: The key under `plugins` in the manifest that leads to it.
        path: Its file.
        provider: Its content.
        manifest: The content of manifest.yaml.
        releases: The releases, the oldest first.
    """
    if kind not in {"agent_strategies", "datasources", "tools"}:
        return
    file, field, tags = path, "identity.tags", list_at(object_at(provider, "identity"), "tags")
    taken = ""
    if kind == "tools" and not tags:
        file, field, tags = "manifest.yaml", "tags", list_at(manifest, "tags")
        taken = f", as {path} has none and takes these"
    expected = f"one of {', '.join(_TAGS)}{taken}"
    flaws = (
        _Flaw(f"{field}.{index}", f"{expected}, got {tag!r:.80}", _NOT_UPLOADED)
        for index, tag in enumerate(tags)
        if tag not in _TAGS
    )
    yield from _judge(file, flaws, releases)


def _judge(path: str, flaws: Iterable[_Flaw], releases: Sequence[DifyRelease]) -> Iterator[Finding]:
    """Yield what holds for one of the releases."""
    for flaw in flaws:
        found = [
            release
            for release in releases
            if flaw.since <= release.version
            and (flaw.until is None or release.version < flaw.until)
        ]
        if found:
            kind = "broken" if flaw.effect else "advice"
            yield Finding(kind, f"{path}: {flaw.field!r}: {_sentence(flaw, found)}")


def _sentence(flaw: _Flaw, releases: Sequence[DifyRelease]) -> str:
    text = f"expected {flaw.expected}"
    if not flaw.effect:
        return text
    if flaw.until:
        version = ".".join(map(str, flaw.until))
        text += f", or at least {version} in 'meta.minimum_dify_version' of manifest.yaml"
    first, last = releases[0], releases[-1]
    named = str(first) if first is last else f"{first} to {last}"
    return f"{text}; would break in Dify {named}: {flaw.effect}"


def _check_manifest(manifest: JsonObject) -> Iterator[_Flaw]:
    for key in ("version", "minimum_dify_version"):
        version = object_at(manifest, "meta").get(key)
        if version and not _VERSION.fullmatch(str(version)):
            yield _Flaw(f"meta.{key}", f"x.y.z, got {version!r}", "its web page fails")


def _check_strategy(strategy: JsonObject) -> Iterator[_Flaw]:
    for index, parameter in enumerate(objects_at(strategy, "parameters")):
        field = f"parameters.{index}"
        yield from _check_strategy_parameter(field, parameter)
        yield from _check_selector(field, parameter)
        if problem := _unset_problem(parameter):
            expected = "a type and a default with which it can be left empty"
            yield _Flaw(field, expected, f"runs that leave it empty fail with {problem!r}")
    for name, schema in object_at(strategy, "output_schema", "properties").items():
        if not is_object(schema) or not isinstance(schema.get("type", ""), str):
            where = f"output_schema.properties.{name}.type"
            yield _Flaw(where, "one type", "the editor crashes at the node")
        if name == "usage":
            text = "another name: a variable of this one replaces the usage that Dify has counted"
            yield _Flaw(f"output_schema.properties.{name}", text)


def _check_strategy_parameter(field: str, one: JsonObject) -> Iterator[_Flaw]:
    kind, is_required, has_default = one.get("type"), one.get("required"), bool(one.get("default"))
    fields, low, high = f"{field}.type", one.get("min"), one.get("max")
    match kind:
        case "select":
            effect = "the workflow editor crashes, as options of strategies have no show_on"
            yield _Flaw(fields, "boolean or string", effect)
        case "array" | "object":
            effect = "the workspace's whole list of strategies fails"
            yield _Flaw(fields, f"a type that Dify knows, got {kind!r}", effect)
        case "file" | "files" if is_required:
            effect = "nothing is drawn to fill it in"
            yield _Flaw(fields, "any with the scope array[file]", effect)
        case "file" | "files":
            text = "any with the scope array[file]; for this type Dify draws nothing"
            yield _Flaw(fields, text)
        case "boolean" if is_required and not has_default:
            yield _Flaw(f"{field}.required", "false", "false cannot be chosen")
        case "number" if None not in (low, high) and not has_default:
            text = "a default or not both min and max: Dify shows 1 and sends nothing"
            since = () if low and high else _COUNTS_FROM_0
            yield _Flaw(f"{field}.default", text, since=since)
        case "array[tools]" if one.get("name") != "tools":
            text = "tools: Dify sends the credentials of no others"
            yield _Flaw(f"{field}.name", text)
        case _:
            pass
    if one.get("name") == "tools" and kind != "array[tools]":
        yield _Flaw(fields, "array[tools] for a parameter named tools", "every run fails")


def _check_selector(field: str, one: JsonObject) -> Iterator[_Flaw]:
    if one.get("type") != "model-selector":
        return
    scope = str(one.get("scope") or "")
    if not {"all", *_MODELS} & set(scope.split("&")):
        effect = "no model can be chosen" if scope else "the workflow editor crashes"
        yield _Flaw(f"{field}.scope", f"a kind of model such as llm, got {scope!r}", effect)


def _unset_problem(parameter: JsonObject) -> str | None:
    """Return why a run fails when a parameter is left empty; None if it does not fail, or if the parameter is required."""
    if parameter.get("required") and parameter.get("default") is None:
        return None
    try:
        initialize_parameter(parameter, None)
    except DifyPluginError as error:
        return str(error)
    return None


def _check_tool(tool: JsonObject) -> Iterator[_Flaw]:
    name = str(object_at(tool, "identity").get("name") or "")
    if not _TOOL_NAME.fullmatch(name):
        text = f"1 to 128 letters, digits, underscores or hyphens, or models are not sent the tool, got {name!r:.80}"
        yield _Flaw("identity.name", text)
    for index, parameter in enumerate(objects_at(tool, "parameters")):
        field, kind = f"parameters.{index}", parameter.get("type")
        yield from _check_selector(field, parameter)
        effect = "the workspace's whole list of tools fails"
        if kind in {"date", "date-range"}:
            text = f"a type that Dify knows, got {kind!r}"
            yield _Flaw(f"{field}.type", text, effect, until=_TAKES_DATES)
        for where, text in _multiple_problems(parameter):
            yield _Flaw(f"{field}.{where}", text, effect, since=_READS_MULTIPLE)
        if parameter.get("form") == "form" and (problem := _unset_problem(parameter)):
            text = f"a type and a default with which it can be left empty: in agents' apps of Dify calls fail with {problem!r}"
            yield _Flaw(field, text)


def _multiple_problems(parameter: JsonObject) -> Iterator[tuple[str, str]]:
    is_choice = parameter.get("type") in {"select", "dynamic-select"}
    default, is_multiple = parameter.get("default"), bool(parameter.get("multiple"))
    if is_multiple and not is_choice:
        yield "multiple", "false for all types but select and dynamic-select"
    elif is_choice and default is not None and isinstance(default, list) != is_multiple:
        yield "default", "a list exactly where multiple is true"


def _check_defaults(content: JsonObject) -> Iterator[_Flaw]:
    for index, parameter in enumerate(objects_at(content, "parameters")):
        if isinstance(parameter.get("default"), list | dict):
            effect = "the workspace's whole list of such plugins fails"
            yield _Flaw(f"parameters.{index}.default", "no list", effect, until=_TAKES_LISTS)


def _check_outputs(content: JsonObject) -> Iterator[_Flaw]:
    for name in sorted(_OUTPUTS & object_at(content, "output_schema", "properties").keys()):
        text = "another name: the node has this output anyway, and a run that sends a variable of the name fails"
        yield _Flaw(f"output_schema.properties.{name}", text)


def _check_trigger_provider(provider: JsonObject) -> Iterator[_Flaw]:
    yield from _check_credentials("subscription_schema", provider.get("subscription_schema"))
    constructor, where = object_at(provider, "subscription_constructor"), "subscription_constructor"
    for index, parameter in enumerate(objects_at(constructor, "parameters")):
        field, kind = f"{where}.parameters.{index}", parameter.get("type")
        if str(kind) not in _EVENT_TYPES:
            yield _Flaw(f"{field}.type", f"a type that Dify knows, got {kind!r:.80}", _NOT_UPLOADED)
        if is_object(parameter.get("default")):
            yield _Flaw(f"{field}.default", "no object", _NOT_UPLOADED)
    # The daemon takes null for an empty one here; of tools and data sources, for none.
    empty: JsonObject = {"oauth_schema": {}} if constructor.get("oauth_schema", 0) is None else {}
    yield from _check_accounts({**constructor, **empty}, f"{where}.")


def _check_accounts(holder: JsonObject, place: str = "") -> Iterator[_Flaw]:
    """Check the forms of what somebody logs in with, at which the daemon hardly looks."""
    yield from _check_credentials(f"{place}credentials_schema", holder.get("credentials_schema"))
    if not is_object(holder.get("oauth_schema")):
        return
    for key in ("client_schema", "credentials_schema"):
        where, fields = f"{place}oauth_schema.{key}", holder["oauth_schema"].get(key)
        if fields is None:
            yield _Flaw(where, "a list, which may be empty", _NOT_UPLOADED)
        yield from _check_credentials(where, fields)


def _check_credentials(where: str, fields: Any) -> Iterator[_Flaw]:
    """Check the types of a form's fields, which are a list or have their names as keys."""
    named = fields.items() if is_object(fields) else enumerate(list_at({"": fields}, ""))
    for name, field in named:
        if is_object(field) and str(field.get("type")) not in _CREDENTIAL_TYPES:
            known = ", ".join(sorted(_CREDENTIAL_TYPES))
            text = f"one of {known}, got {field.get('type')!r:.80}"
            yield _Flaw(f"{where}.{name}.type", text, _NOT_UPLOADED)


def _check_tool_provider(provider: JsonObject) -> Iterator[_Flaw]:
    yield from _check_credentials(
        "credentials_for_provider", provider.get("credentials_for_provider")
    )
    for name, credential in object_at(provider, "credentials_for_provider").items():
        scope = credential.get("scope") if is_object(credential) else None
        if scope is not None and scope not in _SCOPES:
            where = f"credentials_for_provider.{name}.scope"
            yield _Flaw(where, f"one of {', '.join(sorted(_SCOPES))}", _NOT_UPLOADED)


def _check_model_provider(provider: JsonObject) -> Iterator[_Flaw]:
    if "text2img" in list_at(provider, "supported_model_types"):
        yield _Flaw("supported_model_types", "no text2img", _NOT_UPLOADED)
    if not provider.get("icon_small"):
        yield _Flaw("icon_small", "an icon, which Dify's lists show")
    if "customizable-model" in list_at(provider, "configurate_methods") and not provider.get(
        "model_credential_schema"
    ):
        where = "model_credential_schema"
        yield _Flaw(where, "one for customizable-model", "its form is empty")
    for key in ("provider_credential_schema", "model_credential_schema"):
        fields = objects_at(object_at(provider, key), "credential_form_schemas")
        known = {field.get("variable") for field in fields} | _SHOWN_WITHOUT_FIELD
        for index, field in enumerate(fields):
            where = f"{key}.credential_form_schemas.{index}"
            yield from _check_credential(where, field, known)


def _check_credential(where: str, field: JsonObject, known: set[Any]) -> Iterator[_Flaw]:
    if field.get("type") == "switch":
        effect = "nothing is drawn to choose it by"
        if field.get("required", True):
            yield _Flaw(f"{where}.type", "select or radio", effect)
        else:
            yield _Flaw(f"{where}.type", f"select or radio: in Dify {effect}")
    default, options = field.get("default"), objects_at(field, "options")
    if options and default and default not in [option.get("value") for option in options]:
        yield _Flaw(f"{where}.default", f"one of the options, got {default!r}")
    for condition in objects_at(field, "show_on"):
        if condition.get("variable") not in known:
            text = f"a field of this form, got {condition.get('variable')!r}"
            yield _Flaw(f"{where}.show_on", text)


def _check_model(model: JsonObject) -> Iterator[_Flaw]:
    properties = object_at(model, "model_properties")
    if model.get("model_type") == "text2img":
        yield _Flaw("model_type", "another type than text2img", _NOT_UPLOADED)
    if not isinstance(properties.get("context_size", 0), int):
        where = "model_properties.context_size"
        yield _Flaw(where, "a whole number", "the model's calls fail in apps")
    if model.get("model_type") == "llm" and properties.get("mode") not in ("chat", "completion"):
        text = "chat or completion, which Dify's apps take it for otherwise"
        yield _Flaw("model_properties.mode", text)
    if "polling" in list_at(model, "features"):
        effect = "it cannot be uploaded, and once installed it hides all models of the workspace"
        yield _Flaw("features", "no polling", effect, until=_POLLS)


_CHECKS: Mapping[tuple[str, str], tuple[Callable[[JsonObject], Iterator[_Flaw]], ...]] = {
    ("manifest", ""): (_check_manifest,),
    ("agent_strategies", "item"): (_check_strategy, _check_defaults, _check_outputs),
    ("datasources", "item"): (_check_defaults,),
    ("datasources", "provider"): (_check_accounts,),
    ("tools", "item"): (_check_tool, _check_defaults, _check_outputs),
    ("tools", "provider"): (_check_tool_provider, _check_accounts),
    ("triggers", "provider"): (_check_trigger_provider,),
    ("models", "provider"): (_check_model_provider,),
    ("models", "model"): (_check_model,),
}
