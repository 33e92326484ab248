import itertools

from dify_plugin import Tool


class Blob(Tool):
    def _invoke(self, tool_parameters):
        pattern = itertools.cycle(range(256))
        content = bytes(itertools.islice(pattern, int(tool_parameters["size"])))
        mime_type = tool_parameters.get("mime_type") or "application/octet-stream"
        meta = {"mime_type": mime_type, "filename": "pattern.bin"}
        yield self.create_blob_message(content, meta=meta)
