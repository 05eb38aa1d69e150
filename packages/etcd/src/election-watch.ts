import type { StoreParts } from "./parts.ts";
import type { Json } from "./transport.ts";
import { keyValue, objects } from "./wire.ts";

/**
 * Wakes an observer at what etcd pushes of an election: once etcd watches all of its keys, and whenever a candidate comes or goes, or a term
 * is ended by a note. Ends where etcd ends the watch. A watch may lose what it should tell (etcd-io/etcd#18089), so its reader polls.
 * @throws {StoreError} whatever goes wrong; the signal's reason.
 */
export async function* watchElection(
  { requests, keysOf }: StoreParts,
  election: string,
  signal: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  const keys = keysOf(election);
  const creates: readonly Json[] = [{ ...keys.candidates }, { ...keys.notes }];
  const stopping = new AbortController();
  const stop = (): void => stopping.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  let created = 0;
  try {
    for await (const message of requests.watch(election, creates, stopping.signal)) {
      if (message["canceled"] === true) return;
      if (message["created"] === true) {
        created += 1;
        if (created === creates.length) yield;
      }
      if (objects(message["events"]).some((event) => !isValueOnly(event, keys.prefix))) yield;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stopping.abort();
  }
}

/** A candidate has put another value into its key, which stays. */
function isValueOnly({ type, kv }: Json, prefix: string): boolean {
  const { key, createRevision, modRevision } = keyValue(kv as Json);
  return type !== "DELETE" && key.startsWith(prefix) && createRevision !== modRevision;
}
