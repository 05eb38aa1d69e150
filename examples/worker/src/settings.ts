import { hostname } from "node:os";

const { env } = process;
const port = Number(env["PORT"] ?? 3000);

/** What the environment decides. */
export const settings = {
  port,
  /** What the others read while this process leads. */
  url: env["PUBLIC_URL"] ?? `http://${hostname()}:${port}`,
  /** For how long the others wait after the last sign of life of a leader. */
  leaseDurationMs: Number(env["LEASE_DURATION_MS"] ?? 15_000),
  /** How long the task and the requests under way may take to end. What stops this process has to wait for longer. */
  drainTimeoutMs: Number(env["DRAIN_TIMEOUT_MS"] ?? 15_000),
};
