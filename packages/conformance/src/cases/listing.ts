import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { type ListedElection, type LeaseStore, isLeaseholdError } from "@leasehold/core";
import type { ListOptions } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import { eventLoopTurn } from "../real-time.ts";
import type { Scenario } from "../scenario.ts";

/** More elections than one request of a list asks for. */
const MANY = 101;

/** Names that a wildcard, a path, a document's id or an order of another kind could misread. */
const NAMES: readonly string[] = [
  "p%q",
  "p_q",
  "pxq",
  "p/q",
  "P%q",
  "p\u00e9",
  "pe\u0301",
  "p'q",
  "p\\q",
  "p~",
  ".",
  "..",
  ".p",
  "__x__",
  "__xy",
  "_",
  "👩‍👩‍👧",
  "👩🏳️",
  "\ud7ff",
  "\ud7ffz",
  "\ue000",
  "\u{10ffff}",
  "\u{10ffff}\u{10ffff}",
  "\ufffd",
];
const PREFIXES: readonly string[] = [
  "",
  "p",
  "p%",
  "p_",
  "p/",
  "P",
  "pe",
  "p\u00e9",
  "p'",
  "p\\",
  ".",
  "..",
  "_",
  "__",
  "__x",
  "__x__",
  "👩",
  "👩‍👩‍👧",
  "\ud7ff",
  "\u{10ffff}",
  "\u{10ffff}\u{10ffff}\u{10ffff}",
  "none",
];

