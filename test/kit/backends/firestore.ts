import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/** A Firestore in a process of its own, with its data in memory. It does not outlive this process. */
export interface FirestoreProcess extends Omit<ServiceProcess, "url"> {
  /** `127.0.0.1:<port>`: a client's `host`, with `ssl: false`. */
  readonly host: string;
}

/**
 * Starts `@leasehold/test-kit/firestore-server` on a free port of 127.0.0.1. `advance` moves its clock, which never goes back. If
 * it is moved back, it almost stops until the time that it has shown before.
 * @param databases the ids of the databases that exist
 * @throws an error with the process's stderr, if it ends or takes too long before it serves.
 */
export async function startFirestore(databases: readonly string[] = ["(default)"]): Promise<FirestoreProcess> {
  const child = new URL("./firestore-child.ts", import.meta.url);
  for (const id of databases) child.searchParams.append("database", id);
  const service = await startServiceChild("The Firestore server", child);
  return {
    host: new URL(service.url).host,
    pid: service.pid,
    advance: (ms) => service.advance(ms),
    pause: () => service.pause(),
    resume: () => service.resume(),
    stop: () => service.stop(),
    [Symbol.asyncDispose]: () => service.stop(),
  };
}
