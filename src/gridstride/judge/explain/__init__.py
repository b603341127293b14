"""Why a kernel takes the time that it takes, line by line, and what would change that."""

from gridstride.judge.explain.explanation import Explanation as Explanation
from gridstride.judge.explain.explanation import explain as explain
