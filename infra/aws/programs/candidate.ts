import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { publishMetrics } from "@leasehold/dynamodb/cloudwatch";
import { setTimeout } from "node:timers/promises";

const { LEASE_TABLE: tableName = "", ELECTION: election = "", DRAIN_TIMEOUT_MS = "15000" } = process.env;

const elector = new Elector({
  store: new DynamoDBLeaseStore({ tableName }),
  election,
  drainTimeoutMs: Number(DRAIN_TIMEOUT_MS),
  // A task that does not stop is killed soon anyway: let others know now.
  onOverrun: "exit",
});
elector.on("newLeader", ({ leader }) =>
  console.log(JSON.stringify({ election, leader: leader?.candidateId, term: leader?.term })),
);

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

const metrics = publishMetrics(elector);
try {
  // What the leader does goes here, in steps that look at the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await setTimeout(1_000, undefined, { signal });
    },
    { signal: stopping.signal },
  );
} finally {
  metrics.stop();
}
