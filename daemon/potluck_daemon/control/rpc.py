"""JSON-RPC 2.0: parses the body of a request into a typed call, and encodes results and errors. No I/O, no HTTP.

A request holds one call. Batches are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control import schema
from potluck_control.all_methods import METHODS

from potluck.protocol.codec import CodecError, builtins, decode, encode


class RpcError(Exception):
    """The error that answers a call."""

    def __init__(self, number: int, message: str, *, hint: str | None = None, call_id: object = None) -> None:
        super().__init__(message)
        self.number = number
        self.message = message
        self.hint = hint
        self.call_id = call_id


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A checked call. `params` is an instance of the method's parameter class."""

    method: str
    params: object
    call_id: str | int | None
    wants_answer: bool


def parse_call(body: bytes) -> RpcCall:
    """Parse and check a call. Raises RpcError with the number that the specification asks for."""
    try:
        message = decode(object, body)
    except CodecError as error:
        raise RpcError(schema.PARSE_ERROR, str(error)) from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(schema.INVALID_REQUEST, 'expected one JSON-RPC 2.0 object with "jsonrpc": "2.0"')
    call_id = message.get("id")
    if call_id is not None and type(call_id) not in (str, int):
        raise RpcError(schema.INVALID_REQUEST, "the id must be a string or a whole number")
    name = message.get("method")
    if not isinstance(name, str):
        raise RpcError(schema.INVALID_REQUEST, "the method must be a string", call_id=call_id)
    method = METHODS.get(name)
    if method is None:
        raise RpcError(schema.METHOD_NOT_FOUND, f"no method {name[:60]!r}", call_id=call_id)
    try:
        params = decode(method.params, encode(message.get("params", {})))
    except CodecError as error:
        raise RpcError(schema.INVALID_PARAMS, str(error), call_id=call_id) from None
    return RpcCall(name, params, call_id, wants_answer="id" in message)


def result_body(call: RpcCall, result: object) -> bytes:
    return encode({"jsonrpc": "2.0", "id": call.call_id, "result": builtins(result)})


def error_body(error: RpcError) -> bytes:
    detail: dict[str, object] = {"code": error.number, "message": error.message}
    if error.hint is not None:
        detail["data"] = {"hint": error.hint}
    return encode({"jsonrpc": "2.0", "id": error.call_id, "error": detail})
