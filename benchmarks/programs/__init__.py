"""Programs that use the gateway

OpenAI's official client or plain connections ask a gateway of this machine.
"""
