"""What each rung of the ladders gains, in what the virtual GPU counts."""

from __future__ import annotations

import pytest

from gridstride.judge.execution.runnable import build
from gridstride.judge.find import find
from gridstride.judge.problem import Case
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.verify import observe, totals
from gridstride.virtual.gpu import VirtualGPU

Counts = dict[str, dict[str, float]]


def counts(problem_name: str, *, workers: int | None = None) -> Counts:
    """What every rung counts in the case that a climb shows, by rung and counter."""
    folder, gpu = find(problem_name), VirtualGPU("h200", workers=workers)
    (case,) = prepare(folder.problem, [Case(folder.problem.observed, "normal", 3)])
    seen = {file.name: observe(folder.problem, build(folder.problem, file, gpu), case) for file in folder.rungs()}
    assert not any(findings for _, findings in seen.values())
    return {rung: totals(run) for rung, (run, _) in seen.items()}


@pytest.fixture(scope="module")
def matmul() -> Counts:
    return counts("matmul")


def per_step(of_rung: dict[str, float], counter: str) -> float:
    """A counter per multiply-add of a warp, on the observed 256×256×256."""
    return of_rung[counter] / (256**3 / 32)


def test_coalescing_cuts_sectors_from_33_to_5(matmul: Counts) -> None:
    # One store at the end besides: 32 sectors (naive) or 4 for 256 steps of k.
    assert per_step(matmul["01_naive"], "global_sectors") == pytest.approx(33 + 32 / 256)
    assert per_step(matmul["02_coalesced"], "global_sectors") == pytest.approx(5 + 4 / 256)


def test_the_shared_tile_cuts_global_requests_to_a_32nd(matmul: Counts) -> None:
    assert per_step(matmul["02_coalesced"], "global_requests") == pytest.approx(2 + 1 / 256)
    assert per_step(matmul["03_shared_tile"], "global_requests") == pytest.approx(2 / 32 + 1 / 256)


def test_register_tiles_cut_shared_wavefronts_at_every_rung(matmul: Counts) -> None:
    rungs = ["03_shared_tile", "04_register_tile_1d", "05_register_tile_2d"]
    wavefronts = [per_step(matmul[rung], "shared_wavefronts") for rung in rungs]
    assert wavefronts == sorted(wavefronts, reverse=True)
    assert wavefronts[0] > 7 * wavefronts[2]


def test_warp_tiles_and_lanes_in_pairs_cut_shared_wavefronts_from_12_to_8(matmul: Counts) -> None:
    # A warp makes 64 steps of its own for each of 256 steps of k; turning A and storing B takes one wavefront more.
    for rung, wavefronts in (("06_vectorised", 12), ("07_warp_tiles", 8)):
        assert per_step(matmul[rung], "shared_wavefronts") == pytest.approx((wavefronts + 1) / 64)


def test_the_double_buffer_has_one_barrier_for_16_steps_of_k(matmul: Counts) -> None:
    assert matmul["07_warp_tiles"]["barriers"] == 32 * 2 * 256 / 8  # 4 blocks of 8 warps
    assert matmul["08_double_buffer"]["barriers"] == 16 * (256 / 16 + 1)  # 2 blocks


def test_vectors_cut_global_requests_to_a_quarter(matmul: Counts) -> None:
    before, after = (matmul[rung]["global_requests"] for rung in ("05_register_tile_2d", "06_vectorised"))
    assert before / after == pytest.approx(4)


def test_padding_ends_the_transposes_bank_conflicts() -> None:
    conflicts = {rung: counted["bank_conflicts"] for rung, counted in counts("transpose").items()}
    assert conflicts["02_shared_tile"] > 0
    assert conflicts["03_padded_tile"] == 0
    assert conflicts["04_swizzled"] == 0


def test_a_stage_makes_strided_loads_coalesced_and_padding_ends_most_conflicts() -> None:
    rungs = counts("aos_to_soa")
    moved = [rungs[rung]["global_sectors"] for rung in ("01_direct", "02_shared_stage", "03_padded")]
    floats = 8 * (1 << 14)
    assert moved == [floats + floats / 8, floats / 4, floats / 4]  # loads of a sector a lane, stores of four a warp
    assert rungs["03_padded"]["bank_conflicts"] < rungs["02_shared_stage"]["bank_conflicts"] / 6


def test_a_warp_with_one_curve_issues_half_and_pays_in_sectors() -> None:
    rungs = counts("calibrate")
    by_sample, by_channel, frames = (rungs[name] for name in sorted(rungs))
    assert 2 * by_channel["instructions"] < by_sample["instructions"] < 5 * frames["instructions"]
    assert by_channel["global_sectors"] == 4 * by_sample["global_sectors"] == 4 * frames["global_sectors"]


