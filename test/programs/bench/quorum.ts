import { openStore, testStore } from "@leasehold/test-kit/stores/stores";
import type { Section } from "./section.ts";
import { summarize } from "./statistics.ts";
import { STEPS, takeTurns } from "./stores.ts";

/** The round trip to each member. SQLite is a file beside its process. */
const AWAY_MS: Readonly<Record<string, number>> = { sqlite: 0, dynamodb: 40, firestore: 160 };
const TURNS = { lastMemberMs: 400, warmUp: 3, turns: 15 };

export const quorum: Section = {
  name: "quorum",
  about: "milliseconds of each step on a quorum whose members are 0, 40 and 160 ms away",
  meaning:
    "A renewal, a look and a release are done when the second nearest member has answered: 40 ms. An acquisition reads all " +
    "members that answer, and has all of them promise, before the second nearest accepts: 160 + 160 + 40 ms.",
  takesS: 25,
  async measure() {
    await using service = await (await testStore("quorum")).start();
    for (const { name, proxy } of service.members ?? []) proxy?.delay(AWAY_MS[name]! / 2);
    const [leader, standby] = await Promise.all([openStore(service.settings), openStore(service.settings)]);
    try {
      const turns = await takeTurns(leader.store, standby.store, TURNS);
      return STEPS.map((step) => ({ measure: step, unit: "ms", ...summarize(turns[step].ms) }));
    } finally {
      await Promise.all([leader.close(), standby.close()]);
    }
  },
};
