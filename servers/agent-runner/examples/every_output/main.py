# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Prints one output of every type; needs no model and no key."""

import json
import sys


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

fields = json.load(sys.stdin)
print(f"Got {', '.join(sorted(fields))}")
print(json.dumps({"result": "success", "data": [1, 2, 3], "_profile_data": {"steps": 1}}))
print(json.dumps({"type": "image_output", "data": PIXEL, "mimeType": "image/png"}))
print(json.dumps({"type": "audio_output", "data": SILENCE, "mimeType": "audio/wav"}))
resource = {"uri": "data:text/csv,a,b", "text": "A table", "mimeType": "text/csv"}
print(json.dumps({"type": "resource_output"} | resource))
print("This is a warning, and the run succeeds all the same", file=sys.stderr)
