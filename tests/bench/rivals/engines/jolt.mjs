// SPDX-License-Identifier: GPL-3.0-or-later
// Jolt as WebAssembly, npm's jolt-physics: node jolt.mjs SCENE.json POSES.json HZ velocity=10 position=2
import { createRequire } from "module";
import { readFileSync, writeFileSync } from "fs";
import process from "process";

const [source, target, hz, ...given] = process.argv.slice(2);
const options = Object.fromEntries(given.map((option) => option.split("=")));
const require = createRequire(process.env.RIVALS_NODE + "/");
const load = (await import(require.resolve("jolt-physics/wasm-compat"))).default;
const Jolt = await load();
const scene = JSON.parse(readFileSync(source));

const STATIC = 0, MOVING = 1;
const settings = new Jolt.JoltSettings();
const pairs = new Jolt.ObjectLayerPairFilterTable(2);
pairs.EnableCollision(STATIC, MOVING);
pairs.EnableCollision(MOVING, MOVING);
const layers = new Jolt.BroadPhaseLayerInterfaceTable(2, 2);
layers.MapObjectToBroadPhaseLayer(STATIC, new Jolt.BroadPhaseLayer(0));
layers.MapObjectToBroadPhaseLayer(MOVING, new Jolt.BroadPhaseLayer(1));
settings.mObjectLayerPairFilter = pairs;
settings.mBroadPhaseLayerInterface = layers;
settings.mObjectVsBroadPhaseLayerFilter = new Jolt.ObjectVsBroadPhaseLayerFilterTable(layers, 2, pairs, 2);
const world = new Jolt.JoltInterface(settings);
const system = world.GetPhysicsSystem();
const bodies = system.GetBodyInterface();
const solver = system.GetPhysicsSettings();
solver.mNumVelocitySteps = Number(options.velocity ?? 10);
solver.mNumPositionSteps = Number(options.position ?? 2);
system.SetPhysicsSettings(solver);
system.SetGravity(new Jolt.Vec3(...scene.gravity));

function add(half, [x, y, z, qw, qx, qy, qz], mass) {
  const shape = new Jolt.BoxShape(new Jolt.Vec3(...half), 0, null);
  const [kind, layer] = mass ? [Jolt.EMotionType_Dynamic, MOVING] : [Jolt.EMotionType_Static, STATIC];
  const creation = new Jolt.BodyCreationSettings(shape, new Jolt.RVec3(x, y, z), new Jolt.Quat(qx, qy, qz, qw), kind, layer);
  creation.mFriction = scene.mu;
  creation.mRestitution = creation.mLinearDamping = creation.mAngularDamping = 0;
  creation.mAllowSleeping = options.sleep === "yes";
  if (mass) {
    creation.mOverrideMassProperties = Jolt.EOverrideMassProperties_CalculateInertia;
    creation.mMassPropertiesOverride.mMass = mass;
  }
  const body = bodies.CreateBody(creation);
  bodies.AddBody(body.GetID(), mass ? Jolt.EActivation_Activate : Jolt.EActivation_DontActivate);
  return body;
}

add([50, 50, 0.5], [0, 0, -0.5, 1, 0, 0, 0], 0);
const boxes = scene.pose.map((pose, i) => add(scene.half[i], pose, scene.mass[i]));
const poses = () => boxes.map((body) => {
  const at = body.GetPosition(), turn = body.GetRotation();
  return [at.GetX(), at.GetY(), at.GetZ(), turn.GetW(), turn.GetX(), turn.GetY(), turn.GetZ()];
});
const frames = [poses()];
let seconds = 0;
for (let frame = 0; frame < scene.frames; frame++) {
  const begin = process.cpuUsage();
  for (let k = 0; k < hz / scene.fps; k++) world.Step(1 / hz, 1);
  const used = process.cpuUsage(begin);
  seconds += (used.user + used.system) / 1e6;
  frames.push(poses());
}
writeFileSync(target, JSON.stringify({ poses: frames, seconds }));
process.exit(0);
