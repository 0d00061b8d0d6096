"""One JSON-RPC message that stands alone → its answer; what HTTP needs, where no connection is kept.

The SDK has a transport for this. Its leg for the versions with a handshake starts tasks and streams for each message,
at three times the cost, and leaves some malformed ones without an answer. Both legs end in `serve_one`, as this does.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp.shared.transport_context import TransportContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from catalog_search.server.envelopes import repaired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.lowlevel import Server

DEFAULT_VERSION = "2025-03-26"
"""The version of a request that names none, as the protocol has it."""

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)

logger = logging.getLogger(__name__)


class Reply(NamedTuple):
    """What is sent back."""

    status: int
    """The HTTP status."""
    body: dict[str, Any] | list[dict[str, Any]] | None
    """None when nothing is owed: the message was a notification, or itself an answer."""


class _Alone:
    """The context of a message whose sender can be answered once and not be asked."""

    transport = _TRANSPORT
    can_send_request = False
    message_metadata = None

    def __init__(self, request_id: types.RequestId) -> None:
        self.request_id: types.RequestId | None = request_id
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, params: object, opts: object = None) -> NoReturn:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: object, opts: object = None) -> None:
        """Drop it: the answer is one JSON object."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it, likewise."""


async def exchange(
    server: Server[Any], message: Any, headers: Sequence[tuple[bytes, bytes]], *, strict: bool = False
) -> Reply:
    """Answer one message.

    Args:
        server: what answers.
        message: what the body held: a JSON value of any kind.
        headers: of the HTTP request, names in lower case.
        strict: refuse a message of nearly the right form instead of repairing it.
    """
    if isinstance(message, list):
        return await _batch(server, message, headers, strict)
    if not strict:
        message = repaired(message)
    named = _header(headers, MCP_PROTOCOL_VERSION_HEADER)
    modern = named is not None and named not in HANDSHAKE_PROTOCOL_VERSIONS
    if not isinstance(message, dict):
        return refusal(types.INVALID_REQUEST, "The body is not a JSON-RPC 2.0 message, which is an object.")
    if "method" not in message and ("result" in message or "error" in message):
        return Reply(202, None)
    if "id" not in message and isinstance(message.get("method"), str):
        return Reply(202, None)
    id = message.get("id")
    if not isinstance(id, str | int) or isinstance(id, bool):
        return refusal(types.INVALID_REQUEST, "The id of a request is a text or a whole number.")
    try:
        request = types.JSONRPCRequest.model_validate(message, by_name=False)
    except ValidationError:
        return refusal(types.INVALID_REQUEST, "This is not a JSON-RPC 2.0 request.", id)
    if modern:
        verdict = _modern(message, headers)
        if isinstance(verdict, InboundLadderRejection):
            return refusal(verdict.code, verdict.message, id, verdict.data)
        connection = verdict
    else:
        connection = Connection.from_envelope(named or DEFAULT_VERSION, None, None)
    try:
        result = await serve_one(
            server, _Alone(request.id), request.method, request.params, connection=connection, lifespan_state={}
        )
    except Exception as problem:
        error = _error(problem)
        status = ERROR_CODE_HTTP_STATUS.get(error.code, 200) if modern else 200
        return refusal(error.code, error.message, id, error.data, status=status)
    return Reply(200, {"jsonrpc": "2.0", "id": id, "result": result})


def refusal(
    code: int, text: str, id: types.RequestId | None = None, data: Any = None, *, status: int | None = None
) -> Reply:
    """Return an answer that is a JSON-RPC error."""
    error = {"code": code, "message": text} | ({} if data is None else {"data": data})
    return Reply(
        ERROR_CODE_HTTP_STATUS.get(code, 400) if status is None else status,
        {"jsonrpc": "2.0", "id": id, "error": error},
    )


async def _batch(
    server: Server[Any], messages: list[Any], headers: Sequence[tuple[bytes, bytes]], strict: bool
) -> Reply:
    """Answer several messages at once, as 2025-03-26 had it."""
    if not messages:
        return refusal(types.INVALID_REQUEST, "The list of messages is empty.")
    if len(messages) > LONGEST_BATCH:
        return refusal(types.INVALID_REQUEST, f"A list holds at most {LONGEST_BATCH} messages.")
    replies = [
        await exchange(server, one, headers, strict=strict)
        if not isinstance(one, list)
        else refusal(types.INVALID_REQUEST, "A list of messages holds no lists.")
        for one in messages
    ]
    answers = [reply.body for reply in replies if isinstance(reply.body, dict)]
    return Reply(200, answers) if answers else Reply(202, None)


LONGEST_BATCH = 20


def _modern(message: dict[str, Any], headers: Sequence[tuple[bytes, bytes]]) -> Connection | InboundLadderRejection:
    texts = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    if (twice := find_duplicated_routing_header(texts)) is not None:
        return InboundLadderRejection(code=types.HEADER_MISMATCH, message=f"{twice} header appears more than once")
    verdict = classify_inbound_request(message, headers=dict(texts))
    if isinstance(verdict, InboundLadderRejection):
        return verdict
    return Connection.from_envelope(verdict.protocol_version, verdict.client_info, verdict.client_capabilities)


def _error(problem: Exception) -> types.ErrorData:
    if isinstance(problem, MCPError):
        return problem.error
    if isinstance(problem, ValidationError):
        return types.ErrorData(code=types.INVALID_PARAMS, message="Invalid request parameters")
    # What went wrong inside is for the log, not for the client.
    logger.error("a request failed", exc_info=problem)
    return types.ErrorData(code=types.INTERNAL_ERROR, message="The server failed at this request. Its log says why.")


def _header(headers: Sequence[tuple[bytes, bytes]], name: str) -> str | None:
    wanted = name.encode()
    return next((value.decode("latin-1") for key, value in headers if key == wanted), None)
