"""Texts become features without any download: TF-IDF of words and of pieces of words, then an SVD."""

from typing import Any

import numpy as np

from smallloss.errors import InputError

FEATURES = 256
_VOCABULARY = 20_000  # of words and pairs of words, and as many pieces
_COUNTED = 20_000_000  # characters; beyond them a vocabulary would fill the memory, and terms are hashed
_SEED = 0


def text_features(texts: list[str], where: str, new: list[str] | None = None) -> tuple[np.ndarray, str]:
    """float32 [n, at most 256], the same on every call, and the sentence that says how they were made.

    The terms and their weights are those of `texts`; the rows of `new` texts, of a test part, follow theirs.
    """
    from scipy.sparse import hstack
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    hashed = sum(map(len, texts)) > _COUNTED
    try:
        parts = [_weigh(texts, new, hashed, **how) for how in _views(len(texts))]
    except ValueError as error:  # scikit-learn's word for texts that hold no term at all
        raise InputError(f"The texts of {where} contain no words: {error}") from error
    terms, new_terms = (hstack(part).tocsr() for part in zip(*parts, strict=True))
    size = min(FEATURES, len(texts) - 1, terms.shape[1] - 1)
    if size < 1:
        only = np.concatenate([terms.toarray(), new_terms.toarray()])
        return only.astype(np.float32), "Texts are described by the only term they contain."
    with threadpool_limits(1):  # the number of threads would change the last digits
        svd = TruncatedSVD(size, n_iter=3, random_state=_SEED)
        features = svd.fit_transform(terms)
        if new:
            features = np.concatenate([features, svd.transform(new_terms)])
    counted = "hashed terms" if hashed else f"{terms.shape[1]:,} terms"
    return features.astype(np.float32), f"Each text becomes {size} features: TF-IDF of {counted}, reduced by an SVD."


def _views(n: int) -> list[dict[str, Any]]:
    """Words tell the subject; pieces of words forgive spelling and endings."""
    rare = 2 if n >= 1000 else 1
    return [
        {"analyzer": "word", "ngram_range": (1, 2), "min_df": rare, "token_pattern": r"(?u)\b\w+\b"},
        {"analyzer": "char_wb", "ngram_range": (3, 4), "min_df": rare},
    ]


def _weigh(texts: list[str], new: list[str] | None, hashed: bool, *, min_df: int, **how: Any) -> tuple[Any, Any]:
    """Weighted terms of the texts, and of the new ones."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer, TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    if hashed:
        counts = HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False, dtype=np.float32, **how)
        vectorizer = make_pipeline(counts, TfidfTransformer(sublinear_tf=True))
    else:
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, min_df=min_df, max_features=_VOCABULARY, dtype=np.float32, **how
        )
    seen = vectorizer.fit_transform(texts)
    return seen, vectorizer.transform(new) if new else seen[:0]
