import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

/** The settings of a worker that the demo starts. */
export interface WorkerSettings {
  readonly candidateId: string;
  readonly store: StoreSettings;
  readonly election: string;
  readonly leaseDurationMs: number;
  readonly retryPeriodMs: number;
  /** The document that the leader writes to. */
  readonly ledgerName: string;
  readonly unitOfWorkMs: number;
  /** When the demo began, by the host's monotonic clock. */
  readonly originMs: number;
}

/** The message that asks a worker to stop itself once it leads and has no pending request. */
export const STAND_STILL = "stand still";

/** Returns the settings of this process, which is a worker. @throws an error if it is not a worker. */
export function workerSettings(): WorkerSettings {
  const [, , text] = process.argv;
  if (text === undefined || !process.connected) throw new Error("This is a worker of the demo, which starts it: npm run demo.");
  return JSON.parse(text) as WorkerSettings;
}
