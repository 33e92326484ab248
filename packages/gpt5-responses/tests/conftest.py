import os
from pathlib import Path

from hypothesis import HealthCheck, settings


# The tests' servers speak plain HTTP. Each has an address of its own, so that each gets a client of its own, and to read the machine's
# certificates costs a client more than everything else.
os.environ["SSL_CERT_DIR"] = str(Path(__file__).parent)

# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
