"""Dify's kinds of files."""

from collections.abc import Mapping
from types import MappingProxyType


FILE_FEATURES: Mapping[str, str] = MappingProxyType(
    {"image": "vision", "document": "document", "audio": "audio", "video": "video"}
)
"""What Dify calls a model's ability to read each kind of file.

Source: `ModelFeature` and `PromptMessageContentType` of dify-plugin 0.10.2.
"""
