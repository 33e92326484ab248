"""Classifying lines of stdout and stderr as typed outputs."""

from typing import Any, cast

from stream_text import InvalidJsonError, parse_json

from .outputs import AudioOutput, ErrorOutput, ImageOutput, JsonOutput, ResourceOutput, TextOutput


METADATA_FIELDS = ("_llm_usage", "_profile_data", "_trace_data")

type _StdoutOutput = JsonOutput | TextOutput | ImageOutput | AudioOutput | ResourceOutput


def classify_line(line: bytes | str) -> _StdoutOutput:
    r"""Return the typed output of a line of stdout; every line has one.

    JSON with the `type` `image_output`, `audio_output` or `resource_output` becomes that output; any other JSON is a `JsonOutput`, even a
    number or null; everything else is a `TextOutput`. `{"type": "error"}` is plain JSON: errors come only from stderr.

    Args:
        line: The line with or without its end (`\n` or `\r\n`). A leading byte order mark is dropped.

    Source: docs/contracts/agent-runner.md, E8 to E13.
    """
    text, invalid = _decode_line(line)
    del line  # It may be large.
    try:
        value = parse_json(text)
    except InvalidJsonError:
        return TextOutput(text=text, invalid_utf8=invalid)
    if not isinstance(value, dict):
        return JsonOutput(value=value, invalid_utf8=invalid)
    fields = cast("dict[str, Any]", value)
    # Only the type decides, so that a media output with a missing field is still one.
    for kind in (ImageOutput, AudioOutput, ResourceOutput):
        if fields.get("type") == kind.type:
            return kind(value=fields, invalid_utf8=invalid)
    return JsonOutput(
        value={name: inner for name, inner in fields.items() if name not in METADATA_FIELDS},
        metadata={name: fields[name] for name in METADATA_FIELDS if name in fields},
        invalid_utf8=invalid,
    )


def classify_error(line: bytes) -> ErrorOutput:
    """Return a line of a script's stderr as an error."""
    text, invalid = _decode_line(line)
    return ErrorOutput(message=text, invalid_utf8=invalid)


def _decode_line(line: bytes | str) -> tuple[str, bool]:
    """Return a line as text without its end and byte order mark, and whether bytes had to be replaced."""
    if isinstance(line, str):
        text, invalid = line, False
    else:
        text, invalid = _decode(line)
    return text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r"), invalid


def _decode(line: bytes) -> tuple[str, bool]:
    try:
        return line.decode(), False
    except UnicodeDecodeError:
        return line.decode(errors="replace"), True
