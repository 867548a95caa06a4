"""Level 2's stages: `stage` marks them in a program and is all that a program loads; recorder, devices and table are loaded where one records."""