def test_four_temperatures_for_a_thread_share_what_is_around_them() -> None:
    rungs = counts("thermocouple")
    printed, single, four = (rungs[name] for name in sorted(rungs))
    assert 1.5 * four["instructions"] < single["instructions"] < printed["instructions"]
    assert 4 * four["global_requests"] == single["global_requests"]


def test_a_compact_piece_of_a_turned_picture_touches_less_than_a_row_of_it() -> None:
    rungs = counts("turn_blur")
    rows, pieces, shared = (rungs[name] for name in sorted(rungs))
    assert pieces["global_sectors"] < 0.8 * rows["global_sectors"]
    assert shared["global_requests"] == pytest.approx(0.8 * pieces["global_requests"], rel=0.02)


def test_a_layers_end_in_registers_writes_its_result_once() -> None:
    rungs = counts("linear_gelu")
    detour, register, tile = (rungs[name] for name in sorted(rungs))
    result = 256 * 256 / 8
    assert detour["global_sectors"] - register["global_sectors"] == 4 * result
    assert tile["global_sectors"] < register["global_sectors"] / 30


def test_blocks_that_share_a_mean_meet_once() -> None:
    folder, gpu = find("remove_mean"), VirtualGPU("h200")
    (case,) = prepare(folder.problem, [Case(folder.problem.observed, "normal", 3)])
    runs = {file.name: observe(folder.problem, build(folder.problem, file, gpu), case)[0] for file in folder.rungs()}
    arrivals = {rung: run.counters.atomics for rung, run in runs.items()}
    assert arrivals == {"01_one_block": 0, "02_grid_barrier": (1 << 16) / 1024, "03_held": (1 << 16) / 512}


def test_staging_asks_for_every_sector_of_a_picture_once() -> None:
    pixels = 128 * 256
    sectors = {rung: counted["global_sectors"] for rung, counted in counts("grayscale").items()}
    assert sectors["03_shared_stage"] == 4 * pixels / 32
    assert sectors["02_four_pixels"] > 2 * sectors["03_shared_stage"]


def test_the_blurs_last_rung_needs_no_shared_memory_and_half_the_requests() -> None:
    rungs = counts("box_blur")
    assert rungs["05_vector_rows"]["shared_wavefronts"] == 0
    assert rungs["05_vector_rows"]["global_requests"] < rungs["04_walking_column"]["global_requests"] / 2


def test_four_steps_of_heat_share_their_loads_and_end_shared_reads() -> None:
    rungs = counts("heat")
    cone, tile, column, walking = (rungs[name] for name in sorted(rungs))
    assert tile["global_requests"] < cone["global_requests"] / 10
    assert tile["instructions"] < cone["instructions"] / 3
    assert column["shared_wavefronts"] == column["barriers"] == 0
    assert walking["global_sectors"] < column["global_sectors"]
    assert walking["global_requests"] < column["global_requests"] / 4


def test_life_by_words_counts_a_row_once() -> None:
    rungs = counts("life")
    bits, sliced, column = (rungs[name] for name in sorted(rungs))
    assert sliced["instructions"] < bits["instructions"] / 30
    assert column["global_requests"] < sliced["global_requests"] / 2
    assert column["instructions"] < sliced["instructions"]


def test_bodies_in_shared_memory_serve_all_pairs_of_a_tile() -> None:
    rungs = counts("nbody")
    naive, root, tile, registers, short = (rungs[name] for name in sorted(rungs))
    assert root["global_sectors"] < naive["global_sectors"] / 3
    assert tile["global_requests"] < root["global_requests"] / 30
    assert registers["shared_wavefronts"] == pytest.approx(tile["shared_wavefronts"] / 4, rel=0.1)
    assert registers["instructions"] < tile["instructions"]
    assert short["instructions"] < registers["instructions"]
    assert short["shared_wavefronts"] == pytest.approx(registers["shared_wavefronts"] / 2, rel=0.1)


def test_a_lattice_of_constants_issues_less_and_four_cells_ask_less_often() -> None:
    rungs = counts("lattice_boltzmann")
    naive, unrolled, four = (rungs[name] for name in sorted(rungs))
    assert unrolled["instructions"] < 0.75 * naive["instructions"]
    assert four["global_requests"] < unrolled["global_requests"] / 2.5
    assert four["global_sectors"] < unrolled["global_sectors"]


