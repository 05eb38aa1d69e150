import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/** How to start dynalite. */
export interface DynaliteOptions {
  /** The port to listen on, for a service that comes back where it was. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /** How long the start may take before it fails, in milliseconds. @defaultValue 30000 */
  readonly startTimeoutMs?: number | undefined;
}

/**
 * Starts dynalite on 127.0.0.1: a DynamoDB that holds its data in memory and takes any credentials. Its `url` is what a
 * client calls the endpoint. Single-item conditional writes are atomic. It does not know transactions or
 * UpdateTimeToLive, and ignores ReturnValuesOnConditionCheckFailure; for these there is `startMoto`.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startDynalite({ port = 0, startTimeoutMs }: DynaliteOptions = {}): Promise<ServiceProcess> {
  const script = new URL("./dynalite-child.ts", import.meta.url);
  return await startServiceChild(script, [String(port)], { name: "dynalite", startTimeoutMs });
}