/** Cases: a list shows the elections of a store. */
export const listing: readonly Case[] = [
  {
    id: "list-empty",
    title: "a list that finds nothing ends without an entry",
    needs: ["list"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const sent = await scene.countRequests(async () => {
        assert.deepEqual(await listOf(scene, a, scene.election), []);
      });
      const [nothing] = scene.subject.requests.list ?? [1];
      assert.equal(sent, nothing, "a list that finds nothing sends as many requests as stated");
    },
  },
  {
    id: "list-states",
    title: "a list shows each election once, with its state, term, leader and value",
    needs: ["list"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { election } = scene;
      const free = `${election}-free`;
      const freed = await scene.win(a, "a", { election: free });
      await scene.leave(a, freed);
      const leases = [];
      for (const name of ["one", "two", "three"]) {
        leases.push(await scene.win(a, name, { election: `${election}-led-${name}`, value: `value of ${name}` }));
      }
      let listed: readonly ListedElection[] = [];
      const prefix = `${election}-led`;
      const elections = [prefix, ...leases.map((lease) => lease.election)];
      const sent = await scene.countRequests(async () => void (listed = await listOf(scene, b, prefix)), ...elections);
      assert.equal(listed.length, leases.length);
      for (const { election: name, term, candidateId } of leases) {
        const found = entryOf(listed, name);
        assert.ok(found && found.state !== "foreign", `${name} is missing`);
        assert.ok(["held", "unknown"].includes(found.state), `${name} is led, and the list says ${found.state}`);
        assert.deepEqual([found.term, found.holder, found.value], [term, candidateId, `value of ${candidateId}`]);
      }
      const [, three] = scene.subject.requests.list ?? [1, 1];
      assert.equal(sent, three, "a list of three elections sends as many requests as stated");
      const vacant = entryOf(await listOf(scene, b, free), free);
      if (vacant || scene.keepsRecord) {
        assert.ok(vacant && vacant.state !== "foreign", "an election without a leader is missing");
        scene.isFree(vacant, freed.term);
      }
    },
  },
  {
    id: "list-pages",
    title: "a list of more elections than one request gets has each of them once",
    needs: ["list"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { election } = scene;
      const leaseDurationMs = Math.min(10 * scene.leaseMs, a.capabilities.maxLeaseMs);
      const names = Array.from({ length: MANY }, (_, index) => `${election}-${index}`);
      for (const name of names) {
        const { acquired } = await a.acquire(scene.asking("a", { election: name, leaseDurationMs }));
        assert.ok(acquired, `nobody leads ${name}`);
      }
      const listed = await listOf(scene, b, `${election}-`);
      assert.deepEqual(listed.map((one) => one.election).toSorted(), names.toSorted());
    },
  },
  {
    id: "list-prefix",
    title: "a list has the elections whose names begin with the prefix, by code point, and no other",
    needs: ["list"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const leaseDurationMs = Math.min(10 * scene.leaseMs, a.capabilities.maxLeaseMs);
      for (const election of NAMES) await scene.win(a, "a", { election, leaseDurationMs });
      for (const prefix of PREFIXES) {
        const found = (await listOf(scene, b, prefix)).map((one) => one.election);
        const expected = NAMES.filter((name) => name.startsWith(prefix));
        assert.deepEqual(
          found.filter((name) => NAMES.includes(name)).toSorted(),
          expected.toSorted(),
          `the prefix ${JSON.stringify(prefix)}`,
        );
        assert.deepEqual(
          found.filter((name) => !name.startsWith(prefix)),
          [],
          `the prefix ${JSON.stringify(prefix)}`,
        );
      }
    },
  },
  {
    id: "list-foreign",
    title: "a list shows a record that is not a lease as foreign, with the problem, and hides no other because of it",
    needs: ["list", "foreign"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { place, election } = scene;
      const foreign = [`${election}-1-foreign`, `${election}-2-newer`];
      await place.writeRaw?.(`${election}-1-foreign`, "foreign");
      await place.writeRaw?.(`${election}-2-newer`, "newer-schema");
      await scene.win(a, "a", { election: `${election}-3-ours` });
      const listed = await listOf(scene, b, election);
      assert.deepEqual(listed.map((one) => one.election).toSorted(), [...foreign, `${election}-3-ours`]);
      for (const name of foreign) {
        const found = entryOf(listed, name);
        assert.ok(found?.state === "foreign", `${name} is listed as ${found?.state}`);
        assert.ok(found.problem !== "", "the entry must say what the problem is");
      }
      assert.notEqual(entryOf(listed, `${election}-3-ours`)?.state, "foreign");
    },
  },
  {
    id: "list-occurrences",
    title: "a list has no occurrences of a schedule",
    needs: ["list", "occurrences"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { election } = scene;
      await scene.win(a, "a");
      const occurrences = a.occurrences?.(election, { retentionMs: 10 * scene.leaseMs });
      assert.ok(occurrences, "lacks.occurrences does not say why there are none");
      const { acquired } = await occurrences.acquire(scene.asking("a", { election: `${election}-tick` }));
      assert.ok(acquired, "the occurrence cannot be claimed");
      const names = async (prefix: string): Promise<readonly string[]> =>
        (await listOf(scene, b, prefix)).map((one) => one.election).filter((name) => name.includes(election));
      assert.deepEqual(await names(election), [election]);
      assert.deepEqual(await names(""), [election]);
    },
  },
  {
    id: "list-abort",
    title: "a list that is called off ends with the signal's own reason, and leaves no listener behind",
    needs: ["list"],
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const { election } = scene;
      for (const name of ["one", "two"]) await scene.win(a, "a", { election: `${election}-${name}` });
      const reason = new Error("the caller's own reason");
      for (const entries of [0, 1]) {
        const stopping = new AbortController();
        if (entries === 0) stopping.abort(reason);
        const seen: ListedElection[] = [];
        const ending = await scene.ending(
          (async () => {
            for await (const entry of b.list(election, { ...scene.limits, signal: stopping.signal })) {
              seen.push(entry);
              stopping.abort(reason);
            }
          })(),
        );
        assert.ok("error" in ending && ending.error === reason, "a list that was called off rejects with the signal's reason");
        assert.equal(seen.length, entries, "a list that was called off goes on");
        assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a list that has ended still listens");
      }
    },
  },
  {
    id: "list-unanswered",
    title: "a list that nobody answers fails after the time of one request, and works again later",
    needs: ["list", "faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await scene.win(other, "b");
      await faults.loseRequests();
      const ending = await scene.ending(listOf(scene, store, scene.election));
      assert.ok("error" in ending && isLeaseholdError(ending.error), "a list without an answer must fail");
      assert.ok(ending.error.code.startsWith("STORE_"), `it fails with ${ending.error.code}`);
      await faults.heal();
      await scene.eventually("the list works again", async () => {
        const again = await scene.ending(listOf(scene, store, scene.election));
        return "value" in again && again.value.length === 1;
      });
    },
  },
  {
    id: "list-refused",
    title: "a list by a prefix with which no name can begin is refused before any request",
    needs: ["list"],
    async run(scene) {
      const [a] = await scene.connect(1);
      const bad: Readonly<Record<string, unknown>> = {
        "a control character": "a\u0000",
        "a lone surrogate": "a\ud83d",
        "256 bytes": "p".repeat(256),
        "a number": 7,
        null: null,
      };
      for (const [what, prefix] of Object.entries(bad)) {
        await scene.refuses(`a prefix of ${what}`, String(prefix), () => listOf(scene, a, prefix as string));
      }
      const { election } = scene;
      const limits = { timeoutMs: 0 } as ListOptions;
      await scene.refuses("a time of 0", election, () => listOf(scene, a, election, limits));
      const signal = "not a signal" as unknown as AbortSignal;
      await scene.refuses("a signal that is none", election, () => listOf(scene, a, election, { signal }));
    },
  },
];

/** Returns all entries of a list. @throws if one is there twice. */
async function listOf(
  scene: Scenario,
  store: LeaseStore,
  prefix: string,
  options: ListOptions = {},
): Promise<readonly ListedElection[]> {
  // Without this a store that answers without waiting would let no other running case proceed.
  await eventLoopTurn();
  const listed: ListedElection[] = [];
  for await (const entry of store.list(prefix, { ...scene.limits, ...options })) listed.push(entry);
  const names = listed.map(({ election }) => election);
  assert.equal(new Set(names).size, names.length, `an election is listed twice: ${names.join(", ")}`);
  return listed;
}

function entryOf(listed: readonly ListedElection[], name: string): ListedElection | undefined {
  return listed.find(({ election }) => election === name);
}
