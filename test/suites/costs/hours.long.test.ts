/** What a leader and a standby ask of every store, counted for two minutes in real time. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { openStore, testStore } from "@leasehold/test-kit/stores/stores";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { describe, test } from "vitest";
import { RequestCounter, type Requests } from "../../programs/bench/request-counter.ts";
import { OF_A_MEMBER } from "./quorums.ts";
import { CHARGED_STORES, USAGES } from "./usage.ts";

/** What was sent before all is as it stays. */
const SETTLED_MS = 17_000;
const COUNTED_MS = 60_000;
const IN_AN_HOUR = 60;
/** One of the twelve that a leader sends in that time may come before or after it. */
const MOST = 9 / 8;
const LEAST = 7 / 8;
/** What a standby is charged with is the most: it may poll less, as its phase and what it is told have it. */
const LEAST_OF_STANDBY = 1 / 2;

/** The names under which the members of the kit's quorum send. */
const MEMBERS = ["sqlite", "dynamodb", "firestore"].map((name) => `${name} (${name})`);

describe.concurrent.each([...CHARGED_STORES, "quorum"] as const)("an hour on %s", async (name) => {
  const missing = await isMissing((await testStore(name)).missing());

  test.skipIf(missing)("has the requests that it is charged with", { timeout: 300_000 }, async ({ expect }) => {
    await using service = await (await testStore(name)).start();
    await using end = new AsyncDisposableStack();
    using counter = new RequestCounter();
    const election = `costs-${randomUUID()}`;
    const counted = async (): Promise<Requests> => {
      const open: OpenStore = await openStore(service.settings);
      end.defer(open.close);
      const elector = new Elector({ store: open.store, election });
      const run = elector.run(untilAborted);
      end.defer(async () => {
        await elector.stop();
        await run;
      });
      const senders = name === "quorum" ? MEMBERS : [open.store.name];
      await delay(SETTLED_MS);
      const before = counter.by(...senders);
      await delay(COUNTED_MS);
      const after = counter.by(...senders);
      return { reads: (after.reads - before.reads) * IN_AN_HOUR, writes: (after.writes - before.writes) * IN_AN_HOUR };
    };

    const alone = await counted();
    const both = await counted();

    const { leader, standby } = name === "quorum" ? ofAll(OF_A_MEMBER) : USAGES[name];
    for (const kind of ["reads", "writes"] as const) {
      expect.soft(alone[kind], `${kind} of a leader`).toBeLessThanOrEqual(MOST * leader[kind]);
      expect.soft(alone[kind], `${kind} of a leader`).toBeGreaterThanOrEqual(LEAST * leader[kind]);
      expect.soft(both[kind], `${kind} of both`).toBeLessThanOrEqual(MOST * (leader[kind] + standby[kind]));
      const least = LEAST * leader[kind] + LEAST_OF_STANDBY * standby[kind];
      expect.soft(both[kind], `${kind} of both`).toBeGreaterThanOrEqual(least);
    }
  });
});

function ofAll({ leader, standby }: typeof OF_A_MEMBER): Pick<typeof OF_A_MEMBER, "leader" | "standby"> {
  const times = MEMBERS.length;
  return {
    leader: { reads: times * leader.reads, writes: times * leader.writes },
    standby: { reads: times * standby.reads, writes: times * standby.writes },
  };
}
