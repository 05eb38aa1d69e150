import { createServer } from "node:http";
import { setTimeout } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Elector } from "@leasehold/core";
import { publishMetrics } from "@leasehold/core/diagnostics";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";

// CandidateService sets all of these.
const { LEASE_TABLE: tableName = "", LEASE_TABLE_REGION: region = "", ELECTION: election = "" } = process.env;
const { DRAIN_TIMEOUT_MS = "15000", HEALTH_PORT = "8080" } = process.env;

const elector = new Elector({
  // Use the table's region, wherever this program runs.
  store: new DynamoDBLeaseStore({ client: new DynamoDBClient({ region }), tableName }),
  election,
  drainTimeoutMs: Number(DRAIN_TIMEOUT_MS),
  // ECS will kill a task that does not stop. Exit now, so that a standby takes over sooner.
  onOverrun: "exit",
});
elector.on("newLeader", ({ leader }) =>
  console.log(JSON.stringify({ election, leader: leader?.candidateId, term: leader?.term })),
);

// Healthy once the table was reached, and from then on, because an outage is no reason to replace every candidate.
const health = createServer((_request, response) => {
  const now = elector.health();
  response.writeHead(now.lastContactAgeMs === undefined ? 503 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(now));
}).listen(Number(HEALTH_PORT), "127.0.0.1");

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

const metrics = publishMetrics(elector);
try {
  // Put the leader's work here, in steps that check the signal.
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await setTimeout(1_000, undefined, { signal });
    },
    { signal: stopping.signal },
  );
} finally {
  metrics.stop();
  health.close();
}
