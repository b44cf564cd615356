"""Log odds and probabilities: compiled against the reference and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml import _kernel
from blockml.predictors import log_odds, sigmoid

numbers = st.lists(st.floats(-1e308, 1e308) | st.floats(-50, 50) | st.floats(0, 1) | st.just(np.nan), max_size=200)


@given(numbers)
def test_compiled_values_are_those_of_the_reference(values: list[float]) -> None:
    """Compiled values equal the reference bit for bit, for any numbers and NaN."""
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    array = np.array(values, dtype=np.float64)
    found = log_odds(array), sigmoid(array)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = log_odds(array), sigmoid(array)
    assert [item.tobytes() for item in found] == [item.tobytes() for item in expected]


@pytest.mark.parametrize("wrong", [np.int64, np.uint64, np.float32, np.complex64, ">f8"])
def test_items_of_another_type_are_refused(compiled: _kernel.Compiled, wrong: str) -> None:
    """Items of another type are refused, even of the same size or in another byte order."""
    one = np.ones(1)
    compiled.log_odds(one, one.copy())
    for arrays in ((one.astype(wrong), one.copy()), (one, one.astype(wrong))):
        with pytest.raises(TypeError, match="items of type d"):
            compiled.log_odds(*arrays)
    few: list[tuple[object, ...]] = [(), (one,), (one, one, one), (one, None), (one, b"x" * 8)]
    for some in few:
        with pytest.raises((TypeError, BufferError)):
            compiled.log_odds(*some)  # type: ignore[arg-type]


@given(st.lists(st.floats(-600, 600), max_size=50))
def test_probabilities_are_those_of_numpy(values: list[float]) -> None:
    """Probabilities equal numpy's up to rounding, and log odds invert them between 1e-6 and 1 - 1e-6."""
    array = np.array(values, dtype=np.float64)
    assert sigmoid(array) == pytest.approx(1 / (1 + np.exp(-array)), rel=1e-6, abs=1e-30)
    inside = np.clip(array, -13, 13)
    assert log_odds(1 / (1 + np.exp(-inside))) == pytest.approx(inside, abs=1e-6)
