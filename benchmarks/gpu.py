"""Check Martingale rounds on a GPU against the CPU bit for bit, and measure their rate.

Run it with `python benchmarks/gpu.py` on a machine with an NVIDIA GPU, numba and numba-cuda; it
needs only this checkout of Threedice. It checks the generator against the published vectors, then
whole sessions against the CPU, and only then measures the kernel: with several launch grids,
without its generator, the generator alone, and with histograms. `--quick` runs the checks on few
sessions (with `NUMBA_ENABLE_CUDASIM=1`, without a GPU).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))  # Threedice need not be installed

import numba
import numpy as np
from numpy import int32, uint32

from threedice.sim.kernels import gpu
from threedice.sim.kernels.compiler import KernelSpec, cpu_kernel, link
from threedice.sim.kernels.generator import draw_block, low32, philox, shift_to_next_roll
from threedice.sim.kernels.sessions import SUMS
from threedice.sim.session_terms import Terms

if TYPE_CHECKING:
    from collections.abc import Iterator

cuda = gpu.cuda
BIG = ((1, 105), (-1, 111))
MARTINGALE = Terms("martingale", 1000, 10, 10, 500, 200, BIG)
VECTORS = (
    ((0, 0, 0, 0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 6, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
)
PLAYED = SUMS.index("played")
OUT = Path(os.environ.get("OUT", "."))


def checks() -> Iterator[tuple[str, Terms, int, int]]:
    """Yield sessions of every kind: name, terms, seed and number of the first session."""
    for seed, plan in enumerate((
        "flat", "martingale", "grand-martingale", "paroli", "dalembert", "fibonacci",
        "labouchere", "oscars-grind",
    )):  # fmt: skip
        yield plan, Terms(plan, 1000, 10, 10, 500, 200, BIG), seed + (seed << 40), 0
    single = ((12, 1), (2, 15), (1, 75), (-1, 125))
    yield "tiers, stops", Terms("paroli", 900, 7, 5, 300, 100, single, 1, 500, 700), 5, 2**32 - 9
    chuck = ((19, 105), (-20, 111))
    yield "19 to 20", Terms("dalembert", 1013, 20, 20, 400, 75, chuck, 20), 2**64 - 1, 2**60
    mix = tuple((5 - i, 36) for i in range(6))
    yield "a mix, pushes", Terms("fibonacci", 5000, 10, 10, 700, 60, mix, 5), 9, 10**9


def empty_arrays(terms: Terms) -> list[Any]:
    """Return the arrays sums, ends, finals and paths, all zero."""
    return [np.zeros(shape, np.int64) for shape in terms.histograms.array_shapes(terms.rounds)]


def keys(seed: int) -> tuple[Any, Any]:
    """Return a seed as the two words of the generator's key."""
    return uint32(seed & 0xFFFFFFFF), uint32(seed >> 32)


def check_vectors() -> None:
    """Compute the published vectors on the device."""
    compile_one = gpu.compile_device_inline
    device_philox = compile_one(link(philox, compile_one, {"wide": uint32}))

    def draw(counter: Any, out: Any) -> None:
        words = device_philox(
            counter[0], counter[1], counter[2], counter[3], counter[4], counter[5]
        )
        for i in range(4):
            out[i] = words[i]

    kernel = cuda.jit(draw)
    for counter, expected in VECTORS:
        out = np.zeros(4, np.uint32)
        kernel[1, 1](np.array(counter, np.uint32), out)
        drawn = " ".join(f"{word:08x}" for word in out)
        print(f"vector {'ok' if drawn == expected else 'WRONG'}: {drawn}")
        if drawn != expected:
            raise SystemExit("the generator is wrong on this device")


def check_sessions(count: int) -> None:
    """Play sessions of every kind on both devices and compare every number."""
    for name, terms, seed, first in checks():
        on_cpu, on_gpu = empty_arrays(terms), empty_arrays(terms)
        cpu_kernel(terms.kernel_spec)(
            np.uint64(first), count, keys(seed), *terms.kernel_arguments(), *on_cpu
        )
        gpu.play_on_gpu(
            terms.kernel_spec, first, count, keys(seed), *terms.kernel_arguments(), *on_gpu[:3]
        )
        same = all(np.array_equal(a, b) for a, b in zip(on_cpu[:3], on_gpu[:3], strict=True))
        print(f"{'identical' if same else 'DIFFERENT'}: {name}, {count} sessions, {on_cpu[0][:4]}")
        if not same:
            raise SystemExit("GPU and CPU disagree, so the rate would mean nothing")


