# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Says something, and then fails: what it said is kept, and stderr says why it failed."""

import json
import sys


fields = json.load(sys.stdin)
print("Half of the work is done")
sys.exit(f"cannot answer {fields.get('prompt')!r}: this example always fails")
