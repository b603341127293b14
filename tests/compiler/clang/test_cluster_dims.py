"""__cluster_dims__ between clang's IR and its PTX."""

from __future__ import annotations

from gridstride.compiler.clang.cluster_dims import cluster_dims, with_cluster_dims

IR = """@.str = private unnamed_addr constant [19 x i8] c"gridstride_cluster\\00", section "llvm.metadata"
@.str1 = private unnamed_addr constant [5 x i8] c"d.cu\\00", section "llvm.metadata"
@.args = private unnamed_addr constant { i32 } { i32 4 }, section "llvm.metadata"
@.args2 = private unnamed_addr constant { i32, i32, i32 } { i32 8, i32 1, i32 2 }, section "llvm.metadata"
@llvm.global.annotations = appending global [2 x { ptr }] [{ ptr } { ptr @_Z3onePi, ptr @.str, ptr @.str1, i32 5, \
ptr @.args }, { ptr } { ptr @_Z4tileILi8EEvPi, ptr @.str, ptr @.str1, i32 4, ptr @.args2 }], section "llvm.metadata"
"""


def test_sizes_are_read_by_kernel_and_what_is_not_given_is_1() -> None:
    assert cluster_dims(IR) == {"_Z3onePi": (4, 1, 1), "_Z4tileILi8EEvPi": (8, 1, 2)}
    assert cluster_dims("define void @k() { ret void }") == {}


def test_the_directives_stand_behind_the_parameters_of_that_kernel() -> None:
    ptx = ".visible .entry a(\n\t.param .u64 a_param_0\n)\n.maxntid 128, 1, 1\n{\n}\n.visible .entry b()\n{\n}\n"
    assert with_cluster_dims(ptx, {"a": (2, 1, 1)}) == ptx.replace(
        "0\n)\n", "0\n)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n"
    )
    assert "entry b()\n.explicitcluster\n.reqnctapercluster 4, 2, 1\n{" in with_cluster_dims(ptx, {"b": (4, 2, 1)})
