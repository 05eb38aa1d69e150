import { startServiceChild } from "./service-process.ts";
import type { ServiceProcess } from "./service-process.ts";

/** How to start the server. */
export interface FirestoreOptions {
  /** The port to listen on, for a service that comes back where it was. @defaultValue 0, a free one */
  readonly port?: number | undefined;
  /** How long the start may take before it fails, in milliseconds. @defaultValue 30000 */
  readonly startTimeoutMs?: number | undefined;
}

/** A Firestore in a process of its own, holding its data in memory. It does not outlive this process. */
export interface FirestoreProcess extends Omit<ServiceProcess, "url"> {
  /** `127.0.0.1:<port>`: a client's `host`, with `ssl: false`. */
  readonly host: string;
}

/**
 * Starts `@leasehold/test-kit/firestore-server` on 127.0.0.1. Its clock, which `advance` moves, never goes back: moved back, it
 * stands almost still until the time that it has shown before.
 * @throws an error with what the process wrote to stderr, if it ends or takes too long before it serves.
 */
export async function startFirestore({ port = 0, startTimeoutMs }: FirestoreOptions = {}): Promise<FirestoreProcess> {
  const script = new URL("./firestore-child.ts", import.meta.url);
  const service = await startServiceChild(script, [String(port)], { name: "The Firestore server", startTimeoutMs });
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
