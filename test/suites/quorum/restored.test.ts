/** A quorum of three SQLite files. Some are copied, and copied back later, like a restored backup. */
import { copyFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Lease } from "@leasehold/core/provider";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { inFile } from "@leasehold/test-kit/stores/sqlite-file";
import { expect, onTestFinished, test } from "vitest";

const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];
/** The data of a member, and its leases. */
const PARTS = ["", "-leasehold"] as const;
/** Longer than any test. */
const HELD = { leaseDurationMs: 600_000, renewIntervalMs: 200_000 };

/** A process's own stores on the files. */
interface Process {
  readonly store: QuorumLeaseStore;
  readonly files: Readonly<Record<Name, SqlLeaseStore>>;
}

async function world() {
  const folder = await memoryFolder("leasehold-quorum-restored-");
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = (name: Name): string => join(folder, `${name}.db`);
  const copy = (name: Name, from: string, to: string): void => {
    for (const part of PARTS) copyFileSync(`${path(name)}${part}${from}`, `${path(name)}${part}${to}`);
  };
  const open = async (without?: Name): Promise<Process> => {
    const at = (name: Name): SqlLeaseStore => {
      const file = new SqlLeaseStore({ sqlite: name === without ? join(folder, "nowhere", "a.db") : path(name) });
      onTestFinished(() => file.close());
      return file;
    };
    const files = { a: at("a"), b: at("b"), c: at("c") };
    return { files, store: new QuorumLeaseStore({ members: files, logger: false }) };
  };
  return {
    open,
    backUp: (name: Name) => copy(name, "", ".copy"),
    restore: (name: Name) => copy(name, ".copy", ""),
    empty: (name: Name) => inFile(`${path(name)}-leasehold`, (file) => file.exec("DELETE FROM leasehold_leases")),
    /** Returns the term of the election in a member's own file. */
    termAt: (name: Name): unknown =>
      inFile(
        `${path(name)}-leasehold`,
        (file) => file.prepare("SELECT term FROM leasehold_leases WHERE election = ?").get(ELECTION)?.["term"],
      ),
    guardedWrite: async ({ files }: Process, name: Name, lease: Lease): Promise<void> => {
      const data = new DatabaseSync(path(name));
      try {
        data.exec("CREATE TABLE IF NOT EXISTS work (term INTEGER)");
        data.exec("BEGIN");
        await files[name].fence(lease, data);
        data.prepare("INSERT INTO work VALUES (?)").run(lease.term);
        data.exec("COMMIT");
      } finally {
        data.close();
      }
    },
  };
}

/** Leads for a number of terms, one after the other. Returns the last of their leases, which has ended. */
async function lead({ store }: Process, terms: number): Promise<Lease> {
  for (let term = 1; ; term += 1) {
    const lease = await win(store, HELD);
    await store.renew(lease, LIMITS);
    await store.release(lease, LIMITS);
    if (term === terms) return lease;
  }
}

test("a member that is restored from a copy costs the leader nothing, is written anew by it, and counts then", async () => {
  const { open, backUp, restore, termAt, guardedWrite } = await world();
  const one = await open();
  const first = await win(one.store, HELD);
  await one.store.renew(first, LIMITS);
  await one.store.check({ election: ELECTION, ...LIMITS });
  backUp("c");
  await one.store.release(first, LIMITS);
  const two = await open();
  const second = await win(two.store, HELD);
  await two.store.renew(second, LIMITS);
  await two.store.seal(second, "c", LIMITS);
  restore("c");
  expect(termAt("c")).toBe(1);

  // A process that has learnt of the loss does not use this member while another one is away. It then neither reads a leader nor
  // elects one.
  await expect((await open("a")).store.acquire({ election: ELECTION, candidateId: "b", ...HELD, ...LIMITS })).rejects.toThrow(
    /No majority of a, b, c answers\. a: .* c: it has forgotten what it had promised/,
  );
  expect(await one.store.renew(first, LIMITS)).toMatchObject({ held: false });
  expect(await (await open()).store.read(ELECTION, LIMITS)).toMatchObject({ holder: "a", term: 2 });

  while (termAt("c") !== 2) {
    expect(await two.store.renew(second, LIMITS)).toMatchObject({ held: true });
    await two.store.check({ election: ELECTION, ...LIMITS });
  }
  // The member's fence was restored too, and was raised again.
  await two.store.seal(second, "c", LIMITS);
  await guardedWrite(two, "c", second);
  await expect(guardedWrite(two, "c", first)).rejects.toMatchObject({ code: "FENCED" });
  expect(await (await open("a")).store.read(ELECTION, LIMITS)).toMatchObject({ holder: "a", term: 2 });
  expect(await two.store.release(second, LIMITS)).toBe("released");
  expect(await win((await open("a")).store)).toMatchObject({ term: 3 });
});

test("two that are restored at the same time are noticed: nobody leads until all were emptied, and a minTerm goes above all terms", async () => {
  const { open, backUp, restore, empty, guardedWrite } = await world();
  const before = await open();
  await lead(before, 2);
  for (const name of ["b", "c"] as const) backUp(name);
  const last = await lead(before, 3);
  expect(last.term).toBe(5);
  for (const name of ["b", "c"] as const) restore(name);

  const candidate = { election: ELECTION, candidateId: "after", ...HELD, ...LIMITS };
  const stuck = await open();
  await expect(stuck.store.acquire({ ...candidate, minTerm: 100 })).rejects.toMatchObject({
    message: expect.stringMatching(/b: it has forgotten what it had promised.* c: it has forgotten/),
  });

  // The fences are in the data files, and stay.
  for (const name of NAMES) empty(name);
  const after = await open();
  const lease = await win(after.store, { ...candidate, minTerm: 100 });
  expect(lease.term).toBe(100);
  for (const name of NAMES) {
    await after.store.seal(lease, name, LIMITS);
    await guardedWrite(after, name, lease);
    await expect(guardedWrite(after, name, last)).rejects.toMatchObject({ code: "FENCED", currentTerm: 100 });
  }
  await after.store.release(lease, LIMITS);
  expect(await win((await open()).store)).toMatchObject({ term: 101 });
});

test("a minTerm raises the term of a leader, and the fence of each member that it seals with it; a lesser one changes nothing", async () => {
  const { open, guardedWrite } = await world();
  const one = await open();
  const first = await win(one.store, HELD);
  for (const name of NAMES) await one.store.seal(first, name, LIMITS);
  await one.store.release(first, LIMITS);

  const two = await open();
  const second = await win(two.store, { ...HELD, minTerm: 1_000 });
  expect(second.term).toBe(1_000);
  for (const name of NAMES) {
    await two.store.seal(second, name, LIMITS);
    await guardedWrite(two, name, second);
    await expect(guardedWrite(two, name, first)).rejects.toMatchObject({ code: "FENCED", currentTerm: 1_000 });
  }
  await two.store.release(second, LIMITS);
  expect(await win((await open()).store, { minTerm: 7 })).toMatchObject({ term: 1_001 });
});
