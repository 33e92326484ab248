from dify_plugin import Tool
from dify_plugin.entities.tool import ToolInvokeMessage


class Record(Tool):
    def _invoke(self, tool_parameters):
        city = tool_parameters["city"]
        if tool_parameters.get("with_log", True):
            start = ToolInvokeMessage.LogMessage.LogStatus.START
            log = self.create_log_message("looking it up", {"city": city}, status=start)
            yield log
            yield self.finish_log_message(log, data={"found": True})
        yield self.create_variable_message("city", city)
        yield self.create_stream_variable_message("note", f"{city} & more")
        yield self.create_json_message({"city": city, "temperature": 21.0, "rain": None})
