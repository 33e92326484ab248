"""The schema of a model, as plugins give it at run time.

Source: `pkg/entities/plugin_entities/model_declaration.go` of langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, override

from ._fields import field, struct
from ._parameter_templates import PARAMETER_TEMPLATES
from ._types import (
    ANY,
    DECIMAL,
    FLAG,
    OBJECT,
    REAL,
    TEXT,
    WHOLE,
    Decoding,
    Field,
    ListOf,
    Optional,
    ShapeError,
    Struct,
    decode_into,
    text,
)


def _named(name: str, *fields: Field | Struct) -> Struct:
    return struct(f"plugin_entities.{name}", *fields)


LABEL = _named(
    "I18nObject",
    field("EnUS", TEXT, "required,gt=0,lt=1024", json="en_US"),
    field("JaJp", TEXT, "lt=1024", json="ja_JP", omits=True),
    field("ZhHans", TEXT, "lt=1024", json="zh_Hans", omits=True),
    field("PtBr", TEXT, "lt=1024", json="pt_BR", omits=True),
)
_TEXTS = ListOf(of=TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Completed(Struct):
    """A struct that decodes itself and fills in what did not come.

    Attributes:
        complete: Fills it in.
        finish: Fills in what is missing where it is written.
    """

    complete: Callable[[dict[str, Any]], None]
    finish: Callable[[dict[str, Any]], None] = lambda _: None

    @override
    def decode(self, node: Any, at: Decoding, place: Any, key: Any) -> None:
        # In Go the fields are those of an embedded alias, in a struct without a name.
        alias = tuple(
            Field(go=each.go, json=each.json, type=each.type, within=("alias",))
            for each in self.fields
        )
        inner = Struct(go="struct { *plugin_entities.alias }", name="", fields=alias)
        if node is not None:
            place[key] = decode_into(inner, node)
        self.complete(place[key])

    @override
    def encode(self, value: Any) -> Any:
        written = Struct.encode(self, value)
        self.finish(written)
        return written


def _complete_rule(rule: dict[str, Any]) -> None:
    if rule["label"] is None or not rule["label"]["en_US"]:
        rule["label"] = {**LABEL.zero(), "en_US": rule["name"]}
    if name := rule["use_template"]:
        if name not in PARAMETER_TEMPLATES:
            raise ShapeError(f"use_template {name} not found")
        for key, value in PARAMETER_TEMPLATES[name].items():
            if rule[key] is None:
                rule[key] = {**LABEL.zero(), **value} if key == "help" else value
    if rule["options"] is None:
        rule["options"] = []


def _complete_schema(schema: dict[str, Any]) -> None:
    schema["fetch_from"] = schema["fetch_from"] or "predefined-model"
    if schema["parameter_rules"] is None:
        schema["parameter_rules"] = []


def _finish_schema(written: dict[str, Any]) -> None:
    written["label"]["en_US"] = written["label"]["en_US"] or written["model"]


_RULE_FIELDS = (
    field("Name", TEXT, "required,lt=256"),
    field("UseTemplate", Optional(of=TEXT), "omitempty,lt=256"),
    field("Label", Optional(of=LABEL), "omitempty"),
    field(
        "Type",
        Optional(of=text("plugin_entities.ModelParameterType")),
        "omitempty,model_parameter_type",
    ),
    field("Help", Optional(of=LABEL), "omitempty"),
    field("Required", FLAG),
    field("Default", ANY, "omitempty,is_basic_type"),
    field("Min", Optional(of=REAL), "omitempty"),
    field("Max", Optional(of=REAL), "omitempty"),
    field("Precision", Optional(of=WHOLE), "omitempty"),
    field("Options", _TEXTS, "omitempty,dive,lt=256"),
)
_RULE = _Completed(
    go="plugin_entities.ModelParameterRule",
    name="ModelParameterRule",
    fields=_RULE_FIELDS,
    complete=_complete_rule,
)
_PRICING = _named(
    "ModelPriceConfig",
    field("Input", DECIMAL, "required"),
    field("Output", Optional(of=DECIMAL), "omitempty"),
    field("Unit", DECIMAL, "required"),
    field("Currency", TEXT, "required"),
)
_SCHEMA_FIELDS = (
    field("Model", TEXT, "required,lt=256"),
    field("Label", LABEL, "required"),
    field("ModelType", text("plugin_entities.ModelType"), "required,model_type"),
    field("Features", _TEXTS, "omitempty,lte=256,dive,lt=256"),
    field(
        "FetchFrom",
        text("plugin_entities.ModelProviderConfigurateMethod"),
        "omitempty,model_provider_configurate_method",
    ),
    field("ModelProperties", OBJECT, "omitempty"),
    field("Deprecated", FLAG),
    field("ParameterRules", ListOf(of=_RULE), "omitempty,lte=128,dive,parameter_rule"),
    field("PriceConfig", Optional(of=_PRICING), "omitempty", json="pricing"),
)
MODEL_SCHEMA = _Completed(
    go="plugin_entities.ModelDeclaration",
    name="ModelDeclaration",
    fields=_SCHEMA_FIELDS,
    complete=_complete_schema,
    finish=_finish_schema,
)
