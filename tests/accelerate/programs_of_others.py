# SPDX-License-Identifier: Apache-2.0
"""Programs of others, from Debian's packages: what they compute with the engine is what they compute without.

    programs_of_others.py LIBRARY [--ranks 2,4] [--lab] [--folder FOLDER] [NAME...]

Each runs twice without and once with the engine. Where two runs without differ, their difference is shown
and only the checks of the program's own count. Programs that are not installed are named and left out:
apt-get install lammps hpcc quantum-espresso quantum-espresso-data gromacs gromacs-data openfoam
openfoam-examples scalapack-mpi-test.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests")
SECONDS_MAX = 100
#: Runs without the engine, after one with it has failed: some programs hang by themselves at times.
RETRIES = 5


class MissingError(Exception):
    """A program or its input is not installed."""


@dataclass(frozen=True)
class Program:
    name: str
    #: Writes inputs into an empty folder, for a number of ranks. Raises MissingError.
    prepare: Callable[[Path, int], None]
    command: Sequence[str]
    #: What it computed, of its output and its folder; numbers of time are left out.
    result: Callable[[str, Path], str]
    #: Whether it ends with MPI_Abort, and so reports nothing of the engine.
    aborts: bool = False


def need(path: str | Path) -> Path:
    found = shutil.which(path) if isinstance(path, str) else path
    if found is None or not Path(found).exists():
        raise MissingError(f"no {path}")
    return Path(found)


def lines(pattern: str) -> Callable[[str, Path], str]:
    """The lines of the output that match."""
    return lambda text, _: "\n".join(line.rstrip() for line in text.splitlines() if re.search(pattern, line))


def prepare_melt(folder: Path, _ranks: int) -> None:
    need("lmp")
    shutil.copy(ROOT / "tests/record/programs/melt.in", folder)


def prepare_hpcc(folder: Path, ranks: int) -> None:
    need("hpcc")
    example = need(Path("/usr/share/doc/hpcc/examples/_hpccinf.txt"))
    text = re.sub(r"^\S+( +Ps)$", rf"{ranks // 2}\1", example.read_text(), flags=re.MULTILINE)
    (folder / "hpccinf.txt").write_text(text)


def result_of_hpcc(_text: str, folder: Path) -> str:
    text = (folder / "hpccoutf.txt").read_text()
    success = re.findall(r"^Success=\d", text, re.MULTILINE)
    return f"{text.count('PASSED')} PASSED, {text.count('FAILED')} FAILED, {success}"


def prepare_espresso(folder: Path, _ranks: int) -> None:
    need("pw.x")
    examples = Path("/usr/share/doc/quantum-espresso/examples")
    found = sorted(examples.rglob("Si*.UPF.gz")) + sorted(examples.rglob("C_3.98148.UPF.gz"))
    if not found:
        raise MissingError("no pseudopotential of quantum-espresso-data")
    (folder / "atom.UPF").write_bytes(gzip.decompress(found[0].read_bytes()))
    name = found[0].name.split("_")[0].split(".")[0]
    (folder / "in").write_text(f"""&control
 calculation='scf', pseudo_dir='.', outdir='./out', prefix='x', tprnfor=.true.
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=24
/
&electrons
 conv_thr=1e-9
