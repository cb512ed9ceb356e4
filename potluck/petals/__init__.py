"""The adapter for peers that run Petals, which an open swarm admits.

It owns Petals' protocol ids, protobuf messages, msgpack dialect and DHT records, and turns them into ours and back;
recorded messages of stock peers in the tests keep it honest. Everything that a stock peer sends is checked for size and
form before anything is built from it, and nobody trusts their unsigned records. It knows the engine only as
`EngineCalls`. `potluck.foreign` loads the package for open swarms; a private swarm never does.
"""
