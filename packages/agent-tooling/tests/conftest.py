import gc
import time

import pytest
from hypothesis import HealthCheck, settings


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def cpu():
    """Measure what an act costs: the least of five times, for what else goes on only adds."""

    def measure(act):
        costs = []
        gc.disable()
        for _ in range(5):
            start = time.process_time()
            act()
            costs.append(time.process_time() - start)
        gc.enable()
        return min(costs)

    return measure
