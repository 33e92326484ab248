import os
from pathlib import Path

from hypothesis import settings


# The tests' servers speak plain HTTP. Each has an address of its own, so that each gets a client of its own, and to read the machine's
# certificates costs a client more than everything else.
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# How long one example takes says more about the machine than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
