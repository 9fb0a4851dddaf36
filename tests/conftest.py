import os

from hypothesis import HealthCheck, settings

# One thread for linear algebra, before NumPy is loaded: several workers share the cores, the
# matrices are small, and rounding, on which a search depends, depends on how many there are.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# The same examples on every run; `make test-all`, and so CI, tries more. Explore others with
# HYPOTHESIS_PROFILE=explore.
_SAME = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
settings.register_profile("fixed", max_examples=20, **_SAME)
settings.register_profile("thorough", max_examples=60, **_SAME)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.register_profile("fuzz", deadline=None, max_examples=10_000)  # `make fuzz`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
