"""The states that a layer goes through.

new --enter--> active --exit(suspend)--> suspended --enter--> active
                      --exit(delete)---> closed
"""

from typing import Literal


type LifecycleState = Literal["new", "active", "suspended", "closed"]
"""Where a layer stands. Only a new or a suspended layer can be entered; a closed one stays closed."""

type ExitIntent = Literal["suspend", "delete"]
"""What leaving a layer means: keep its state for a later run, or end it for good."""
