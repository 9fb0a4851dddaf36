import os

from hypothesis import HealthCheck, settings

# One thread for linear algebra, before NumPy is loaded: several workers share the cores, the
# matrices are small, and rounding, on which a search depends, depends on how many there are.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# The same examples on every run of CI; explore others with HYPOTHESIS_PROFILE=explore.
settings.register_profile(
    "fixed", deadline=None, derandomize=True, max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
