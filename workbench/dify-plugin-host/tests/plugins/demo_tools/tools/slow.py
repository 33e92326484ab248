import time
from pathlib import Path

from dify_plugin import Tool


class Slow(Tool):
    def _invoke(self, tool_parameters):
        yield self.create_text_message("began")
        if gate := tool_parameters.get("until"):
            while not Path(gate).exists():
                time.sleep(0.01)
            Path(gate).write_text("passed")
        else:
            time.sleep(float(tool_parameters.get("seconds") or 0))
        yield self.create_text_message("ended")