def test_options_need_no_doubles_and_two_error_functions() -> None:
    rungs = counts("black_scholes")
    double, single, tails = (rungs[name] for name in sorted(rungs))
    assert single["instructions"] < double["instructions"] / 2
    assert tails["instructions"] < 0.75 * single["instructions"]


def test_eight_spins_share_a_call_of_philox_and_then_a_register() -> None:
    rungs = counts("ising")
    naive, words, register = (rungs[name] for name in sorted(rungs))
    assert words["instructions"] < naive["instructions"] / 2
    assert register["instructions"] < words["instructions"] / 1.5
    assert register["global_requests"] < words["global_requests"] / 5


def test_edges_of_four_pixels_at_a_time_need_no_shared_memory_and_a_fraction_of_the_requests() -> None:
    rungs = counts("sobel")
    naive, tile, four = (rungs[name] for name in sorted(rungs))
    assert tile["global_requests"] < naive["global_requests"] / 3
    assert four["global_requests"] < tile["global_requests"] / 1.8
    assert four["shared_wavefronts"] == 0


@pytest.mark.slow
def test_conjugate_gradients_wait_less_often_and_then_ask_less_often() -> None:
    rungs = counts("conjugate_gradients")
    three, two, one, walking = (rungs[name] for name in sorted(rungs))
    assert three["barriers"] > two["barriers"] > 1.5 * one["barriers"]
    assert walking["global_requests"] < one["global_requests"] / 2
    assert walking["instructions"] < one["instructions"] / 2


def test_fewer_rounds_of_a_fourier_transform_are_fewer_exchanges() -> None:
    rungs = counts("fft")
    halves, quarters, square = (rungs[name] for name in sorted(rungs))
    assert quarters["shared_wavefronts"] < halves["shared_wavefronts"] / 1.8
    assert quarters["barriers"] < halves["barriers"] / 3  # half as many, of half as many warps
    assert square["shared_wavefronts"] < quarters["shared_wavefronts"] / 6
    assert square["barriers"] == 16  # of a warp, for each row
    assert square["bank_conflicts"] == 0
    assert square["instructions"] < quarters["instructions"] / 2 < halves["instructions"] / 4


@pytest.mark.slow
def test_a_long_fourier_transform_in_four_steps_moves_a_fifth_and_needs_fewer_instructions_with_a_table() -> None:
    rungs = counts("fft_long")
    rounds, steps, ring = (rungs[name] for name in sorted(rungs))
    assert steps["global_sectors"] < rounds["global_sectors"] / 4.9
    assert ring["global_sectors"] < 1.01 * steps["global_sectors"]  # the ring stays in the L2, which nobody counts here
    assert steps["bank_conflicts"] == ring["bank_conflicts"] == 0


def test_a_median_by_a_network_needs_no_branches_and_four_share_their_sorted_columns() -> None:
    rungs = counts("median")
    insertion, network, four = (rungs[name] for name in sorted(rungs))
    assert network["instructions"] < insertion["instructions"] / 2.5
    assert four["instructions"] < network["instructions"] / 2
    assert four["global_requests"] < network["global_requests"] / 8


def test_a_bilateral_filter_needs_one_exponential_a_pixel_and_its_neighbours_once() -> None:
    rungs = counts("bilateral")
    naive, one, column = (rungs[name] for name in sorted(rungs))
    assert one["global_requests"] < naive["global_requests"] / 10
    assert one["instructions"] < naive["instructions"] / 2
    assert column["shared_wavefronts"] < one["shared_wavefronts"] / 2
    assert column["instructions"] < one["instructions"]


def test_a_lattice_in_space_gains_by_constants_and_by_four_cells_likewise() -> None:
    rungs = counts("lattice_boltzmann_3d")
    naive, unrolled, four = (rungs[name] for name in sorted(rungs))
    assert unrolled["instructions"] < naive["instructions"] / 1.8
    assert four["global_requests"] < unrolled["global_requests"] / 2.5
    assert four["global_sectors"] < unrolled["global_sectors"]


@pytest.mark.slow
def test_edges_that_grow_within_a_tile_need_fewer_rounds_of_the_grid() -> None:
    rungs = counts("canny")
    rounds, own, tiles = (rungs[name] for name in sorted(rungs))
    assert own["barriers"] < rounds["barriers"]
    assert tiles["global_requests"] < own["global_requests"] / 1.5


