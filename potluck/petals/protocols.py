"""Protocol ids of Petals' calls, `<class>.<method>`."""

from __future__ import annotations

from typing import Final

INFO: Final = "TransformerConnectionHandler.rpc_info"  # unary
FORWARD: Final = "TransformerConnectionHandler.rpc_forward"  # unary
FORWARD_STREAM: Final = "TransformerConnectionHandler.rpc_forward_stream"
BACKWARD: Final = "TransformerConnectionHandler.rpc_backward"  # unary
BACKWARD_STREAM: Final = "TransformerConnectionHandler.rpc_backward_stream"
INFERENCE: Final = "TransformerConnectionHandler.rpc_inference"  # stream
PUSH: Final = "TransformerConnectionHandler.rpc_push"  # unary
CHECK: Final = "ReachabilityProtocol.rpc_check"  # unary
