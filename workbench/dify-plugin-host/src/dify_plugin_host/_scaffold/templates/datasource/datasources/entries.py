"""The data source `entries`: each entry of a feed is a page."""

from collections.abc import Generator, Mapping
from typing import Any

from dify_plugin.entities.datasource import (
    DatasourceGetPagesResponse,
    DatasourceMessage,
    GetOnlineDocumentPageContentRequest,
    OnlineDocumentInfo,
    OnlineDocumentPage,
)
from dify_plugin.interfaces.datasource.online_document import OnlineDocumentDatasource

from json_feed import read_feed


class Entries(OnlineDocumentDatasource):
    """The entries of a feed."""

    def _get_pages(self, datasource_parameters: Mapping[str, Any]) -> DatasourceGetPagesResponse:
        """Return the list that people choose pages from."""
        feed = read_feed(self._feed_url)
        pages = [
            OnlineDocumentPage(
                page_id=entry.id,
                page_name=entry.title or entry.id,
                page_icon=None,
                type="page",
                last_edited_time=entry.date_modified or entry.date_published,
                parent_id=None,
            )
            for entry in feed.items
        ]
        return DatasourceGetPagesResponse(
            result=[
                OnlineDocumentInfo(
                    workspace_id=self._feed_url,
                    workspace_name=feed.title,
                    workspace_icon="",
                    total=len(pages),
                    pages=pages,
                )
            ]
        )

    def _get_content(
        self, page: GetOnlineDocumentPageContentRequest
    ) -> Generator[DatasourceMessage]:
        """Yield the content of a page, as the variables that entries.yaml declares.

        Raises:
            ValueError: If the feed no longer has that entry.
        """
        entries = {entry.id: entry for entry in read_feed(self._feed_url).items}
        entry = entries.get(page.page_id)
        if entry is None:
            raise ValueError(f"the feed {self._feed_url} has no entry {page.page_id!r} any more")
        yield self.create_variable_message("workspace_id", page.workspace_id)
        yield self.create_variable_message("page_id", page.page_id)
        yield self.create_variable_message("content", entry.content_text or entry.content_html)

    @property
    def _feed_url(self) -> str:
        return str(self.runtime.credentials["feed_url"])
