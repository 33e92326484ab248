"""The errors of this package, and whose fault each is.

ToolingError
├── DeclarationError (ValueError)        a tool or a parameter is declared in a way that cannot be read
├── ArgumentError (ValueError)           a value does not fit the parameter that it is meant for
├── ToolError                            raised by a tool: its text is for the model
├── BlobError                            the sender of a tool result broke the rules for blob chunks
│   ├── BlobChunkError (TypeError)       a chunk lacks a field, or is out of order
│   ├── BlobTooLargeError (ValueError)   a chunk or a whole file is over its limit
│   └── UnfinishedBlobError (ValueError) the stream ended before a file did
└── LocalFileError (ValueError)          a path that a tool named cannot be handed out
    ├── LocalFileOutsideRootError        it leads out of the one folder that may be read
    ├── LocalFileNotFoundError           nothing is there
    ├── LocalFileUnreadableError         something is there, but it cannot be read or is no regular file
    └── LocalFileTooLargeError           the file is over the limit

A model's mistakes are not errors here: `parse_tool_arguments`, `bind_arguments` and `Tool.bind` return them as values,
since an agent run continues after them.
"""


class ToolingError(Exception):
    """The root of every error that this package raises."""


class DeclarationError(ToolingError, ValueError):
    """A declaration that cannot be read.

    Attributes:
        field: Name of the field at fault.
    """

    def __init__(
        self, field: str, expected: str, value: object = None, *, found: str | None = None
    ) -> None:
        super().__init__(f"{field} must be {expected}, got {found or type(value).__name__}")
        self.field = field


class ArgumentError(ToolingError, ValueError):
    """A value that does not fit its parameter.

    Attributes:
        parameter: Name of the parameter.
    """

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ToolError(ToolingError):
    """A failure whose text the model reads. The texts of all other exceptions are kept from it, since they may hold secrets."""


class BlobError(ToolingError):
    """A stream of blob chunks that breaks the rules."""


class BlobChunkError(BlobError, TypeError):
    """A blob chunk that lacks a field or is out of order."""


class BlobTooLargeError(BlobError, ValueError):
    """A chunk or a file over its limit.

    Attributes:
        blob_id: The sender's id of the file.
        limit_bytes: The limit that was passed.
    """

    def __init__(self, blob_id: str, limit_bytes: int, message: str) -> None:
        super().__init__(message)
        self.blob_id = blob_id
        self.limit_bytes = limit_bytes


class UnfinishedBlobError(BlobError, ValueError):
    """Files whose last chunk never came.

    Attributes:
        blob_ids: The senders' ids, in order of arrival.
    """

    def __init__(self, blob_ids: tuple[str, ...]) -> None:
        super().__init__(f"the stream ended before these blobs did: {', '.join(blob_ids)}")
        self.blob_ids = blob_ids


class LocalFileError(ToolingError, ValueError):
    """A local file that cannot be handed out.

    Attributes:
        path: The requested path.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class LocalFileOutsideRootError(LocalFileError):
    """A path that leads out of the readable folder."""


class LocalFileNotFoundError(LocalFileError):
    """A path with nothing there."""


class LocalFileUnreadableError(LocalFileError):
    """A path to something that cannot be read."""


class LocalFileTooLargeError(LocalFileError):
    """A local file over the limit.

    Attributes:
        limit_bytes: The limit that was passed.
    """

    def __init__(self, path: str, limit_bytes: int) -> None:
        super().__init__(path, "local file is too large")
        self.limit_bytes = limit_bytes