# --- measurements -------------------------------------------------------------------------------


def no_philox(c0: Any, c1: Any, _c2: Any, _c3: Any, k0: Any, _k1: Any) -> Any:
    """Return four words at almost no cost, in place of `philox`."""
    word = uint32(low32(c1 * uint32(2654435761) + c0 * uint32(40503) + k0)) >> uint32(1)
    return word, word ^ uint32(0x2AAAAAAA), word ^ uint32(0x55555555), word ^ uint32(0x7FFFFFFF)


def fold_word(word: Any, state: Any, _terms: Any, _odds: Any, _line: Any) -> Any:
    """Consume a word without playing its rounds, in place of `play_word`."""
    return state[0], state[1], state[2], state[3], int32(state[4] ^ int32(word >> uint32(1)))


def fold_rolls(word: Any, state: Any, _terms: Any, odds: Any, _line: Any) -> Any:
    """Consume the three rolls of a word, in place of `play_word`."""
    edge = odds[0][0]
    second = shift_to_next_roll(word)
    won = int32(word < edge) + int32(second < edge) + int32(shift_to_next_roll(second) < edge)
    return state[0], state[1], state[2], state[3], int32(state[4] + won)


fold_word.__name__ = fold_rolls.__name__ = "play_word"
no_philox.__name__ = "philox"


def measure(
    name: str, terms: Terms, sessions: int, blocks: int, threads: int, runs: int,
    replacements: tuple[Any, ...] = (), counts: bool = False, **options: Any,
) -> float:  # fmt: skip
    """Print and return the rounds per second of a launch, the median of some runs."""
    spec = KernelSpec(**{**spec_fields(terms.kernel_spec), "counts": counts})
    kernel = gpu.gpu_kernel(spec, None, replacements, **options)
    arguments = terms.kernel_arguments()
    arrays = [cuda.to_device(each) for each in (*arguments[2:], *empty_arrays(terms)[:3])]
    sums = arrays[-3]
    launch = kernel[blocks, threads]

    def timed_launch(seed: int, count: int) -> float:
        start = perf_counter()
        launch(np.uint64(0), np.int64(count), keys(seed), *arguments[:2], *arrays)
        cuda.synchronize()
        return perf_counter() - start

    timed_launch(1, min(sessions, blocks * threads))
    registers: Any = getattr(kernel, "get_regs_per_thread", dict)()
    used = next(iter(registers.values()), 0) if isinstance(registers, dict) else registers
    before = sums.copy_to_host()[PLAYED]
    times = [timed_launch(seed, sessions) for seed in range(2, 2 + runs)]
    played = (sums.copy_to_host()[PLAYED] - before) / runs
    rate = sessions * terms.rounds / median(times)
    print(
        f"{rate:.3e} rounds/s  best {sessions * terms.rounds / min(times):.3e}  "
        f"of them staked {played / median(times):.3e}  {name}  "
        f"{blocks} x {threads} threads, {sessions} sessions of {terms.rounds}, {used} registers, "
        f"{options or ''} {median(times) * 1e3:.1f} ms",
        flush=True,
    )
    return rate


def spec_fields(spec: KernelSpec) -> dict[str, Any]:
    """Return the fields of a spec by name."""
    return {name: getattr(spec, name) for name in KernelSpec.__slots__}


