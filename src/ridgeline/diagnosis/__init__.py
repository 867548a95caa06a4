"""Facts to Need or Diagnosis: pure rules that never measure."""
