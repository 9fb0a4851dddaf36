"""Ways to calibrate Bayesian optimisation, beside one another: see README.md."""
