import itertools

from dify_plugin import Tool


class Blob(Tool):
    def _invoke(self, tool_parameters):
        pattern = itertools.cycle(range(256))
        content = bytes(itertools.islice(pattern, int(tool_parameters["size"])))
        meta = {"mime_type": "application/octet-stream", "filename": "pattern.bin"}
        yield self.create_blob_message(content, meta=meta)
