"""TARGET to prepared callable in a child process: inputs, shapes, synchronisation."""
