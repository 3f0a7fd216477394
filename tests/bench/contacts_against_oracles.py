# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of all 21 pairs of convex shapes against proof, search and MuJoCo, in random poses.

    python -m tests.bench.contacts_against_oracles [--poses 1000] [--seed 1]

What is judged and how is in tests/core/contact_oracle.py. The status is 1 when a contact is wrong, missed or invented, or a
disagreement with MuJoCo is not settled. Without MuJoCo only proof and search are used.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from importlib.util import find_spec

import numpy as np

from ..core.contact_oracle import PAIRS, pool, poses, tally
from .records import write_rows

COLUMNS = (
    ("apart", "apart", "d"),
    ("wrong", "wrong", "d"),
    ("missed", "missed", "d"),
    ("invented", "invented", "d"),
    ("distance", "distance", ".1e"),
    ("depth", "depth", ".1e"),
    ("angle", "normal", ".1e"),
    ("faces", "face", "d"),
    ("normals_off", "turned", "d"),
    ("edges", "edges", "d"),
    ("compared", "MuJoCo", "d"),
    ("agreed", "agreed", "d"),
    ("mujoco_off", "it is off", "d"),
    ("unsettled", "unsettled", "d"),
    ("turn", "turn", ".1e"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=1000, help="of each pair of shapes")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    mujoco = None
    solids = pool()
    if find_spec("mujoco") is not None:
        from ..core.mujoco_oracle import MujocoOracle

        mujoco = MujocoOracle(solids)
        solids = mujoco.solids | {"cone": solids["cone"]}
    rows = []
    print(f"{'pair':18s}" + "".join(f"{title:>10s}" for _, title, _ in COLUMNS))
    for number, pair in enumerate(PAIRS):
        random = np.random.default_rng([arguments.seed, number])
        row = asdict(tally(random, poses(random, solids, pair, arguments.poses), mujoco))
        rows.append({"pair": "-".join(pair), "seed": arguments.seed} | row)
        print(f"{'-'.join(pair):18s}" + "".join(f"{row[key]:>10{shown}}" for key, _, shown in COLUMNS), flush=True)
    print(f"{sum(row['poses'] for row in rows)} poses; figures in {write_rows('contacts_against_oracles', rows)}")
    return int(any(row[key] for row in rows for key in ("wrong", "missed", "invented", "unsettled")))


if __name__ == "__main__":
    sys.exit(main())
