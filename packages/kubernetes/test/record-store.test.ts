import { isLeaseholdError } from "@leasehold/core";
import { expect, test } from "vitest";
import { ELECTION, KubernetesWorld } from "./kubernetes-world.ts";

const REQUEST = { election: ELECTION, candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, timeoutMs: 5_000 };

test("a term is at least minTerm, and one that leaseTransitions cannot hold is refused before any write", async () => {
  const world = new KubernetesWorld();
  const store = world.store();
  const outcome = await world.clock.runUntil(store.acquire({ ...REQUEST, minTerm: 1_000 }));
  expect([outcome.acquired, world.spec.leaseTransitions]).toEqual([true, 1_000]);
  if (outcome.acquired) await world.clock.runUntil(store.release(outcome.lease, { timeoutMs: 5_000 }));
  const version = world.api.lease(ELECTION)?.metadata.resourceVersion;
  const refused: unknown = await world.clock
    .runUntil(store.acquire({ ...REQUEST, minTerm: 2 ** 31 }))
    .catch((error: unknown) => error);
  expect(isLeaseholdError(refused, "CONFIGURATION")).toBe(true);
  expect(world.api.lease(ELECTION)?.metadata.resourceVersion).toBe(version);
  const next = await world.clock.runUntil(store.acquire({ ...REQUEST, minTerm: 5 }));
  expect([next.acquired, world.spec.leaseTransitions]).toEqual([true, 1_001]);
});

test("a write leaves the labels and the other annotations of a Lease alone", async () => {
  const world = new KubernetesWorld();
  const metadata = { annotations: { "team.example/owner": "jobs" }, labels: { team: "jobs" } };
  world.api.overwrite(ELECTION, { metadata: metadata as never, spec: {} });
  const store = world.store();
  const outcome = await world.clock.runUntil(store.acquire(REQUEST));
  expect(outcome.acquired).toBe(true);
  expect(world.api.lease(ELECTION)?.metadata).toMatchObject(metadata);
});

test("a read never asks the server's cache, which may lag", async () => {
  const world = new KubernetesWorld();
  world.api.cacheLags = true;
  const paths: string[] = [];
  world.api.intercept = ({ path }) => void paths.push(path);
  world.api.overwrite(ELECTION, { spec: { leaseTransitions: 1 } });
  world.api.overwrite(ELECTION, { spec: { leaseTransitions: 2 } });
  expect((await world.clock.runUntil(world.store().read(ELECTION)))?.term).toBe(2);
  expect(paths).toEqual([`/apis/coordination.k8s.io/v1/namespaces/default/leases/${ELECTION}`]);
});

test.for(["read", "list", "acquire"] as const)("a Lease without a resourceVersion is refused (%s)", async (call) => {
  const world = new KubernetesWorld();
  // A patch with an empty one has no condition.
  const lease = { kind: "Lease", metadata: { name: ELECTION }, spec: {} };
  const body = call === "list" ? { kind: "LeaseList", items: [lease] } : lease;
  world.api.intercept = ({ method }) => (call !== "acquire" || method === "POST" ? { status: 200, body } : undefined);
  const store = world.store();
  const calls = {
    read: () => store.read(ELECTION),
    list: () => Array.fromAsync(store.list()),
    acquire: () => store.acquire(REQUEST),
  };
  const error: unknown = await world.clock.runUntil<unknown>(calls[call]()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: call === "acquire" });
});

test.each([{}, { items: null }, { items: [] }])("a list of no Leases may have no items: %j", async (items) => {
  const world = new KubernetesWorld();
  world.api.intercept = () => ({ status: 200, body: { kind: "LeaseList", metadata: {}, ...items } });
  await expect(world.clock.runUntil(Array.fromAsync(world.store().list()))).resolves.toEqual([]);
});

test("a list whose token has expired goes on with the names after it, and shows none twice", async () => {
  const world = new KubernetesWorld();
  const names = Array.from({ length: 250 }, (_, at) => `e-${String(at).padStart(3, "0")}`);
  for (const name of names) world.api.overwrite(name, { spec: { leaseTransitions: 1 } });
  const listed: string[] = [];
  await world.clock.runUntil(
    (async () => {
      for await (const { election } of world.store().list("e-")) {
        listed.push(election);
        // The second page comes too late.
        if (listed.length === 1) {
          world.api.overwrite("e-999", { spec: {} });
          world.api.compact();
        }
      }
    })(),
  );
  expect(listed.slice(0, 250)).toEqual(names);
  expect(new Set(listed).size).toBe(listed.length);
});
