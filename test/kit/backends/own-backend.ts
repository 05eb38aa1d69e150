/** Any of the backends, which can be owned. */
export interface Backend {
  readonly pid: number;
  pause(): Promise<void>;
  stop(): Promise<void>;
}

/** An owner's use of its backend, once it has started. */
export type Then = "serve" | "pause" | "stop";

/** Starts a backend, does `then`, and prints the backend's process id. For programs that own one. */
export async function ownBackend(start: () => Promise<Backend>, then: Then): Promise<void> {
  const backend = await start();
  if (then === "pause") await backend.pause();
  if (then === "stop") await backend.stop();
  process.stdout.write(`${JSON.stringify({ pid: backend.pid })}\n`);
}