/
ATOMIC_SPECIES
{name} 28.0 atom.UPF
ATOMIC_POSITIONS alat
{name} 0.00 0.00 0.00
{name} 0.26 0.25 0.25
K_POINTS automatic
4 4 4 1 1 1
""")


def prepare_gromacs(folder: Path, _ranks: int) -> None:
    need("gmx_mpi")
    water = need(Path("/usr/share/gromacs/top/spc216.gro"))
    (folder / "water.top").write_text(
        '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spc.itp"\n'
        "[ system ]\nwater\n[ molecules ]\nSOL 1728\n"
    )
    (folder / "water.mdp").write_text(
        "integrator=md\nnsteps=200\ndt=0.001\nnstenergy=50\nnstlog=50\ncoulombtype=PME\nrcoulomb=0.9\n"
        "rvdw=0.9\ntcoupl=no\ngen_vel=yes\ngen_seed=1\nconstraints=none\n"
    )
    quiet = {"cwd": folder, "check": True, "capture_output": True, "text": True}
    subprocess.run(["gmx_mpi", "genconf", "-f", water, "-nbox", "2", "2", "2", "-o", "box.gro"], **quiet)
    grompp = ("grompp", "-f", "water.mdp", "-p", "water.top", "-c", "box.gro", "-o", "water.tpr", "-maxwarn", "5")
    subprocess.run(["gmx_mpi", *grompp], **quiet)


def result_of_gromacs(_text: str, folder: Path) -> str:
    log = (folder / "md.log").read_text()
    return "\n".join(re.findall(r"Total Energy.*\n.*", log))


def prepare_openfoam(folder: Path, ranks: int) -> None:
    need("icoFoam")
    os.environ.setdefault("WM_PROJECT_DIR", "/usr/share/openfoam")
    case = need(Path("/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity"))
    shutil.copytree(case, folder, dirs_exist_ok=True)
    for packed in folder.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    (folder / "system/decomposeParDict").write_text(
        "FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }\n"
        f"numberOfSubdomains {ranks};\nmethod simple;\n"
        f"simpleCoeffs {{ n ({ranks // 2} 2 1); delta 0.001; }}\n"
    )
    for tool in ("blockMesh", "decomposePar"):
        subprocess.run([need(tool)], cwd=folder, check=True, capture_output=True)


def prepare_scalapack(folder: Path, ranks: int) -> None:
    need(SCALAPACK)
    for data in (*SCALAPACK.glob("*.dat"), *SCALAPACK.glob("BLACS/*.dat")):
        shutil.copy(data, folder)


def result_of_scalapack(text: str, _folder: Path) -> str:
    tests = re.findall(r"^.*\btests (?:completed|passed|failed|skipped|were).*$", text, re.MULTILINE)
    counts = [f"{text.count(word)} {word}" for word in ("PASSED", "FAILED")]
    return "\n".join([*counts, *map(str.strip, tests)])


def result_of_blacs(text: str, _folder: Path) -> str:
    """Its last test is MPI_Abort, which cuts off an unknown part of the output."""
    failures = re.findall(r"^.*; .*\b[1-9]\d* FAILED.*$", text, re.MULTILINE)
    return "\n".join([f"{len(failures)} kinds of tests with failures", *failures]) if " 0 FAILED" in text else ""


def scalapack(name: str) -> Program:
    return Program(f"scalapack {name}", prepare_scalapack, (str(SCALAPACK / name),), result_of_scalapack)


def blacs(name: str) -> Program:
    return Program(name, prepare_scalapack, (str(SCALAPACK / "BLACS" / name),), result_of_blacs, aborts=True)


PROGRAMS = (
    Program(
        "lammps",
        prepare_melt,
        ("lmp", "-in", "melt.in", "-var", "n", "10", "-var", "steps", "200", "-log", "none"),
        lines(r"^ +\d+ +[-\d.]+ +[-\d.]+ +"),
    ),
    Program("hpcc", prepare_hpcc, ("hpcc",), result_of_hpcc),
    Program("quantum espresso", prepare_espresso, ("pw.x", "-i", "in"), lines(r"total energy  |Total force|^!")),
    Program(
        "gromacs", prepare_gromacs, ("gmx_mpi", "mdrun", "-s", "water.tpr", "-reprod", "-ntomp", "1"), result_of_gromacs
    ),
    Program("openfoam", prepare_openfoam, ("icoFoam", "-parallel"), lines(r"Solving for|time step continuity")),
    *map(scalapack, ("xdlu", "xdllt", "xcqr", "xdtrd", "xdhrd", "xdinv", "xdls", "xzsep", "xdsvd", "xdsyevr")),
    blacs("xCbtest"),
    blacs("xFbtest"),
)


def run(program: Program, folder: Path, ranks: int, library: str, *, in_lab: bool) -> str:
    """With an empty `library`: without the engine."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program.prepare(folder, ranks)
    ready = ["env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"]
    if library:
        ready += [f"LD_PRELOAD={library}"]
    start = [str(ROOT / "tools/mpiexec"), str(ranks)]
    if in_lab:
        start = [str(ROOT / ".venv/bin/plait"), "lab", "-n", str(ranks), "--"]
    done = subprocess.run(
        [*start, *ready, *program.command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if (done.returncode != 0) != program.aborts:
        raise RuntimeError(f"exit status {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    if library and not program.aborts and "went through the engine" not in done.stderr:
        raise RuntimeError(f"no message went through the engine:\n{(done.stdout + done.stderr)[-2000:]}")
    result = program.result(done.stdout, folder)
    if not result:
        raise RuntimeError(f"it computed nothing:\n{(done.stdout + done.stderr)[-2000:]}")
    return result


def compare(program: Program, folder: Path, ranks: int, library: str, *, in_lab: bool) -> bool:
    def result(with_library: str) -> str:
        return run(program, folder, ranks, with_library, in_lab=in_lab)

    label = f"{program.name:<24} {ranks} ranks{' in the lab' if in_lab else ''}"
    try:
        without = {result(""), result("")}
    except MissingError as missing:
        print(f"left out  {label}: {missing}")
        return True
    except (RuntimeError, subprocess.SubprocessError) as error:
        print(f"left out  {label}: it fails without the engine: {error}")
        return True
    try:
        ours = result(library)
    except (RuntimeError, subprocess.SubprocessError) as error:
        for _ in range(RETRIES):
            try:
                result("")
            except (RuntimeError, subprocess.SubprocessError):
                print(f"unsure    {label}: it fails without the engine too, at times")
                return True
        print(f"FAILED    {label}: {error}")
        return False
    if ours in without:
        print(f"same      {label}: {len(ours.splitlines())} lines")
        return True
    if len(without) > 1:
        print(f"close     {label}: two runs without the engine differ as well")
        return True
    print(f"DIFFERENT {label}\n--- without\n{without.pop()[-1500:]}\n--- with\n{ours[-1500:]}")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("names", nargs="*", help="only those whose names contain one of these")
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--lab", action="store_true", help="on two hosts of a lab in place of this one")
    parser.add_argument("--folder", type=Path)
    wishes = parser.parse_args()
    chosen = [one for one in PROGRAMS if not wishes.names or any(name in one.name for name in wishes.names)]
    all_good = True
    with tempfile.TemporaryDirectory() as scratch:
        for program in chosen:
            for ranks in map(int, wishes.ranks.split(",")):
                folder = (wishes.folder or Path(scratch)) / program.name.replace("/", "-").replace(" ", "-")
                good = compare(program, folder, ranks, str(wishes.library.resolve()), in_lab=wishes.lab)
                all_good = all_good and good
                sys.stdout.flush()
    return 0 if all_good else 1


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    raise SystemExit(main())
