# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual: pages included in the extension, opened by buttons and by *Online Manual* in the context menu of every setting.

The pages are local files, because the project has no reliable web site. `make docs` creates them at their location in the zip.
"""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import StringProperty
from bpy.types import Context, Operator

__all__ = ["ANCHORS", "FIRST_BAKE", "FRONT", "PAGES", "PLACES", "register", "unregister"]

PAGES = Path(__file__).resolve().parents[2] / "manual"
FRONT = "README.html"
FIRST_BAKE = "docs/first-bake.html"
SETTINGS = "docs/settings.html"
BAKING = "docs/baking.html"
SWEEPS = "docs/sweeps.html"
DESTRUCTION = "docs/destruction.html"

# Headings of properties on the page of settings, by type.
ANCHORS = {
    "ObjectStiction": {
        "material": "material",
        "use_mu_static": "static-friction",
        "mu_static": "static-friction",
        "use_mu_dynamic": "dynamic-friction",
        "mu_dynamic": "dynamic-friction",
        "use_grain": "grain",
        "grain_direction": "direction-of-a-grain",
        "mu_across": "friction-across",
        "use_mu_across_dynamic": "dynamic-friction-across",
        "mu_across_dynamic": "dynamic-friction-across",
        "use_restitution": "bounciness",
        "restitution": "bounciness",
        "mass_source": "mass-source",
        "density": "density",
        "rolling": "rolling-friction",
        "torsion": "torsional-friction",
        "center_of_mass": "center-of-mass",
        "center_object": "object-of-the-center",
        "own_inertia": "override-inertia",
        "moments": "moments-of-inertia",
        "use_collider": "collider",
        "surface_velocity": "velocity-of-a-surface",
        "surface_spin": "spin-of-a-surface",
        "use_flexible": "flexible-body",
        "young": "stiffness",
        "poisson": "poissons-ratio",
        "damping_ratio": "damping",
        "use_large_bends": "large-bends",
        "modes": "modes",
        "resolution": "bricks",
        "pin_group": "pin-group",
        "initial_motion": "begins",
        "velocity": "velocity",
        "angular_velocity": "angular-velocity",
        "blend_frames": "blend-to-keyframes",
        "hold_bodies": "hold-bodies",
    },
    "SceneStiction": {
        "method": "method",
        "tolerance": "tolerance",
        "moving_tolerance": "moving-tolerance",
        "max_iterations": "maximum-iterations",
        "threads": "threads",
        "step_time_limit": "step-time-limit",
        "recovery_speed": "recovery-speed",
        "use_substeps": "substeps",
        "substeps": "substeps",
        "use_frame_range": "override-frame-range",
        "frame_start": "start",
        "frame_end": "end",
        "use_sleeping": "sleep-at-rest",
        "friction_combine": "combine-friction",
        "cache_directory": "cache-folder",
        "keep_contacts": "keep-contacts",
        "pair_object": "against",
    },
    "PairFriction": {
        "a": "material-of-a-pair",
        "b": "against-in-a-pair",
        "mu_static": "static-friction-of-a-pair",
        "mu_dynamic": "dynamic-friction-of-a-pair",
    },
    "SceneDisplay": {
        "show_grid": "show-grid",
        "show_contacts": "contacts-in-the-viewport",
        "show_normal_forces": "normal-forces",
        "show_friction_forces": "friction-forces",
        "show_friction_cones": "friction-cones",
        "only_selected": "only-selected",
        "force_length": "length-per-newton",
        "show_statistics": "plots",
        "statistics_corner": "corner",
        "show_frames": "frames-in-timeline",
    },
    "CollectionBonds": {
        "use_bonds": "bonds-of-a-collection",
        "material": "material-of-bonds",
        "tension": "tensile-strength",
        "shear": "shear-strength",
        "gap": "largest-gap",
        "use_release": "release",
        "release_frame": "frame-of-a-release",
    },
    "CollectionActivation": {
        "use_activation": "activation-of-a-collection",
        "use_hold": "hold",
        "use_release": "release-bonds",
        "use_frame": "wake-at-a-frame",
        "wake_frame": "frame-of-waking",
        "use_volume": "wake-in-a-volume",
        "volume_object": "volume",
        "use_proximity": "wake-near-an-object",
        "near_object": "near-object",
        "distance": "distance-of-waking",
        "use_impulse": "wake-at-an-impact",
        "least_impulse": "impulse-of-waking",
        "use_value": "wake-by-a-value",
        "value_object": "object-of-a-value",
        "value_name": "property-of-a-value",
    },
    "SceneDebrisSettings": {
        "per_area": "debris-per-area",
        "joint_area": "area-of-joints",
        "per_joule_of_hits": "debris-per-joule-of-hits",
        "per_joule_of_scrapes": "debris-per-joule-of-scrapes",
        "least_impulse": "minimum-impulse-of-debris",
        "least_speed": "minimum-speed-of-debris",
        "lifetime": "lifetime-of-debris",
        "seed": "seed-of-debris",
    },
    "ObjectSound": {"material": "sound-material", "volume": "volume-of-a-sound"},
    "SceneSound": {"scraping": "scraping", "support_loss": "support-loss", "seed": "seed-of-a-sound"},
    "WedgeAxis": {"field": "parameter", "body": "body-of-an-axis", "values": "values"},
    "SceneWedge": {"workers": "workers", "folder": "folder-of-a-sweep"},
}
# The pages about buttons, by how the names of their operators begin. With fields of dialogs Blender asks for these too.
PLACES = {
    "wedge": f"{SWEEPS}#from-the-panel",
    "cancel_wedge": f"{SWEEPS}#from-the-panel",
    "open_sheet": f"{SWEEPS}#from-the-panel",
    "change_wedge_axes": f"{SWEEPS}#what-can-be-varied",
    "bake_sound": "docs/sound.html",
    "export_sound_events": "docs/sound.html#the-table",
    "bake_to_keyframes": f"{BAKING}#bake-to-keyframes",
    "bake_to_bones": f"{BAKING}#bake-to-bones",
    "bake": f"{BAKING}#bake-pause-and-resume",
    "pause": f"{BAKING}#bake-pause-and-resume",
    "cancel": f"{BAKING}#bake-pause-and-resume",
    "free_bake": f"{BAKING}#free-bake",
    "find_frames": f"{BAKING}#files-and-the-cache",
    "add_pieces": f"{BAKING}#bodies-as-one-object",
    "remove_pieces": f"{BAKING}#bodies-as-one-object",
    "check_scene": f"{BAKING}#check-scene",
    "select_found": f"{BAKING}#check-scene",
    "mend_found": f"{BAKING}#check-scene",
    "set_thresholds": f"{BAKING}#check-scene",
    "fracture": f"{DESTRUCTION}#fracture",
    "join_back": f"{DESTRUCTION}#join-back",
    "use_proxies": f"{DESTRUCTION}#proxies",
    "convex_parts": f"{DESTRUCTION}#convex-parts",
    "remove_proxies": f"{DESTRUCTION}#proxies",
    "add_contact_points": f"{BAKING}#contacts-for-geometry-nodes-impacts-for-sound",
    "export_impacts": f"{BAKING}#contacts-for-geometry-nodes-impacts-for-sound",
    "add_debris": f"{DESTRUCTION}#debris",
    "export_debris": f"{DESTRUCTION}#debris",
    "fit_forces": f"{SETTINGS}#length-per-newton",
    "jump_to_worst": f"{BAKING}#statistics",
    "export_certificate": f"{BAKING}#statistics",
    "export_farm_job": "docs/farms.html",
    "play": f"{BAKING}#play-with-stiction",
    "keep_play": f"{BAKING}#play-with-stiction",
    "settle": "docs/settle.html#settle",
    "add_world": f"{BAKING}#check-scene",
    "reactions_to_curves": "docs/scene.html#rigid-body-constraints",
    "stop_compiling": "docs/headless.html#compiling-and-farms",
    "export_usd": "docs/interchange.html#in-blender",
    "import_usd": "docs/interchange.html#in-blender",
    "export_gltf": "docs/interchange.html#in-blender",
    "import_gltf": "docs/interchange.html#in-blender",
    "copy_to_selected": f"{SETTINGS}#surface",
    "apply_material": f"{SETTINGS}#surface",
    "apply_stiffness": f"{SETTINGS}#flexible",
    "apply_solver_preset": f"{SETTINGS}#solver",
    "add_pair": f"{SETTINGS}#pairs",
    "remove_pair": f"{SETTINGS}#pairs",
    "add_published_pairs": f"{SETTINGS}#pairs",
    "save_pairs": f"{SETTINGS}#pairs",
    "load_pairs": f"{SETTINGS}#pairs",
    "add_": "docs/gallery.html",
    "open_manual": FRONT,
}


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the map in Blender's format: the prefix of all addresses, and their suffixes by patterns of lower-case names."""
    if not PAGES.is_dir():
        return "", ()
    settings = [
        (f"bpy.types.{owner.lower()}.{name}", f"{SETTINGS}#{anchor}")
        for owner, anchors in ANCHORS.items()
        for name, anchor in anchors.items()
    ]
    buttons = [(f"bpy.ops.stiction.{name}*", place) for name, place in PLACES.items()]
    return f"{PAGES.as_uri()}/", (*settings, *buttons)


class STICTION_OT_open_manual(Operator):
    """Open the manual of Stiction"""

    bl_idname = "stiction.open_manual"
    bl_label = "Manual"

    page: StringProperty(name="Page", description="With the heading after #", default=FRONT, options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: Context) -> set[str]:
        file = PAGES / self.page.partition("#")[0]
        if not file.is_file():
            self.report({"ERROR"}, f"There is no file {file}; install Stiction again, or run `make docs` in its repository")
            return {"CANCELLED"}
        bpy.ops.wm.url_open(url=f"{PAGES.as_uri()}/{self.page}")
        return {"FINISHED"}


def register() -> None:
    """Add the operator, and the addresses for *Online Manual*."""
    bpy.utils.register_class(STICTION_OT_open_manual)
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_manual_map(manual_map)
    bpy.utils.unregister_class(STICTION_OT_open_manual)
