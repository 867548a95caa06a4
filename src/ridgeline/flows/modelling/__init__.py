"""What the flows of models share: tables of measured latencies, the devices they are of, and model files. Each module is imported by its own name."""
