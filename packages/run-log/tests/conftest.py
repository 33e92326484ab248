from hypothesis import HealthCheck, settings


# A busy machine must not fail a law that holds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
