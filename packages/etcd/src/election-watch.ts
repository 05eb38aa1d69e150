import { onAbort } from "@leasehold/core/provider";
import type { StoreParts } from "./parts.ts";
import type { Json } from "./transport.ts";
import { keyValue, objects } from "./wire.ts";

/**
 * Yields when etcd has begun to watch all keys of an election, when a candidate comes or goes, and when a note ends a term. Ends
 * when etcd ends the watch. A watch may lose events (etcd-io/etcd#18089), so its reader polls as well.
 * @throws {StoreError} for every failure. After an abort, the signal's reason.
 */
export async function* watchElection(
  { requests, keysOf }: StoreParts,
  election: string,
  signal: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  const keys = keysOf(election);
  const creates: readonly Json[] = [{ ...keys.candidates }, { ...keys.notes }];
  const stopping = new AbortController();
  const stopListening = onAbort(signal, (reason) => stopping.abort(reason));
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
    stopListening();
    stopping.abort();
  }
}

/** Reports whether an event only changed the value of a candidate's key. */
function isValueOnly({ type, kv }: Json, prefix: string): boolean {
  const { key, createRevision, modRevision } = keyValue(kv as Json);
  return type !== "DELETE" && key.startsWith(prefix) && createRevision !== modRevision;
}
