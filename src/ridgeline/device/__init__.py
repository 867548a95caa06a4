"""The catalogue of devices, as data files with source and date."""
