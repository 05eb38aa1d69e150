import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/**
 * Starts dynalite on a free port of 127.0.0.1: a DynamoDB that holds its data in memory and takes any credentials. Its `url` is what a
 * client calls the endpoint. Single-item conditional writes are atomic. It does not know transactions or
 * UpdateTimeToLive, and ignores ReturnValuesOnConditionCheckFailure; for these there is `startMoto`.
 * @param folder where it keeps its data instead: one that is started again there, however it has ended, has them
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startDynalite(folder?: string): Promise<ServiceProcess> {
  const child = new URL("./dynalite-child.ts", import.meta.url);
  if (folder !== undefined) child.searchParams.set("folder", folder);
  return await startServiceChild("dynalite", child);
}
