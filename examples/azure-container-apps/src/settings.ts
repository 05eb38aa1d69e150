const { env } = process;

/** The variables that the constructs of @leasehold/infra-azure set, and defaults for your machine. */
export const settings = {
  election: env["ELECTION"] ?? "billing",
  /** The longest time for the work to end. Container Apps kill a replica 15 s after that. */
  drainTimeoutMs: Number(env["DRAIN_TIMEOUT_MS"] ?? 15_000),
  /** The port for Azure's probes. 0 is any free port. */
  healthPort: Number(env["HEALTH_PORT"] ?? 0),
};
