"""A model's and its optimiser's state under names that hold at any number of ranks.

`get_state_dict` names an optimiser's state by parameter instead of by number and leaves out what a wrapper (DDP,
torch.compile) puts before a name, so that what one arrangement of ranks saved another can load.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.optim import Optimizer

State = dict[str, Any]
_LEARNED = StateDictOptions(ignore_frozen_params=True)  # what stays as it was is the base's


def take(model: nn.Module, optimiser: Optimizer) -> State:
    """The tensors that learn, themselves (no copies), as they are spread over the ranks."""
    weights, moments = get_state_dict(model, optimiser, options=_LEARNED)
    return {"model": weights, "optimiser": moments}


def put(model: nn.Module, optimiser: Optimizer, state: State) -> None:
    """Give a model and its optimiser a state that `take` gave and `Checkpoints.load` filled."""
    states = {"model_state_dict": state["model"], "optim_state_dict": state["optimiser"]}
    # what is frozen is not given; that nothing else is missing has been checked before the state was filled
    set_state_dict(model, optimiser, **states, options=replace(_LEARNED, strict=False))
