from dify_plugin import Tool


class Pointers(Tool):
    def _invoke(self, tool_parameters):
        page = tool_parameters["page"]
        yield self.create_link_message(page)
        yield self.create_image_message(f"{page}/image.png")
