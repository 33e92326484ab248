#!/bin/sh
# An LLM node of Dify with `reasoning_format: separated` parts thoughts from the answer: models write them between `<think>` and
# `</think>` at its beginning. One would expect that an answer about these tags, in a code block or in quotes, stays as it is. graphon
# takes every pair wherever it stands, so that the example in the answer becomes reasoning and an opening tag without a closing one
# takes the rest of the answer along. A thought that quotes `</think>` ends there, and what it goes on with is shown as
# the answer. Runs of blank lines shrink to one in the node's output, in code blocks too, but not in what was streamed, so what a user
# saw and what the next node gets differ. A model plugin has to break such tags in what it passes on.
# Seen on 2026-11-28 with graphon 0.8.0.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
uv venv --quiet --python 3.12 "$dir/venv"
uv pip install --quiet --python "$dir/venv/bin/python" graphon==0.8.0
"$dir/venv/bin/python" - > "$dir/seen" <<'END'
from graphon.nodes.llm.reasoning import ThinkStreamFilter, split_reasoning

TEXTS = {
    "code block": "Write:\n```xml\n<think>why</think>\n```\nThat is all.",
    "open tag in quotes": "The tag `<think>` opens a thought. Close it yourself.",
    "thought about a tag": "<think>I could write </think> here. Better not.</think>Done.",
    "blank lines in code": "```python\nimport os\n\n\nprint(os.name)\n```",
}
for name, text in TEXTS.items():
    output, reasoning = split_reasoning(text, "separated")
    stream = ThinkStreamFilter()
    pieces = [*stream.feed(text), *stream.finalize()]
    streamed = "".join(piece.chunk for piece in pieces if piece.kind == "text")
    print(f"{name}: {text!r}")
    print(f"  output {output!r}")
    print(f"  reasoning {reasoning!r}")
    print(f"  streamed {'the same' if streamed == output else repr(streamed)}")
END
cat "$dir/seen"
diff - "$dir/seen" <<'END' || { echo "It is no longer as described." >&2; exit 1; }
code block: 'Write:\n```xml\n<think>why</think>\n```\nThat is all.'
  output 'Write:\n```xml\n\n```\nThat is all.'
  reasoning 'why'
  streamed the same
open tag in quotes: 'The tag `<think>` opens a thought. Close it yourself.'
  output 'The tag `'
  reasoning '` opens a thought. Close it yourself.'
  streamed the same
thought about a tag: '<think>I could write </think> here. Better not.</think>Done.'
  output 'here. Better not.</think>Done.'
  reasoning 'I could write'
  streamed the same
blank lines in code: '```python\nimport os\n\n\nprint(os.name)\n```'
  output '```python\nimport os\n\nprint(os.name)\n```'
  reasoning ''
  streamed '```python\nimport os\n\n\nprint(os.name)\n```'
END
