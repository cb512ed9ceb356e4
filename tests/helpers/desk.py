"""Settings of a daemon beside which somebody sits in a test: it keeps serving although keys are pressed."""

AT_FULL_SPEED = "[when]\nactive_percent = 100\n"
SETTINGS = {
    "POTLUCK_SERVE_LISTEN": "/ip4/127.0.0.1/tcp/0",
    "POTLUCK_SERVE_THREADS": "1",
    "POTLUCK_YIELD_FULL_SCREEN": "off",
    "POTLUCK_YIELD_QUIET_CERTAIN_S": "0.5",
}
