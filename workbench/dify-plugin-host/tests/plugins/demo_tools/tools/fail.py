import os

from dify_plugin import Tool
from dify_plugin.errors.tool import ToolProviderCredentialValidationError


class Fail(Tool):
    def _invoke(self, tool_parameters):
        match tool_parameters["way"]:
            case "credentials":
                raise ToolProviderCredentialValidationError("the token has expired")
            case "halfway":
                yield self.create_text_message("so far")
                raise RuntimeError("out of ink")
            case "exit":
                os._exit(3)
            case way:
                raise ValueError(f"cannot do {way!r}")
