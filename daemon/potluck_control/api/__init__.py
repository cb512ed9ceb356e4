"""The control API: how the command line, the app and the gateway talk to the daemon.

One JSON object a line travels in each direction over a Unix socket or a pipe (`messages`). A method is a name with a
class of parameters and a class of results (`method`); `schema` has those about the daemon itself and all events, and
`potluck_control.methods` the rest. Nothing here knows what a method does: the daemon answers.

Client and daemon may be of different versions. Unknown fields are ignored and open words are read as "unknown", so
both go on with what they share; `versions` tells people about the rest.
"""
