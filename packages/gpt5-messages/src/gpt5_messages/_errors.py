"""The error for what a caller hands in.

What the *server* gets wrong is never raised here: a stream that breaks its own protocol ends in a `ResponseFailure` event,
so that everything that arrived before it is kept.
"""

from stream_text import MessageError


__all__ = ["MessageError"]
