import { setTimeout as sleep } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";

const store = new SqlLeaseStore({ sqlite: "leases.db" });
const elector = new Elector({ store, election: "nightly-billing", leaseDurationMs: 5_000 });
elector.on("newLeader", ({ leader }) => console.log(leader ? `${leader.candidateId} leads` : "nobody leads"));

await elector.run(
  async ({ term, signal }) => {
    for (let customer = 1; !signal.aborted; customer += 1) {
      console.log(`term ${term}: customer ${customer} is billed`);
      await sleep(1_000, undefined, { signal });
    }
  },
  { stopOn: ["SIGTERM", "SIGINT"] },
);
