# SPDX-License-Identifier: GPL-3.0-or-later
"""The hash of a result says whether two bakes put all bodies into the same places, and nothing else."""

from dataclasses import replace

import numpy as np

import solver_core as sc
from solver_core.bake.report import build_report
from solver_core.bake.result_hash import ResultHash
from solver_core.scene.parts import ground

from ..bodies import body, material, scene

SCENE = scene(ground(material()), body(position=(0.0, 0.0, 0.11)))


def frames():
    return list(sc.Simulation(SCENE, substeps=1).frames(3))


def hash_of(frames):
    result = ResultHash()
    for frame in frames:
        result.add(frame)
    return result.hexdigest()


def test_another_run_has_the_same_hash_whatever_time_it_took():
    first, second = frames(), frames()
    slower = [replace(one, statistics=replace(one.statistics, seconds=one.statistics.seconds + 1.0)) for one in second]
    assert hash_of(first) == hash_of(slower)


def test_one_bit_of_one_pose_is_another_result():
    first = frames()
    poses = first[2].poses.copy()
    poses[1, 2] = np.nextafter(poses[1, 2], 1.0)
    assert hash_of([*first[:2], replace(first[2], poses=poses), *first[3:]]) != hash_of(first)


def test_fewer_frames_and_frames_in_another_order_are_another_result():
    first = frames()
    assert len({hash_of(first), hash_of(first[:-1]), hash_of(first[::-1])}) == 3


def test_the_report_has_it():
    simulation = sc.Simulation(SCENE, substeps=1)
    baked = list(simulation.frames(3))
    assert build_report(SCENE, simulation.settings, baked)["result"] == hash_of(baked)
