import type { Protocol } from "../object-server/server.ts";
import { startServiceChild, type ServiceProcess } from "./service-process.ts";

/**
 * Starts the kit's object server on a free port of 127.0.0.1, in a process of its own. It keeps its data in memory.
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startObjects(protocol: Protocol): Promise<ServiceProcess> {
  const child = new URL("./object-child.ts", import.meta.url);
  child.searchParams.set("protocol", protocol);
  return await startServiceChild(`The object server (${protocol})`, child);
}
