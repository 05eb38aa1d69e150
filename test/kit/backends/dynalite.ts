import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/**
 * Starts dynalite on a free port of 127.0.0.1: a DynamoDB that keeps its data in memory and accepts any credentials. Its `url` is
 * a client's endpoint. Conditional writes of single items are atomic. It does not implement transactions or UpdateTimeToLive, and
 * ignores ReturnValuesOnConditionCheckFailure; for these there is `startMoto`.
 * @param folder where it keeps its data instead; one that is started again there has them, however the first one ended
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startDynalite(folder?: string): Promise<ServiceProcess> {
  const child = new URL("./dynalite-child.ts", import.meta.url);
  if (folder !== undefined) child.searchParams.set("folder", folder);
  return await startServiceChild("dynalite", child);
}
