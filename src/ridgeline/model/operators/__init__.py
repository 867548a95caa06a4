"""What one operator takes on one device, by formulas from what the device can do and by what was learned about it.

Nothing is re-exported: import the module that does it, such as `operators.estimates`.
"""