def test_a_warp_that_chooses_its_bodies_asks_few_of_them() -> None:
    rungs = counts("sdf_shader")
    naive, shared, chooses = (rungs[name] for name in sorted(rungs))
    assert shared["global_requests"] < naive["global_requests"] / 100
    assert shared["instructions"] < 0.85 * naive["instructions"]
    assert chooses["instructions"] < 0.6 * shared["instructions"]  # by how near to one another the rays drawn are
    assert chooses["shared_wavefronts"] < 0.4 * shared["shared_wavefronts"]


def test_a_fluids_step_within_a_tile_waits_for_no_other_block_and_then_reads_less_of_what_is_shared() -> None:
    rungs = counts("stable_fluids")
    barriers, tile, strips = (rungs[name] for name in sorted(rungs))
    assert tile["global_requests"] < 0.6 * barriers["global_requests"]
    assert strips["global_requests"] < 0.85 * tile["global_requests"]
    assert strips["shared_wavefronts"] < 0.55 * tile["shared_wavefronts"]
    assert strips["instructions"] < 0.8 * tile["instructions"]


def test_a_warp_that_walks_a_tree_together_reads_a_sector_a_node_and_for_two_bodies_a_lane_less_often() -> None:
    rungs = counts("barnes_hut")
    naive, vectors, walks, two = (rungs[name] for name in sorted(rungs))
    assert vectors["global_sectors"] < naive["global_sectors"] / 3
    assert walks["global_sectors"] < vectors["global_sectors"] / 6
    assert walks["global_sectors"] < 1.1 * walks["global_requests"]
    assert two["global_requests"] < walks["global_requests"] / 1.6
    assert two["instructions"] < 0.85 * walks["instructions"]


def test_a_sparse_matrix_is_a_stream_and_equal_shares_cost_less_row_by_row_than_item_by_item() -> None:
    rungs = counts("spmv")
    thread, warp, lanes, streams, merge, shares = (rungs[name] for name in sorted(rungs))
    assert warp["global_sectors"] < thread["global_sectors"] / 2
    assert lanes["global_requests"] < warp["global_requests"]
    assert streams["global_requests"] < lanes["global_requests"] / 2
    assert streams["global_sectors"] < 0.95 * warp["global_sectors"]
    assert shares["instructions"] < 0.9 * merge["instructions"]
    assert shares["barriers"] < 0.65 * merge["barriers"]


def test_look_back_reads_once_what_two_phases_read_twice() -> None:
    # Blocks one after another, or how often a tile looks at those before it hangs on how fast these come.
    sectors = {rung: counted["global_sectors"] for rung, counted in counts("scan", workers=1).items()}
    moved = 2 * 4 * (1 << 16) / 32
    assert sectors["04_shuffles"] > 1.5 * moved  # and the barrier of the grid
    assert moved < sectors["06_vectorised"] < 1.25 * moved  # and what tiles publish and look at


def test_bins_for_every_lane_end_the_bank_conflicts_that_bins_for_every_warp_leave() -> None:
    rungs = counts("histogram")
    assert rungs["04_vectorised"]["bank_conflicts"] > (1 << 24) / 32
    assert rungs["05_lane_bins"]["bank_conflicts"] == 0
    assert rungs["05_lane_bins"]["shared_wavefronts"] < rungs["04_vectorised"]["shared_wavefronts"] / 2


def test_gelu_without_tanh_issues_less_than_half() -> None:
    forward, backward = counts("gelu"), counts("gelu_backward")
    for rungs in (forward, backward):
        assert rungs["01_naive"]["global_requests"] == 4 * rungs["02_vectorised"]["global_requests"]
        assert rungs["02_vectorised"]["global_sectors"] == rungs["03_exponential"]["global_sectors"]
    assert 2 * forward["03_exponential"]["instructions"] < forward["02_vectorised"]["instructions"]
    assert 2 * backward["03_exponential"]["instructions"] < backward["02_vectorised"]["instructions"]


def test_rows_of_softmax_and_layer_norm_are_read_once_in_the_end() -> None:
    row = 8 * 4096 / 8  # sectors of all rows, once
    passes = {rung: counted["global_sectors"] / row for rung, counted in counts("softmax").items()}
    assert passes == {
        "01_thread_per_row": 8 * 4,  # lanes lie a row apart: a sector for each element
        "02_block_per_row": 4,
        "03_online": 3,
        "04_registers": 2,
        "05_bulk_ring": 1,  # the copy engine's reads are no accesses of warps
        "06_cluster": 2,
    }
    passes = {rung: counted["global_sectors"] / row for rung, counted in counts("softmax_backward").items()}
    assert passes["03_shuffle"] == 5
    assert passes["04_registers"] == passes["05_cluster"] == 3
    norm = {rung: counted["global_sectors"] / row for rung, counted in counts("layer_norm").items()}
    assert norm["02_block_per_row"] - norm["03_registers"] == pytest.approx(1)


