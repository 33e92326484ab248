import gc
import time

import pytest


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
