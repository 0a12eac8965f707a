"""Settings with their origins, models.yaml, and calibrated thresholds."""
