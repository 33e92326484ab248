"""Dify's paths for the environments of agents: bindings of agents to workspaces, their files, and snapshots of homes.

This server offers no environment. Dify asks for a binding before the first run all the same, and for a snapshot where an agent is published, so
both get references that mean nothing. What would have to be read from an environment is answered as by Dify's own server without one.

Source: docs/contracts/dify-agent.md, C76; langgenius/dify, its `protocol/execution_binding.py`, `binding_file.py` and `home_snapshot.py`.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, NoReturn, Self

from pydantic import Field, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent_server.http import read_model
from dify_agent.protocol import ProtocolModel

from .answers import Answer
from .problems import CodedError, Handler, like_fastapi


type _Id = Annotated[str, Field(min_length=1)]


class _NewBinding(ProtocolModel):
    tenant_id: _Id
    agent_id: _Id
    binding_id: _Id
    workspace_id: _Id
    existing_workspace_ref: str | None = None
    home_snapshot_ref: _Id | None = None


class _OldBinding(ProtocolModel):
    binding_ref: _Id
    destroy_workspace: bool
    workspace_ref: _Id | None = None

    @model_validator(mode="after")
    def _validate_workspace(self) -> Self:
        if self.destroy_workspace and self.workspace_ref is None:
            raise ValueError("workspace_ref is required when destroy_workspace is true")
        return self


class _NewHome(ProtocolModel):
    tenant_id: _Id
    agent_id: _Id
    home_snapshot_id: _Id
    backend_binding_ref: _Id


class _OldHome(ProtocolModel):
    snapshot_ref: _Id


def build_binding_routes() -> Sequence[Route]:
    """Return the routes for environments."""
    no_files = _refuse("runtime_backend_unavailable", "Binding file service is not configured")
    no_sandbox = _refuse("sandbox_backend_unavailable", "Sandbox backend is not configured")
    handlers: dict[str, Handler] = {
        "/execution-bindings": _create_binding,
        "/execution-bindings/destroy": _destroy_binding,
        "/home-snapshots/from-binding": _create_home,
        "/home-snapshots/delete": _delete_home,
        **{f"/execution-bindings/files/{each}": no_files for each in ("list", "read", "download")},
        # Of Dify 1.16.
        **{f"/sandbox/files/{each}": no_sandbox for each in ("list", "read", "upload")},
    }
    return [
        Route(path, like_fastapi(handler), methods=["POST"]) for path, handler in handlers.items()
    ]


async def _create_binding(request: Request) -> Response:
    asked = await read_model(request, _NewBinding)
    # The same for each call of a workspace, and without a meaning for this server.
    workspace = asked.existing_workspace_ref or f"workspace:{asked.workspace_id}"
    made = {"binding_ref": f"binding:{asked.binding_id}", "workspace_ref": workspace}
    return Answer(made, status_code=HTTPStatus.CREATED)


async def _destroy_binding(request: Request) -> Response:
    await read_model(request, _OldBinding)
    return Response(status_code=HTTPStatus.NO_CONTENT)


async def _create_home(request: Request) -> Response:
    asked = await read_model(request, _NewHome)
    made = {"snapshot_ref": f"home:{asked.home_snapshot_id}"}
    return Answer(made, status_code=HTTPStatus.CREATED)


async def _delete_home(request: Request) -> Response:
    await read_model(request, _OldHome)
    return Response(status_code=HTTPStatus.NO_CONTENT)


def _refuse(code: str, message: str) -> Handler:
    async def refuse(_request: Request) -> NoReturn:
        raise CodedError(HTTPStatus.SERVICE_UNAVAILABLE, code, message)

    return refuse
