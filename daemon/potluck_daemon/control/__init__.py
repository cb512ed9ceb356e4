"""The daemon's local API: schema, server and client."""
