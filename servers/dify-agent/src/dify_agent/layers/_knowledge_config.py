"""The configuration of knowledge: what is searched how, in the words of Dify's inner API.

Source: dify-agent 1.16.0, its `layers/knowledge/configs.py`; langgenius/dify at a70fcd315a3b, `api/services/entities/knowledge_retrieval_inner.py`.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from dify_agent.compositor import LayerConfig, StrictModel


type _Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

_SINGLE_ONLY = {"model"}
_MULTIPLE_ONLY = {"top_k", "reranking_model", "weights"}


class KnowledgeModel(StrictModel):
    """The choice of a model with which Dify picks a dataset or writes a filter.

    Attributes:
        provider: The model's provider.
        name: The model.
        mode: Its kind, such as `chat`.
        completion_params: Its parameters.
    """

    provider: str
    name: str
    mode: str
    completion_params: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])


class KnowledgeRerankingModel(StrictModel):
    """The choice of a model that sorts what was found.

    Attributes:
        provider: The model's provider.
        model: The model.
    """

    provider: str
    model: str


class KnowledgeDataset(StrictModel):
    """A dataset of a set.

    Attributes:
        id: The dataset.
        name: Its name, which is not read.
        description: Its description, which is not read.
    """

    id: _Name
    name: str | None = None
    description: str | None = None


class KnowledgeQuery(StrictModel):
    """The one who asks: the model during the run, or the app before it begins.

    Attributes:
        mode: `generated_query` if the model asks.
        value: The app's question.
    """

    mode: Literal["user_query", "generated_query"]
    value: str | None = None

    @model_validator(mode="after")
    def _validate_value(self) -> Self:
        if self.mode == "user_query" and not (self.value or "").strip():
            raise ValueError("expected a value where the mode is user_query")
        return self


class KnowledgeRetrieval(StrictModel):
    """The way in which Dify searches.

    Attributes:
        mode: `multiple` for all datasets at once, `single` for the one that a model picks.
        top_k: The most results of `multiple`.
        score_threshold: The least score of a result.
        reranking_mode: How results are sorted.
        reranking_enable: Whether they are.
        reranking_model: The model that sorts them.
        weights: The weights by which they are sorted without a model.
        model: The model that picks the dataset of `single`.
    """

    mode: Literal["multiple", "single"]
    top_k: int | None = Field(default=None, ge=1)
    score_threshold: float = 0.0
    reranking_mode: str = "reranking_model"
    reranking_enable: bool = True
    reranking_model: KnowledgeRerankingModel | None = None
    weights: dict[str, JsonValue] | None = None
    model: KnowledgeModel | None = None

    @model_validator(mode="after")
    def _validate_mode(self) -> Self:
        if self.mode == "multiple" and self.top_k is None:
            raise ValueError("expected top_k where the mode is multiple")
        if self.mode == "single" and self.model is None:
            raise ValueError("expected a model where the mode is single")
        return self


class KnowledgeCondition(StrictModel):
    """A condition on a document's metadata.

    Attributes:
        name: The field.
        comparison_operator: How it is compared.
        value: What it is compared with.
    """

    name: str
    comparison_operator: Literal[
        "contains",
        "not contains",
        "start with",
        "end with",
        "is",
        "is not",
        "empty",
        "not empty",
        "in",
        "not in",
        "=",
        "≠",
        ">",
        "<",
        "≥",
        "≤",
        "before",
        "after",
    ]
    value: str | list[str] | int | float | None = None


class KnowledgeConditions(StrictModel):
    """Conditions that hold together.

    Attributes:
        logical_operator: Whether all have to hold, or one.
        conditions: The conditions.
    """

    logical_operator: Literal["and", "or"] = "and"
    conditions: list[KnowledgeCondition]


class KnowledgeFiltering(StrictModel):
    """The choice of documents by their metadata.

    Attributes:
        mode: `automatic` if a model writes the conditions.
        metadata_model_config: That model, called `model_config` in JSON.
        conditions: The conditions of `manual`.
    """

    model_config = ConfigDict(populate_by_name=True)

    mode: Literal["disabled", "automatic", "manual"] = "disabled"
    metadata_model_config: KnowledgeModel | None = Field(default=None, alias="model_config")
    conditions: KnowledgeConditions | None = None

    @model_validator(mode="after")
    def _validate_mode(self) -> Self:
        if self.mode == "automatic" and self.metadata_model_config is None:
            raise ValueError("expected a model_config where the mode is automatic")
        if self.mode == "manual" and not (self.conditions and self.conditions.conditions):
            raise ValueError("expected conditions where the mode is manual")
        return self


class KnowledgeSet(StrictModel):
    """Datasets that are searched together.

    Attributes:
        id: The set.
        name: Its name, by which the model chooses it.
        description: Its description for the model.
        datasets: Its datasets; at least one.
        query: Who asks.
        retrieval: How is searched.
        metadata_filtering: Among which documents.
    """

    id: _Name
    name: _Name
    description: str | None = None
    datasets: list[KnowledgeDataset] = Field(min_length=1)
    query: KnowledgeQuery
    retrieval: KnowledgeRetrieval
    metadata_filtering: KnowledgeFiltering = Field(default_factory=KnowledgeFiltering)

    @model_validator(mode="after")
    def _validate_datasets(self) -> Self:
        _require_unique("datasets", (each.id for each in self.datasets))
        return self

    def build_search(self, query: str) -> dict[str, Any]:
        """Build a search of the set, in the words of Dify's inner API."""
        others = _MULTIPLE_ONLY if self.retrieval.mode == "single" else _SINGLE_ONLY
        filtering = self.metadata_filtering
        chosen = {"mode"} if filtering.mode == "disabled" else None
        return {
            "dataset_ids": [dataset.id for dataset in self.datasets],
            "query": query,
            "retrieval": self.retrieval.model_dump(mode="json", exclude=others),
            "metadata_filtering": filtering.model_dump(
                mode="json", by_alias=True, exclude_none=True, include=chosen
            ),
            "attachment_ids": [],
        }


class DifyKnowledgeLayerConfig(LayerConfig):
    """The knowledge of a run.

    Attributes:
        sets: What can be searched; at least one set.
        max_result_content_chars: The most characters of a result's content.
        max_observation_chars: The most characters of all results of a search, at least as many.
    """

    sets: list[KnowledgeSet] = Field(min_length=1)
    max_result_content_chars: int = Field(default=2_000, ge=1)
    max_observation_chars: int = Field(default=12_000, ge=1)

    @model_validator(mode="after")
    def _validate_sets(self) -> Self:
        _require_unique("set ids", (each.id for each in self.sets))
        _require_unique("set names", (each.name.lower() for each in self.sets))
        if self.max_observation_chars < self.max_result_content_chars:
            raise ValueError(
                "expected max_observation_chars to be at least max_result_content_chars"
            )
        return self


def _require_unique(what: str, values: Iterable[str]) -> None:
    repeated = sorted(value for value, count in Counter(values).items() if count > 1)
    if repeated:
        raise ValueError(f"expected {what} to be unique, got {', '.join(repeated)} twice")
