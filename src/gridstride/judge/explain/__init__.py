"""Why a kernel takes the time that it takes, line by line, and what would change that."""

from gridstride.judge.explain.explanation import KernelExplanation as KernelExplanation
from gridstride.judge.explain.explanation import explain as explain
