"""The ops that ship, as functions and as modules; importing this registers them with PyTorch as `gridstride::…`.

On CPU tensors every op is PyTorch's own code, behind checks that take longer than a small tensor's work; gradients are
the kernels' formulas there, too: cross-entropy's is as exact as float32 is for the logits, not their differences. On a
GPU the kernels are compiled at first use and kept on disk. GELU,
gated SiLU, rotary embedding, softmax, layer norm, RMS norm, cross-entropy (with a linear layer in front, too),
attention of packed sequences and dropout have gradients of ours; attention (unless ours is asked for) and convolution
have PyTorch's. The others have none: a backward pass through them is an error with the op's name and what to use
instead, as are forward mode (jvp) and torch.func's gradients through any op. Autocast does with each of them what it
does with PyTorch's own.
"""

from __future__ import annotations

from gridstride.kernels.adamw.op import AdamW, adamw_
from gridstride.kernels.attention.op import attention, attention_kernel
from gridstride.kernels.attention.varlen import varlen_attention, varlen_attention_kernel
from gridstride.kernels.convolution_half.op import conv2d, conv2d_kernel
from gridstride.kernels.cross_entropy.linear import linear_cross_entropy
from gridstride.kernels.cross_entropy.op import cross_entropy
from gridstride.kernels.dropout.op import dropout
from gridstride.kernels.gelu.op import gelu
from gridstride.kernels.layer_norm.op import layer_norm
from gridstride.kernels.matmul_fp8.op import matmul_fp8
from gridstride.kernels.modules import GELU, CrossEntropyLoss, Dropout, LayerNorm, RMSNorm, Softmax
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.patch import Patched, patch, unpatch
from gridstride.kernels.prompt_attention.op import prompt_attention
from gridstride.kernels.radix_sort.op import sort_keys
from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.rotary.op import rotary
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.kernels.sample.op import sample
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import skinny_gemm
from gridstride.kernels.softmax.op import softmax
from gridstride.kernels.swiglu.op import swiglu

__all__ = [
    "GELU",
    "AdamW",
    "CrossEntropyLoss",
    "Dropout",
    "LayerNorm",
    "Patched",
    "RMSNorm",
    "Softmax",
    "adamw_",
    "add_rms_norm",
    "attention",
    "attention_kernel",
    "conv2d",
    "conv2d_kernel",
    "cross_entropy",
    "dropout",
    "gelu",
    "layer_norm",
    "linear_cross_entropy",
    "matmul_fp8",
    "paged_attention",
    "patch",
    "prompt_attention",
    "rms_norm",
    "rotary",
    "rotary_cache",
    "sample",
    "silu_mul",
    "skinny_gemm",
    "softmax",
    "sort_keys",
    "swiglu",
    "unpatch",
    "varlen_attention",
    "varlen_attention_kernel",
]
