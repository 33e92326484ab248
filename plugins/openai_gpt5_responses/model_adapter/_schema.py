"""The schema of a model that is not in the catalog."""

# A decorator of the SDK makes its entity classes `object | None` for a type checker. These rules
# complain about nothing else here.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false
# pyright: reportOptionalCall=false, reportOptionalMemberAccess=false

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter

from dify_plugin.entities.model.schema import (
    AIModelEntity,
    FetchFrom,
    ModelFeature,
    ModelPropertyKey,
    ParameterRule,
)
from dify_plugin.entities.parameters import I18nObject

from gpt5_payloads import ModelProfile, profile_for
from parameter_choices import find_options, is_offered

from ._model_call import base_model


def customizable_schema(
    model: str, predefined: Sequence[AIModelEntity], credentials: Mapping[str, object]
) -> AIModelEntity:
    """Return the form of a model: that of its family, or the fullest one if the family is unknown, adjusted to the model's profile.

    It has every parameter of any form that the profile offers.

    Args:
        model: Any name, including a dated snapshot, a fine-tuned model or a gateway's own name.
        predefined: The catalog's models, in any order.
        credentials: The model's credentials, which may name the model behind the name.
    """
    profile = profile_for(base_model(model, credentials))
    known = {entity.model: entity for entity in predefined}
    # Forms differ only in the values set below, the texts about models that end, and the parameters
    # that a model lacks.
    lasting = [one for one in predefined if profile_for(one.model).shutdown_date is None]
    _, fullest = max((len(entity.parameter_rules), entity.model) for entity in lasting)
    template = known.get(profile.family) or known[fullest]
    # An older model may have a parameter that the template lacks.
    by_name = attrgetter("model")
    forms = (template, *sorted(lasting, key=by_name), *sorted(predefined, key=by_name))
    rules: dict[str, ParameterRule] = {}
    for rule in chain.from_iterable(form.parameter_rules for form in forms):
        rules.setdefault(rule.name, rule)
    return template.model_copy(
        update={
            "model": model,
            "label": I18nObject(en_US=model),
            "fetch_from": FetchFrom.CUSTOMIZABLE_MODEL,
            "features": _features(template, profile),
            "model_properties": {
                **template.model_properties,
                ModelPropertyKey.CONTEXT_SIZE: profile.context_size,
            },
            "parameter_rules": [
                _rule(rule, profile) for rule in rules.values() if is_offered(rule.name, profile)
            ],
            # The fullest form stands in for an unknown family, but its prices would be wrong.
            "pricing": template.pricing if template.model == profile.family else None,
            "deprecated": False,
        },
        deep=True,
    )


def _features(template: AIModelEntity, profile: ModelProfile) -> list[ModelFeature]:
    offered = {
        ModelFeature.STREAM_TOOL_CALL: profile.streaming,
        ModelFeature.VISION: profile.images,
        ModelFeature.DOCUMENT: profile.files,
    }
    features = [name for name in template.features or () if name not in offered]
    return features + [name for name, is_there in offered.items() if is_there]


def _rule(rule: ParameterRule, profile: ModelProfile) -> ParameterRule:
    if rule.name == "max_output_tokens":
        return rule.model_copy(update={"max": profile.max_output_tokens})
    options = find_options(rule.name, profile)
    if options is None:
        return rule
    is_default_there = rule.default is None or rule.default in options
    default = rule.default if is_default_there else options[0]
    return rule.model_copy(update={"options": list(options), "default": default})
