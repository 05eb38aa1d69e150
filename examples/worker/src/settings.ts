import { hostname } from "node:os";

const { env } = process;
const port = Number(env["PORT"] ?? 3000);

/** The settings from the environment. */
export const settings = {
  port,
  /** The address that others read while this process leads. */
  url: env["PUBLIC_URL"] ?? `http://${hostname()}:${port}`,
  /** The time for which others wait after the last sign of life of a leader. */
  leaseDurationMs: Number(env["LEASE_DURATION_MS"] ?? 15_000),
  /** The longest time for the task and the open requests to end. The platform has to wait longer before it kills the process. */
  drainTimeoutMs: Number(env["DRAIN_TIMEOUT_MS"] ?? 15_000),
};
