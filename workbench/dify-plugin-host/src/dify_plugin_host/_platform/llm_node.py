"""The user's message that Dify's LLM node makes of a text and files.

Source: `nodes/llm/llm_utils.py` of langgenius/graphon at 3d14fc9, read 2026-11.
"""

from collections.abc import Sequence

from dify_plugin_host._errors import FileInputError
from dify_plugin_host._files.local_file import LocalFile
from dify_plugin_packager.json_access import JsonObject


_FEATURES = {"image": "vision", "document": "document", "audio": "audio", "video": "video"}


def validate_features(model: str, features: Sequence[str], files: Sequence[LocalFile]) -> None:
    """Check that a model gets all files: one that it has no feature for, Dify drops without a word.

    Raises:
        FileInputError: If it does not.
    """
    for file in files:
        feature = _FEATURES.get(file.type)
        if feature is None:
            problem = (
                f"of a file of type {file.type} Dify tells models only that it does not support it"
            )
            raise FileInputError(file.name, problem)
        if feature not in features:
            problem = f"model {model!r} has no feature {feature!r}, so that Dify would drop a file of type {file.type}"
            raise FileInputError(file.name, problem)


def build_user_message(
    text: str, files: Sequence[LocalFile], urls: Sequence[str | None]
) -> JsonObject:
    """Build the message: the files, then the text; a text alone is not a list.

    Args:
        text: The text.
        files: The files.
        urls: The link of each file; None for one that goes with its bytes.
    """
    if not files:
        return {"role": "user", "content": text}
    parts = [file.to_part(url) for file, url in zip(files, urls, strict=True)]
    return {"role": "user", "content": [*parts, {"type": "text", "data": text}]}
