"""The notes below an answer: its sources, its files, and the failures of the server's tools."""

import re
from collections.abc import Iterable, Iterator

from gpt5_messages._json import text_or_none, type_of
from gpt5_messages._kinds import types_run_by

from .hosted import ApprovalRequest, GeneratedImage, HostedCall
from .marked_text import render_addendum, render_sources
from .values import Completion, Item


_MOST_CHARACTERS = 300  # of what a server or a model wrote
_MOST_NAMES = 20
# Calls that wait for the caller to run them.
_CALLERS = types_run_by("caller")
_UNFIT_IN_CODE = re.compile(r"[`\s]+")
_BYTES_PER_CHARACTER = 3 / 4  # of base64
_MEGABYTE = 1_000_000


def render_appendix(completion: Completion, omitted_images: Iterable[GeneratedImage] = ()) -> str:
    """Return the notes for a reader below an answer, which the model does not see again; empty if there are none.

    They are addenda: links to sources that the text does not link, the names of files that code has made, calls of MCP
    servers that wait for approval, calls that nobody answers, tools that have failed, and images that were left out.

    Args:
        completion: The answer.
        omitted_images: Its images that are damaged, or too large to be shown.
    """
    sentences = [
        *_file_sentences(completion),
        *map(_approval_sentence, completion.approval_requests),
        *_open_sentences(completion.items),
        *_failure_sentences(completion.hosted_calls),
        *map(_image_sentence, omitted_images),
    ]
    return render_sources(completion.unlinked_sources) + "".join(map(render_addendum, sentences))


def _file_sentences(completion: Completion) -> Iterator[str]:
    """Yield a sentence for the files of each container."""
    names: dict[str, list[str]] = {}
    for file in completion.made_files:
        names.setdefault(file.container_id, []).append(_code(file.filename))
    for container, files in names.items():
        listed = ", ".join(files[:_MOST_NAMES]) + (", and more" if len(files) > _MOST_NAMES else "")
        yield f"Files of the code interpreter: {listed}. They are in container {_code(container)} at the server, which is gone 20 minutes after its last use."


def _approval_sentence(request: ApprovalRequest) -> str:
    tool = _code(f"{request.server_label}.{request.name}")
    given = f" with {_code(request.arguments)}" if request.arguments else ""
    return (
        f"The model asks for approval to call {tool}{given}. Nobody can approve it here, so nothing was called. "
        'For a server whose calls need no approval, set "require_approval": "never".'
    )


def _open_sentences(items: Iterable[Item]) -> Iterator[str]:
    """Yield a sentence for each kind of call that waits for the caller to make it."""
    held = list(items)
    answered = {item.get("call_id") for item in held if type_of(item).endswith("_call_output")}
    kinds = (type_of(item) for item in held if text_or_none(item.get("call_id")) not in answered)
    for kind in dict.fromkeys(kind for kind in kinds if kind in _CALLERS):
        yield f"The model called the tool {_code(kind.removesuffix('_call'))}, which nobody here can answer."


def _failure_sentences(calls: Iterable[HostedCall]) -> Iterator[str]:
    """Yield a sentence for each way in which a tool has failed, unless the tool succeeded after that."""
    failures: dict[tuple[str, str], None] = {}
    for call in calls:
        name = call.name or call.type
        if call.status == "failed":
            failures[name, " ".join(call.error.split()).rstrip(".:")] = None
        elif call.status == "completed":
            failures = {failure: None for failure in failures if failure[0] != name}
    for name, error in failures:
        why = f": {_short(error)}" if error else ""
        yield f"The tool {_code(name)} failed{why}."


def _image_sentence(image: GeneratedImage) -> str:
    megabytes = len(image.data) * _BYTES_PER_CHARACTER / _MEGABYTE
    facts = " ".join(filter(None, (image.size, image.format)))
    return f"An image ({facts}, {megabytes:.1f} MB) was left out, because it is damaged or too large to be shown here. Ask for a smaller one."


def _code(text: str) -> str:
    return f"`{_short(_UNFIT_IN_CODE.sub(' ', text).strip())}`"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "..."
