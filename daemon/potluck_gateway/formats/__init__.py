"""Reads requests and writes answers in the formats that programs speak: OpenAI's, Anthropic's and Ollama's. Pure.

Each format parses bytes to a `ChatRequest` and writes `Answer` and its parts as JSON, whole or streamed. Fields are
declared as structs and checked; a field without effect is named in a header, and one that would change the meaning of
the answer is refused. `reading` and `writing` hold what formats share. Nothing here knows a model or a server.
"""
