const { env } = process;

/** What the constructs of @leasehold/infra-azure set, and what is fit for your machine without them. */
export const settings = {
  election: env["ELECTION"] ?? "billing",
  /** How long the work may take to end. Container Apps kill a replica 15 s after that. */
  drainTimeoutMs: Number(env["DRAIN_TIMEOUT_MS"] ?? 15_000),
  /** Of a job, by UTC. */
  schedule: env["LEADER_SCHEDULE"] ?? "* * * * *",
  /** How long the work of an occurrence may take. */
  timeoutMs: Number(env["LEADER_TIMEOUT_MS"] ?? 600_000),
};
