import itertools

from dify_plugin import Tool


BEGINNINGS = {"image/png": b"\x89PNG\r\n\x1a\n"}


class Blob(Tool):
    def _invoke(self, tool_parameters):
        mime_type = tool_parameters.get("mime_type") or "application/octet-stream"
        pattern = itertools.chain(BEGINNINGS.get(mime_type, b""), itertools.cycle(range(256)))
        content = bytes(itertools.islice(pattern, int(tool_parameters["size"])))
        meta = {"mime_type": mime_type, "filename": "pattern.bin"}
        yield self.create_blob_message(content, meta=meta)
