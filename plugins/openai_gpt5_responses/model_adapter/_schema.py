"""The schema of a model that is not in the catalog."""

# A decorator of the SDK makes its entity classes `object | None` for a type checker; these rules only complain of that here.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false
# pyright: reportOptionalCall=false, reportOptionalMemberAccess=false

from collections.abc import Sequence

from dify_plugin.entities.model.schema import AIModelEntity, FetchFrom, ModelPropertyKey
from dify_plugin.entities.parameters import I18nObject

from gpt5_payloads import profile_for


def customizable_schema(model: str, predefined: Sequence[AIModelEntity]) -> AIModelEntity:
    """Give a model the parameters and features of its family's model, or else of the catalog's first one.

    Args:
        model: Any name, also a dated snapshot, a fine-tuned model or a gateway's own name.
        predefined: The catalog's models, in its order.
    """
    profile = profile_for(model)
    like = next((known for known in predefined if known.model == profile.family), predefined[0])
    properties = {**like.model_properties, ModelPropertyKey.CONTEXT_SIZE: profile.context_size}
    return like.model_copy(
        update={
            "model": model,
            "label": I18nObject(en_US=model),
            "fetch_from": FetchFrom.CUSTOMIZABLE_MODEL,
            "model_properties": properties,
            "pricing": like.pricing if like.model == profile.family else None,
        },
        deep=True,
    )
