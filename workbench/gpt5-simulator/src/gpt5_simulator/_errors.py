"""The errors of this package, by whose fault they are.

SimulatorError
├── StartError        the machine: the port is taken, or the server did not start
├── RecordingError    the caller: a path to replay is missing or holds no recording (a ValueError too)
├── UpstreamError     the caller: the address of a server to record from cannot be used (a ValueError too)
├── FaultError        the caller: the text of a fault cannot be read (a ValueError too)
├── LikenessError     the caller: there is no server with that name to be like (a ValueError too)
└── ApiError          the client: the error that the server sends instead of a response
"""

from gpt5_simulator._json import Json


class SimulatorError(Exception):
    """The root of all errors of this package."""


class StartError(SimulatorError):
    """A server that could not start.

    Attributes:
        port: The port that was asked for; 0 means any free one.
    """

    def __init__(self, message: str, *, port: int) -> None:
        super().__init__(message)
        self.port = port


class RecordingError(SimulatorError, ValueError):
    """A path to replay that holds no recording.

    Attributes:
        path: The path, as the caller wrote it.
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class UpstreamError(SimulatorError, ValueError):
    """A server's address that cannot be used for recording. The message does not repeat it, because it may contain a key."""


class FaultError(SimulatorError, ValueError):
    """A text that names no fault, or a setting that the fault does not have.

    Attributes:
        text: The text, as the caller wrote it.
    """

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text


class LikenessError(SimulatorError, ValueError):
    """A name of no server that the simulator can be like."""


class ApiError(SimulatorError):
    """An answer with an HTTP error status and OpenAI's error envelope.

    A model object may raise it, too.

    Attributes:
        status: The HTTP status, 400 to 599.
        code: OpenAI's error code, or None.
        param: The request field that is at fault, as a path such as `input[2].summary`, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        error_type: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.error_type = error_type
        self.param = param
        self.code = code

    def envelope(self) -> Json:
        """Return the body that goes with the status.

        Source: recorded 400 and 404 bodies of the Responses API.
        """
        error = {"message": self.message, "type": self.error_type}
        return {"error": error | {"param": self.param, "code": self.code}}