def measure_all(processors: int, sessions: int, runs: int) -> float:
    """Measure everything, and return the best rate of the unchanged kernel."""
    best, best_grid = 0.0, (8, 256)
    print("\n-- the launch grid")
    for threads in (64, 128, 256, 512):
        for per_processor in (2048 // threads, 8192 // threads, 65536 // threads):
            blocks = processors * per_processor
            rate = measure("martingale", MARTINGALE, sessions, blocks, threads, runs)
            best, best_grid = max((best, best_grid), (rate, (per_processor, threads)))
    blocks, threads = processors * best_grid[0], best_grid[1]
    print(f"\n-- registers, at {best_grid[0]} blocks a processor of {threads} threads")
    for max_registers in (40, 48, 56, 64, 80):
        rate = measure(
            "martingale", MARTINGALE, sessions, blocks, threads, runs, max_registers=max_registers
        )
        best = max(best, rate)
    blocks, threads = gpu.launch_grid()  # few threads, so that adding their sums costs little
    print("\n-- with a bankroll that lasts, so that every round is staked")
    lasting = Terms("martingale", 10_000_000, 10, 10, 500, 200, BIG)
    measure("martingale, 10,000,000", lasting, sessions, blocks, threads, runs)
    print("\n-- the limits")
    whole_blocks = Terms("martingale", 1000, 10, 10, 500, 204, BIG)
    for name, replacements in (
        ("204 rounds, whole blocks", ()),
        ("without its generator", (no_philox,)),
        ("the generator alone, words", (fold_word,)),
        ("the generator alone, rolls compared", (fold_rolls,)),
    ):
        measure(name, whole_blocks, sessions, blocks, threads, runs, replacements)
    print("\n-- with histograms")
    measure(
        "final bankrolls and ends", MARTINGALE, sessions // 2, blocks, threads, runs, counts=True
    )
    print("\n-- other plans")
    for plan in ("flat", "paroli", "dalembert", "fibonacci", "oscars-grind", "labouchere"):
        terms = Terms(plan, 1000, 10, 10, 500, 200, BIG)
        measure(plan, terms, sessions // 2, blocks, threads, max(runs // 2, 1))
    return best


def print_opcodes() -> None:
    """Print the instruction counts of the kernel, and write its machine code to $OUT."""
    kernel = gpu.gpu_kernel(KernelSpec(**{**spec_fields(MARTINGALE.kernel_spec), "counts": False}))
    for kind, method in (("ptx", "inspect_asm"), ("sass", "inspect_sass")):
        try:
            text = next(iter(getattr(kernel, method)().values()))
        except Exception as error:  # a missing disassembler is not an error
            print(f"no {kind}: {type(error).__name__}: {str(error)[:120]}")
            continue
        (OUT / f"martingale.{kind}").write_text(text)
        opcodes = [found for line in text.splitlines() if (found := opcode(line, kind))]
        print(f"{kind}: {len(opcodes)} instructions; {Counter(opcodes).most_common(24)}")


def opcode(line: str, kind: str) -> str:
    """Return the instruction in a line of machine code, or empty text."""
    text = line.strip()
    if kind == "ptx":
        is_instruction = text and text[0] not in "./{}$@" and text.endswith(";")
        return text.split()[0] if is_instruction else ""
    if "/*0" not in text or ";" not in text:
        return ""
    words = [word for word in text.split("*/", 1)[1].split() if not word.startswith("@")]
    return words[0].rstrip(";") if words else ""


def main() -> None:
    """Check, then measure."""
    quick = "--quick" in sys.argv
    versions = f"numba {numba.__version__}, numba-cuda {cuda_version()}, numpy {np.__version__}"
    print(f"{device_name()}; {versions}; Python {sys.version.split()[0]}")
    check_vectors()
    check_sessions(8 if quick else 50_000)
    if quick:
        sums = np.zeros(len(SUMS), np.int64)
        print("quick:", sums.shape, draw_block(0, 0, 0, 0, 0)[0], philox(0, 0, 0, 0, 0, 0)[0])
        return
    processors = int(cuda.get_current_device().MULTIPROCESSOR_COUNT)
    sessions = int(os.environ.get("SESSIONS", str(2**29)))
    best = measure_all(processors, sessions, runs=5)
    print_opcodes()
    print(f"\nbest rate of the unchanged kernel: {best:.3e} Martingale rounds per second")


def device_name() -> str:
    """Return the name of the device."""
    if gpu.config.ENABLE_CUDASIM:
        return "a simulated GPU"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def cuda_version() -> str:
    """Return the version of numba-cuda, if it is installed."""
    try:
        return version("numba-cuda")
    except PackageNotFoundError:
        return "as part of numba"


if __name__ == "__main__":
    main()
