"""Makes answers with a swarm's model: requests to prompts, tokens to text, thinking and calls of tools.

`answer_queue` runs requests in threads, `models` loads a swarm's model when somebody first asks for it, and
`swarm_chat` answers. `prompts` renders the model's own chat template in bounded child processes (`templates`).
`follower` reads the tokens as they come: `reader` splits them into thinking, text and calls by the `syntax` of the
model's family, and `grammar` keeps them to a JSON schema. `conversations` keeps sessions for the next turn, one key's
apart from another's. No format of a web API is known here.
"""
