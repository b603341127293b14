"""Which test holds each instruction against an independent model, by the beginning of its name.

Models: Python integers, fractions and NumPy in the tests named; recordings of an H200 where only it can say.
"""

from __future__ import annotations

import re

_BITS = "test_bits.py"
_COPIES = "test_async_copies.py"

MODELS = {
    r"(add|sub)\.(sat\.s32|cc|[us]16x2)|(addc|subc|mad.*\.cc|madc)":
        "test_integer.py::test_saturating_sums test_integer.py::test_multiply_add_with_carry "
        "test_integer.py::test_packed_halves test_integer.py::test_64_bit_carries",
    r"(add|sub|mul|fma|mad)\.(r[nzmp]\.|ftz\.|sat\.|relu\.)*(f16|bf16)":
        "test_half_instructions.py::test_arithmetic_rounds_once",
    r"fma\.rn\.oob": "test_half_instructions.py::test_out_of_bounds_operands_give_zero",
    r"fma\.rn\.relu": "test_half_instructions.py::test_fused_multiply_add_rounds_once",
    r"(add|sub|mul|fma|mad)\.(r[nzmp]\.|ftz\.|sat\.)*f(32|64)":
        "test_floating.py::test_arithmetic_is_rounded_as_the_instruction_says "
        "test_floating.py::test_fused_multiply_add_rounds_once",
    r"(add|sub|mul|min|max|mad|sad|div|rem)\.(lo\.|hi\.|sat\.|relu\.)*[us](16|32|64)":
        "test_integer.py::test_sums_products_quotients_and_extremes "
        "test_integer.py::test_products_with_a_third_operand",
    r"(mul|mad)\.wide": "test_integer.py::test_wide_products",
    r"(mul24|mad24)": "test_integer.py::test_24_bit_products",
    r"(abs|neg)\.(ftz\.)?(f16|bf16)": "test_half_instructions.py::test_signs",
    r"(abs|neg)\.(ftz\.)?f": "test_floating.py::test_sign_instructions_touch_nothing_but_the_sign",
    r"(abs|neg)\.s": "test_integer.py::test_sums_products_quotients_and_extremes",
    r"(min|max).*16": "test_half_instructions.py::test_extremes",
    r"(min|max).*f": "test_floating.py::test_extremes_prefer_numbers_and_order_the_zeros",
    r"(popc|clz|brev)": f"{_BITS}::test_counting_and_reversing",
    r"bfind": f"{_BITS}::test_bfind", r"bfe": f"{_BITS}::test_bfe", r"bfi": f"{_BITS}::test_bfi",
    r"fns": f"{_BITS}::test_fns", r"(szext|bmsk)": f"{_BITS}::test_bmsk_and_szext",
    r"dp[24]a": "test_integer.py::test_dot_products",
    r"(and|or|xor|not)\.pred": "test_compare.py::test_logic_of_predicates",
    r"(and|or|xor|not|cnot)": f"{_BITS}::test_logic",
    r"lop3\.(or|and)": f"{_BITS}::test_lop3_with_a_predicate", r"lop3": f"{_BITS}::test_lop3_has_all_256_functions",
    r"sh[lr]\.": f"{_BITS}::test_shifts", r"shf": f"{_BITS}::test_funnel_shifts",
    r"prmt\.b32$": f"{_BITS}::test_prmt", r"prmt": f"{_BITS}::test_prmt_modes",
    r"mov": "test_move.py::test_mov_packs_and_unpacks test_move.py::test_mov_of_constants_and_lanes",
    r"selp": "test_compare.py::test_selp", r"slct": "test_compare.py::test_slct",
    r"copysign": "test_floating.py::test_sign_instructions_touch_nothing_but_the_sign",
    r"setp.*16x2": "test_compare.py::test_setp_of_packed_halves_gives_one_predicate_each "
                   "test_compare.py::test_setp_of_packed_halves_with_one_predicate_is_of_the_lower_ones",
    r"setp.*f16": "test_compare.py::test_setp_of_halves", r"setp.*f(32|64)": "test_compare.py::test_setp_of_floats",
    r"setp": "test_compare.py::test_setp_of_integers test_compare.py::test_setp_combines_with_a_predicate",
    r"set\..*[us](32|16)\.b?f16(x2)?$": "test_compare.py::test_set_of_halves_as_integers",
    r"set\..*16": "test_compare.py::test_set_of_halves", r"set\.": "test_compare.py::test_set",
    r"div": "test_floating.py::test_full_division_is_exact_and_approximate_division_loses_the_largest_divisors",
    r"(rcp|rsqrt)\.approx.*f64": "test_floating.py::test_gross_double_forms_work_on_upper_words",
    r"(rcp|sqrt)": "test_floating.py::test_reciprocal_and_root_are_rounded_as_the_instruction_says",
    r"rsqrt": "test_floating.py::test_reciprocal_root_is_within_its_bound",
    r"(sin|cos)": "test_approximate.py::test_sine_and_cosine_are_within_their_bounds "
                  "test_approximate.py::test_as_near_to_an_h200_as_ever",
    r"lg2": "test_approximate.py::test_log2_is_within_2_to_the_minus_22",
    r"(ex2|tanh).*16": "test_half_instructions.py::test_exp2_and_tanh_are_within_their_bounds_for_every_half",
    r"ex2": "test_approximate.py::test_exp2_is_within_two_units_over_all_of_its_range",
    r"tanh": "test_approximate.py::test_tanh_is_within_2_to_the_minus_11",
    r"testp": "test_floating.py::test_testp_sorts_every_value",
    r"cvt\.pack": "test_conversion.py::test_pack",
    r"cvt.*(f16x2|bf16x2)\.f32": "test_narrowing.py::test_f32_to_halves_limited_and_packed",
    r"cvt.*e[45]m[23]x2\.f32": "test_narrowing.py::test_f32_to_8_bit_floats",
    r"cvt.*e[45]m[23]x2": "test_narrowing.py::test_halves_to_8_bit_floats_and_back",
    r"cvt.*tf32": "test_narrowing.py::test_tf32",
    r"cvt(\.sat)?\.[us]\d+\.[us]": "test_conversion.py::test_between_integers",
    r"cvt.*\.[us]\d+\.b?f": "test_conversion.py::test_floats_to_integers",
    r"cvt.*f\d+\.[us]": "test_conversion.py::test_integers_to_floats",
    r"cvt.*f16\.": "test_conversion.py::test_floats_to_halves",
    r"cvt": "test_conversion.py::test_f64_to_f32 test_conversion.py::test_widening_is_exact "
            "test_conversion.py::test_rounding_to_whole_floats",
    r"(cvta|isspacep)": "test_atomics.py::test_generic_addresses_reach_global_and_shared_memory",
    r"v(add|sub|absdiff|min|max)\.": "test_video.py::test_scalar_operations", r"vsh[lr]": "test_video.py::test_shifts",
    r"vmad": "test_video.py::test_multiply_add", r"vset\.": "test_video.py::test_comparisons",
    r"vset[24]": "test_video.py::test_simd_comparisons", r"v\w+[24]": "test_video.py::test_simd_operations",
    r"ldu?\.": "test_memory.py::test_loads_of_every_space_type_and_width",
    r"st\.": "test_memory.py::test_stores_of_every_space_type_and_width",
    r"(prefetch|prefetchu|applypriority|discard|createpolicy|cp\.async\.bulk\.prefetch)":
        "test_memory.py::test_hints_change_nothing",
    r"(atom|red)\..*(inc|dec)\.": "test_atomics.py::test_small_counters_wrap",
    r"(atom|red).*\.v[248]\.": "test_atomics.py::test_vector_forms_are_atomic_by_element",
    r"(atom|red).*b128": "test_atomics.py::test_sixteen_bytes_are_exchanged_whole "
                         "test_atomics.py::test_sixteen_bytes_are_compared_whole",
    r"(atom|red).*b?f16": "test_atomics.py::test_halves_alone_and_in_pairs",
    r"(atom|red).*f(32|64)": "test_atomics.py::test_float_sums_keep_the_order_of_lanes",
    r"(atom|red).*b16": "test_atomics.py::test_short_compare_and_swap",
    r"(atom|red)": "test_atomics.py::test_integers_lane_after_lane",
    r"shfl": "test_warp.py::test_shuffles_by_constants", r"vote": "test_warp.py::test_votes_over_the_member_mask",
    r"match": "test_warp.py::test_match_finds_the_lanes_with_the_same_value",
    r"redux": "test_warp.py::test_integer_reductions_over_the_member_mask",
    r"activemask": "test_warp.py::test_activemask_after_some_lanes_left",
    r"elect": "test_warp.py::test_elect_tells_exactly_one_lane",
    r"(setmaxnreg|pmevent|griddepcontrol)": "test_warp.py::test_hints_change_nothing",
    r"nanosleep": "test_warp.py::test_a_sleeping_warp_lets_the_others_run",
    r"(bar|barrier).*red": "test_barriers.py::test_reductions_at_a_barrier_count_the_threads_that_are_left",
    r"(bar|barrier)": "test_barriers.py::test_named_barriers_hold_the_threads_they_count",
    r"(membar|fence)": "test_scheduler.py::test_decoupled_look_back",
    r"mbarrier": "test_mbarrier.py::test_a_phase_step_by_step test_mbarrier.py::test_misuse_is_a_finding",
    r"cp\.async\.mbarrier": "test_mbarrier.py::test_copies_of_a_thread_arrive_when_they_have_landed",
    r"cp\.reduce\.async\.bulk\.tensor": "test_tensor.py::test_memory_is_what_an_h200_leaves "
        "test_tensor.py::test_reductions_of_words_combine_each_element",
    r"cp\.reduce\.async\.bulk": "test_copies.py::test_bulk_reductions",
    r"cp\.async\.bulk\.tensor": "test_tensor_copies.py::test_a_box_goes_in_and_out "
        "test_tensor.py::test_memory_is_what_an_h200_leaves "
        "test_tensor.py::test_the_model_in_plain_loops_gives_the_same",
    r"cp\.async\.bulk": "test_copies.py::test_bulk_copies_in_and_out",
    r"cp\.async": f"{_COPIES}::test_each_size_copies_with_any_pattern",
    r"tensormap": "test_tensor_copies.py::test_a_kernel_replaces_fields_of_a_map",
    r"(ldmatrix|stmatrix)": "test_matrix_memory.py::test_matrices_go_through_registers_as_the_isa_places_them",
    r"movmatrix": "test_matrix_memory.py::test_movmatrix_transposes",
    r"(mapa|getctarank|barrier\.cluster)": "test_cluster_blocks.py::test_blocks_know_their_place_in_the_cluster "
        "test_cluster_blocks.py::test_loads_and_stores_of_every_width",
    r"(st|red)\.async": "test_multicast.py::test_stores_that_a_barrier_counts",
    r"(tex|tld4|txq)": "test_sampling.py::test_same_bits_as_the_gpu",
    r"(suld|sust|sured|suq)": "test_surfaces.py::test_every_dimension test_surfaces.py::test_reductions_are_atomic "
        "test_surfaces.py::test_a_surface_knows_its_size test_surfaces.py::test_formatted_writes_convert",
    r"wgmma": "test_warpgroup.py::test_agrees_with_the_model_bit_for_bit "
        "test_warpgroup.py::test_agrees_with_an_h200_bit_for_bit",
    r"mma\.sp": "test_matrix_sparse.py::test_sparse_products_agree_with_an_h200_bit_for_bit "
                "test_matrix_sparse.py::test_sparse_integers_are_those_of_the_matrix_written_out",
    r"mma\.sync\.aligned\.m8n8k4.*f16": "test_matrix_sparse.py::test_voltas_products_agree_with_an_h200_bit_for_bit",
    r"mma": "test_matrix_products.py::test_agrees_with_the_model_bit_for_bit",
}  # fmt: skip


def tests_of(name: str) -> list[str]:
    """The tests that hold an instruction against a model, as `file::test`."""
    return next((tests.split() for key, tests in MODELS.items() if re.match(key, name)), [])
