"""The arithmetic of performance as pure functions: roofline, Amdahl, sampling error, fusion traffic."""
