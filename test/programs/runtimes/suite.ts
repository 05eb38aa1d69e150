/**
 * Runs the public interface of core, and every case of the conformance suite in memory, on SQLite and on PostgreSQL. It needs no test runner, so that
 * Bun and Deno can run it. The exit code is 1 if anything fails.
 */
import { mkdtemp, rm } from "node:fs/promises";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conformance, type Runner } from "@leasehold/conformance";
import { Elector, isLeaseholdError, MemoryLeaseStore, Observer } from "@leasehold/core";
import { inMemory } from "@leasehold/test-kit/conformance/memory";
import { startPostgresPlaces } from "../../../packages/sql/test/postgres-place.ts";
import { onServer } from "../../../packages/sql/test/sql-place.ts";
import { onSqlite } from "../../../packages/sql/test/sqlite-place.ts";

interface Test {
  readonly title: string;
  readonly body: () => Promise<void>;
}

const tests: Test[] = [];
const runner: Runner = {
  describe: (_, register) => register(),
  it: (title, body) => void tests.push({ title, body: async () => body() }),
};

runner.it("core: run() leads until its signal aborts, and an observer sees the leader", async () => {
  const store = new MemoryLeaseStore();
  const elector = new Elector({ store, election: "e", candidateId: "a", logger: false });
  const stop = new AbortController();
  const led = Promise.withResolvers<number>();
  const running = elector.run(({ term, signal }) => {
    led.resolve(term);
    return new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }, stop);
  assert.equal(await led.promise, 1);
  assert.equal(elector.isLeader, true);
  for await (const leader of new Observer({ store, election: "e" }).observe()) {
    assert.equal(leader?.candidateId, "a");
    break;
  }
  const other = new Elector({ store, election: "e", candidateId: "b", logger: false });
  const outcome = await other.tryRun(() => 5);
  assert.equal(outcome.elected ? undefined : outcome.leader?.candidateId, "a");
  stop.abort();
  await running;
  assert.deepEqual(await other.tryRun(() => 5), { elected: true, term: 2, result: 5 });
});

runner.it("core: a leadership held by hand ends with its block, and a wrong option is a ConfigurationError", async () => {
  const store = new MemoryLeaseStore();
  const elector = new Elector({ store, election: "e", logger: false });
  {
    await using leadership = await elector.campaign();
    assert.equal(leadership.isValid(), true);
  }
  assert.equal((await store.read("e"))?.state, "vacant");
  assert.throws(
    () => new Elector({ store, election: "" }),
    (error) => isLeaseholdError(error, "CONFIGURATION"),
  );
});

const folder = await mkdtemp(join(tmpdir(), "leasehold-runtime-"));
conformance(runner, inMemory);
conformance(
  runner,
  onSqlite("sqlite", () => join(folder, `${randomUUID()}.db`)),
);
const server = await startPostgresPlaces();
conformance(
  runner,
  onServer("postgres", () => server),
);
let failed = 0;
for (const { title, body } of tests) {
  try {
    await body();
  } catch (error) {
    failed += 1;
    console.log(`failed  ${title}\n${error instanceof Error ? error.stack : String(error)}`);
  }
}
await server.stop();
await rm(folder, { recursive: true, force: true });
console.log(`${tests.length - failed} tests passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
