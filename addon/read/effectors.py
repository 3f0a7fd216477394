# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects whose force fields act on the rigid bodies of a scene, their weights, and the absorbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bpy.types import LayerCollection, Object, Scene, ViewLayer

__all__ = ["WEIGHTS", "absorbers_of", "effectors_of", "has_field", "weight_of"]

# Names of weights by the type of field.
WEIGHTS = {
    "FORCE": "force",
    "WIND": "wind",
    "VORTEX": "vortex",
    "MAGNET": "magnetic",
    "HARMONIC": "harmonic",
    "CHARGE": "charge",
    "LENNARDJ": "lennardjones",
    "TURBULENCE": "turbulence",
    "DRAG": "drag",
    "GUIDE": "curve_guide",
    "TEXTURE": "texture",
    "FLUID_FLOW": "smokeflow",
    "BOID": "boid",
}


def has_field(ob: Object) -> bool:
    """Return True if the object is a force field. If it is a body, no other field acts on it."""
    return ob.field is not None and ob.field.type != "NONE"


def effectors_of(scene: Scene, layer: ViewLayer) -> list[Object]:
    """Return objects with a force field, or with particles that have one, by name.

    They are those of the world's effector collection, if it has one, otherwise of the view layer, that are not disabled in the
    viewport. Hiding them with the eye icon has no effect.
    """
    collection = scene.rigidbody_world.effector_weights.collection
    members: Iterable[Object] = enabled_in(layer) if collection is None else collection.all_objects
    return sorted(
        (ob for ob in set(members) if not ob.hide_viewport and (has_field(ob) or particle_fields(ob))),
        key=lambda ob: ob.name_full,
    )


def absorbers_of(layer: ViewLayer) -> list[Object]:
    """Return objects that collide with particles and so absorb fields, by name."""
    return sorted(
        (ob for ob in set(enabled_in(layer)) if any(one.type == "COLLISION" for one in ob.modifiers) and ob.collision.use),
        key=lambda ob: ob.name_full,
    )


def particle_fields(ob: Object) -> list[str]:
    """Return the names of particle systems that are force fields."""
    return [
        system.name
        for system in ob.particle_systems
        if any(one is not None and one.type != "NONE" for one in (system.settings.force_field_1, system.settings.force_field_2))
    ]


def weight_of(scene: Scene, kind: str) -> float:
    """Return the weight of a field type for the scene's rigid bodies."""
    weights = scene.rigidbody_world.effector_weights
    return weights.all * getattr(weights, WEIGHTS[kind])


def enabled_in(layer: ViewLayer) -> Iterator[Object]:
    """Yield the objects of a view layer that are enabled in the viewport, some perhaps more than once."""

    def within(one: LayerCollection) -> Iterator[Object]:
        if not one.exclude and not one.collection.hide_viewport:
            yield from (ob for ob in one.collection.objects if not ob.hide_viewport)
            for child in one.children:
                yield from within(child)

    # Children of an excluded collection may be included; those of a disabled collection are not.
    def included(one: LayerCollection) -> Iterator[Object]:
        if one.exclude and not one.collection.hide_viewport:
            for child in one.children:
                yield from included(child)
        else:
            yield from within(one)

    yield from included(layer.layer_collection)