def test_shuffles_cut_the_barriers_of_a_row_of_softmax_from_17_to_1() -> None:
    barriers = {rung: counted["barriers"] / (8 * 4) for rung, counted in counts("softmax").items()}  # 4 warps a block
    assert (barriers["02_block_per_row"], barriers["03_online"]) == (17, 1)


def test_a_convolutions_filter_and_halo_leave_global_memory_and_then_shared_memory() -> None:
    rungs = counts("convolution")
    naive, filter_, halo, column, vectors, overlapping = (rungs[name] for name in sorted(rungs))
    assert 1.9 < naive["global_requests"] / filter_["global_requests"] < 2
    assert halo["global_sectors"] < filter_["global_sectors"] / 9
    assert column["shared_wavefronts"] < halo["shared_wavefronts"] / 4
    assert vectors["shared_wavefronts"] == overlapping["shared_wavefronts"] == 0
    assert overlapping["instructions"] < 0.7 * vectors["instructions"]
    assert not any(rung["bank_conflicts"] for rung in rungs.values())


@pytest.mark.slow
def test_tensor_cores_cut_instructions_and_wgmma_ends_shared_reads() -> None:
    rungs = counts("matmul_half")
    assert rungs["03_wmma"]["instructions"] < rungs["02_shared_tile"]["instructions"] / 15
    assert rungs["04_mma_pipeline"]["shared_wavefronts"] < rungs["03_wmma"]["shared_wavefronts"] / 2.5
    assert rungs["04_mma_pipeline"]["bank_conflicts"] == 0
    halves = 256 * 256 + 2 * 256 * 256  # A once, B by each of two blocks
    for rung in ("05_warpgroup", "06_specialised"):  # the copies into the tiles are left, 64 halves at a time
        assert rungs[rung]["shared_wavefronts"] == halves / 64


@pytest.mark.slow
def test_tensor_cores_cut_a_convolutions_instructions_and_boxes_its_requests() -> None:
    rungs = counts("convolution_half")
    direct, halo, wmma, mma, maps, cluster, rows = (rungs[name] for name in sorted(rungs))
    assert halo["global_requests"] < direct["global_requests"] / 80
    assert wmma["instructions"] < halo["instructions"] / 8
    assert mma["shared_wavefronts"] < wmma["shared_wavefronts"] / 2
    assert not any(rung["bank_conflicts"] for rung in (mma, maps, cluster, rows))
    assert maps["global_requests"] == 1024 * 128 / 64  # stores of a pair a lane
    assert cluster["global_requests"] == rows["global_requests"] == 0


@pytest.mark.slow
def test_a_box_with_a_rim_is_brought_once_for_three_taps() -> None:
    folder, gpu = find("convolution_half"), VirtualGPU("h200")
    (case,) = prepare(folder.problem, [Case(folder.problem.observed, "normal", 3)])
    files = [file for file in folder.rungs() if file.needs == (9, 0)]
    runs = [observe(folder.problem, build(folder.problem, file, gpu), case)[0] for file in files]
    maps, cluster, rows = (run.counters.tma_bytes for run in runs)
    filters, results = 8 * 9 * 64 * 128 * 2, 1024 * 128 * 2  # bytes: all filters for each of 8 tiles of 128 pixels
    windows = maps - filters
    assert cluster == windows + filters // 2 + results
    assert rows - filters // 2 - results < windows / 2.4


@pytest.mark.slow
def test_scores_of_attention_never_leave_the_chip_and_its_keys_never_come_into_registers() -> None:
    rungs = counts("attention")
    thread, tile, warp, mma, group, turns, offsets = (rungs[name] for name in sorted(rungs))
    assert tile["global_requests"] < thread["global_requests"] / 100
    assert warp["shared_wavefronts"] < tile["shared_wavefronts"] / 2
    assert mma["instructions"] < warp["instructions"] / 25
    assert not any(rung["bank_conflicts"] for rung in (mma, group, turns, offsets))
    queries, others = 2 * 128 * 128, 2 * 2 * 256 * 128  # two heads' queries; keys and values, by each of two blocks
    for rung in (group, turns, offsets):  # copies are left, 64 halves at a time; and -q, since the scale is below zero
        assert rung["shared_wavefronts"] == (3 * queries + others) / 64
