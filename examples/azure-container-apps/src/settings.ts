const { env } = process;

/** The variables that the constructs of @leasehold/infra-azure set, and defaults for your machine. */
export const settings = {
  election: env["ELECTION"] ?? "billing",
  /** The longest time for the work to end. Container Apps kill a replica 15 s after that. */
  drainTimeoutMs: Number(env["DRAIN_TIMEOUT_MS"] ?? 15_000),
  /** The job's schedule, in UTC. */
  schedule: env["LEADER_SCHEDULE"] ?? "* * * * *",
  /** The longest time for the work of an occurrence. */
  timeoutMs: Number(env["LEADER_TIMEOUT_MS"] ?? 600_000),
};
