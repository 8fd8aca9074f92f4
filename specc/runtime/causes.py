"""Tells the rank that failed by itself from the ranks that failed because another one was gone."""

import re

# What the collective libraries and the stores say when the other side has gone or never came.
# Source: torch 2.7.1 to 2.13.0, texts of ranks whose peer was killed or had raised.
_LOST_PEER = re.compile(
    r"connection (closed|reset) by peer"
    r"|connection refused"
    r"|broken pipe"
    r"|socket (closed|timeout)"
    r"|failed to recv"
    r"|recvvalue failed|sendbytes failed"
    r"|application timeout caused pair closure"
    r"|timed out waiting \d+ ?ms"
    r"|wait timeout after \d+ ?ms"
    r"|connectfullmesh failed"
    r"|remote process exited or there was a network error"
    r"|watchdog caught collective operation timeout",
    re.IGNORECASE,
)


def is_consequence(error: str) -> bool:
    """Whether the text of an error says that a peer was lost, so that the cause lies elsewhere."""
    return _LOST_PEER.search(error) is not None
