"""Martingale rounds on a GPU: the same numbers as the CPU's, and how many of them in a second.

Run it with `python benchmarks/gpu.py` where there is an NVIDIA GPU with numba and numba-cuda; it
needs nothing else of Threedice than this checkout. It checks the generator against the published
vectors, then whole sessions against the CPU bit for bit, and only then measures: the kernel in
several shapes of launch, without its generator, the generator alone, with every final bankroll
counted. `--quick` does a little of each (with `NUMBA_ENABLE_CUDASIM=1`, without a GPU).
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

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))  # run as a file, in no environment

import numba
import numpy as np
from numpy import int32, uint32

from threedice.sim.kernels import gpu
from threedice.sim.kernels.compiler import KernelSpec, compile_dependencies, cpu_kernel
from threedice.sim.kernels.generator import draw_block, low32, philox, shift_to_next_roll
from threedice.sim.kernels.plans import MOVES
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
    """Yield sessions of every kind: what they are called, their terms, seed and first number."""
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


def room(terms: Terms) -> list[Any]:
    """Return sums, ends, finals and paths, all nothing yet."""
    return [np.zeros(shape, np.int64) for shape in terms.histograms.array_shapes(terms.rounds)]


def keys(seed: int) -> tuple[Any, Any]:
    """Return a seed as the key of the generator."""
    return uint32(seed & 0xFFFFFFFF), uint32(seed >> 32)


def check_vectors() -> None:
    """Draw the published vectors on the device."""
    device = compile_dependencies(
        MARTINGALE.kernel_spec, MOVES["flat"], gpu.compile_device_inline, (), {"wide": uint32}
    )
    on_device = device["philox"]

    def one(counter: Any, out: Any) -> None:
        words = on_device(counter[0], counter[1], counter[2], counter[3], counter[4], counter[5])
        for i in range(4):
            out[i] = words[i]

    kernel = cuda.jit(one)
    for counter, expected in VECTORS:
        out = np.zeros(4, np.uint32)
        kernel[1, 1](np.array(counter, np.uint32), out)
        told = " ".join(f"{each:08x}" for each in out)
        print(f"vector {'ok' if told == expected else 'WRONG'}: {told}")
        if told != expected:
            raise SystemExit("the generator is wrong on this device")


def check_sessions(count: int) -> None:
    """Play sessions of every kind on both devices and compare every number."""
    for name, terms, seed, first in checks():
        ours, theirs = room(terms), room(terms)
        cpu_kernel(terms.kernel_spec)(
            np.uint64(first), count, keys(seed), *terms.kernel_arguments(), *ours
        )
        gpu.play_on_gpu(
            terms.kernel_spec, first, count, keys(seed), *terms.kernel_arguments(), *theirs[:3]
        )
        same = all(np.array_equal(a, b) for a, b in zip(ours[:3], theirs[:3], strict=True))
        print(f"{'identical' if same else 'DIFFERENT'}: {name}, {count} sessions, {ours[0][:4]}")
        if not same:
            raise SystemExit("GPU and CPU disagree, so its speed would mean nothing")


# --- what is measured ---------------------------------------------------------------------------


def no_philox(c0: Any, c1: Any, _c2: Any, _c3: Any, k0: Any, _k1: Any) -> Any:
    """Return four words that cost next to nothing, in place of `philox`."""
    word = uint32(low32(c1 * uint32(2654435761) + c0 * uint32(40503) + k0)) >> uint32(1)
    return word, word ^ uint32(0x2AAAAAAA), word ^ uint32(0x55555555), word ^ uint32(0x7FFFFFFF)


def fold_word(word: Any, state: Any, _terms: Any, _odds: Any, _line: Any) -> Any:
    """Use up a word without playing its rounds, in place of `play_word`."""
    return state[0], state[1], state[2], state[3], int32(state[4] ^ int32(word >> uint32(1)))


def fold_rolls(word: Any, state: Any, _terms: Any, odds: Any, _line: Any) -> Any:
    """Use up the three rolls of a word, in place of `play_word`."""
    edge = odds[0][0]
    second = shift_to_next_roll(word)
    won = int32(word < edge) + int32(second < edge) + int32(shift_to_next_roll(second) < edge)
    return state[0], state[1], state[2], state[3], int32(state[4] + won)


fold_word.__name__ = fold_rolls.__name__ = "play_word"
no_philox.__name__ = "philox"


def measure(
    name: str, terms: Terms, sessions: int, blocks: int, threads: int, runs: int,
    instead: tuple[Any, ...] = (), counts: bool = False, **options: Any,
) -> float:  # fmt: skip
    """Print and return how many rounds a second a launch plays, the median of some runs."""
    shape = KernelSpec(**{**shape_words(terms.kernel_spec), "counts": counts})
    kernel = gpu.gpu_kernel(shape, None, instead, **options)
    arguments = terms.kernel_arguments()
    there = [cuda.to_device(each) for each in (*arguments[2:], *room(terms)[:3])]
    launch = kernel[blocks, threads]

    def once(seed: int, many: int) -> float:
        began = perf_counter()
        launch(np.uint64(0), np.int64(many), keys(seed), *arguments[:2], *there)
        cuda.synchronize()
        return perf_counter() - began

    once(1, min(sessions, blocks * threads))
    registers: Any = getattr(kernel, "get_regs_per_thread", dict)()
    used = next(iter(registers.values()), 0) if isinstance(registers, dict) else registers
    before = there[-3].copy_to_host()[PLAYED]
    taken = [once(seed, sessions) for seed in range(2, 2 + runs)]
    played = (there[-3].copy_to_host()[PLAYED] - before) / runs
    rate = sessions * terms.rounds / median(taken)
    print(
        f"{rate:.3e} rounds/s  best {sessions * terms.rounds / min(taken):.3e}  "
        f"of them staked {played / median(taken):.3e}  {name}  "
        f"{blocks} x {threads} threads, {sessions} sessions of {terms.rounds}, {used} registers, "
        f"{options or ''} {median(taken) * 1e3:.1f} ms",
        flush=True,
    )
    return rate


def shape_words(shape: KernelSpec) -> dict[str, Any]:
    """Return a shape as the words that make it."""
    return {name: getattr(shape, name) for name in KernelSpec.__slots__}


def measure_all(processors: int, sessions: int, runs: int) -> float:
    """Measure everything, and return the best rate of the kernel as it is."""
    best, shape = 0.0, (8, 256)
    print("\n-- the launch")
    for threads in (64, 128, 256, 512):
        for each in (2048 // threads, 8192 // threads, 65536 // threads):
            rate = measure("martingale", MARTINGALE, sessions, processors * each, threads, runs)
            best, shape = max((best, shape), (rate, (each, threads)))
    blocks, threads = processors * shape[0], shape[1]
    print(f"\n-- registers, at {shape[0]} blocks a processor of {threads} threads")
    for most in (40, 48, 56, 64, 80):
        rate = measure(
            "martingale", MARTINGALE, sessions, blocks, threads, runs, max_registers=most
        )
        best = max(best, rate)
    blocks, threads = (
        gpu.launch_grid()
    )  # few threads, so that adding up costs nothing beside the rest
    print("\n-- with a bankroll that lasts, so that every round is staked")
    lasting = Terms("martingale", 10_000_000, 10, 10, 500, 200, BIG)
    measure("martingale, 10,000,000", lasting, sessions, blocks, threads, runs)
    print("\n-- the limits")
    still = Terms("martingale", 1000, 10, 10, 500, 204, BIG)
    for name, instead in (
        ("204 rounds, no rest", ()),
        ("without its generator", (no_philox,)),
        ("the generator alone, words", (fold_word,)),
        ("the generator alone, rolls compared", (fold_rolls,)),
    ):
        measure(name, still, sessions, blocks, threads, runs, instead)
    print("\n-- everything counted")
    measure("final bankrolls and ends", MARTINGALE, sessions // 2, blocks, threads, runs,
            counts=True)  # fmt: skip
    print("\n-- other plans")
    for plan in ("flat", "paroli", "dalembert", "fibonacci", "oscars-grind", "labouchere"):
        terms = Terms(plan, 1000, 10, 10, 500, 200, BIG)
        measure(plan, terms, sessions // 2, blocks, threads, max(runs // 2, 1))
    return best


def tell_code() -> None:
    """Print what the machine code of the kernel is made of, and keep it where $OUT is."""
    kernel = gpu.gpu_kernel(KernelSpec(**{**shape_words(MARTINGALE.kernel_spec), "counts": False}))
    for kind, show in (("ptx", "inspect_asm"), ("sass", "inspect_sass")):
        try:
            text = next(iter(getattr(kernel, show)().values()))
        except Exception as error:  # a tool that is not there spoils nothing
            print(f"no {kind}: {type(error).__name__}: {str(error)[:120]}")
            continue
        (OUT / f"martingale.{kind}").write_text(text)
        words = [word for line in text.splitlines() if (word := opcode(line, kind))]
        print(f"{kind}: {len(words)} instructions; {Counter(words).most_common(24)}")


def opcode(line: str, kind: str) -> str:
    """Return the instruction that a line of machine code holds, if any."""
    text = line.strip()
    if kind == "ptx":
        plain = text and text[0] not in "./{}$@" and text.endswith(";")
        return text.split()[0] if plain else ""
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
    tell_code()
    print(f"\nbest of the kernel as it is: {best:.3e} Martingale rounds per second")


def device_name() -> str:
    """Return what the device is called."""
    if gpu.config.ENABLE_CUDASIM:
        return "a simulated GPU"
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def cuda_version() -> str:
    """Return the version of numba-cuda, or that of numba's own."""
    try:
        return version("numba-cuda")
    except PackageNotFoundError:
        return "as part of numba"


if __name__ == "__main__":
    main()
