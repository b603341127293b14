from pathlib import Path

import numpy as np

import gridstride as gs


def test_saxpy(gpu):
    saxpy = gs.cuda(Path(__file__).with_name("saxpy.cu"))["saxpy"]
    x, y = np.random.rand(2, 1000).astype("float32")
    want = 2 * x + y
    saxpy[4, 256](1000, 2.0, x, y)
    np.testing.assert_allclose(y, want, rtol=1e-6)
