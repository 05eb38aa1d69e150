import { expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld } from "./election-world.ts";
import { Lines } from "./lines.ts";

test("an election that is paused makes each standby warn once for each pause, with the reason and the time", async () => {
  const world = new ElectionWorld();
  const lines = new Lines();
  const [b, admin] = [world.candidate("b", { logger: lines }), world.candidate("admin")];
  const run = b.run();
  await admin.store.pause(ELECTION, { reason: "restoring" });
  const since = new Date(world.clock.wallMs()).toISOString();
  await world.clock.advance(1_000);
  await admin.store.break(ELECTION, { reason: "now", immediate: true });
  await world.clock.advance(5 * LEASE_MS);
  const message = `'${ELECTION}' is paused since ${since}: restoring. No candidate may acquire it until it is resumed.`;
  const attributes = { election: ELECTION, candidateId: "b", event: "paused" };
  expect(lines.all.filter((line) => line.message.includes("paused"))).toEqual([{ level: "warn", message, attributes }]);

  await admin.store.resume(ELECTION);
  await world.clock.advance(LEASE_MS);
  await admin.store.pause(ELECTION, { reason: "again" });
  await admin.store.break(ELECTION, { reason: "now", immediate: true });
  await world.clock.advance(5 * LEASE_MS);
  expect(lines.warnings.filter((line) => line.includes("paused"))).toHaveLength(2);
  run.stop();
  await run.settled;
});
