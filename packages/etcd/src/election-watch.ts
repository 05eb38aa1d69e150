import type { LeaseSnapshot } from "@leasehold/core";
import { DEFAULT_REQUEST_TIMEOUT_MS, sleep } from "@leasehold/core/provider";
import type { ElectionKeys } from "./keys.ts";
import type { StoreParts } from "./parts.ts";
import { lookingAtAll, sightingOf, snapshotOf, type ElectionData } from "./sighting.ts";
import type { Json } from "./transport.ts";
import { keyValue, objects, type KeyValue } from "./wire.ts";

/** A watch goes on from a fresh reading after so long, since it may lose what it should tell, or stall: no event is trusted alone. */
const READ_ANEW_MS = 30_000;
/** What one transaction writes comes in several messages, one right after the other. */
const GATHERED_MS = 10;

/**
 * Tells an observer who leads, from what etcd pushes: without a request for each change. Yields the election at once, and whenever it
 * changes; ends where etcd ends the watch.
 * @throws {StoreError} whatever goes wrong; the signal's reason.
 */
export async function* watchElection(
  parts: StoreParts,
  election: string,
  signal: AbortSignal,
): AsyncGenerator<LeaseSnapshot | undefined, void, undefined> {
  for (;;) {
    const isAnew = yield* watchFromReading(parts, election, signal);
    if (!isAnew) return;
  }
}

/** Watches from a reading on. Returns whether it is time for another one; else etcd has ended the watch. */
async function* watchFromReading(
  { clock, requests, reader, keysOf }: StoreParts,
  election: string,
  signal: AbortSignal,
): AsyncGenerator<LeaseSnapshot | undefined, boolean, undefined> {
  const keys = keysOf(election);
  const limits = { timeoutMs: DEFAULT_REQUEST_TIMEOUT_MS, signal };
  const { header, ranges } = await requests.read("watch", election, lookingAtAll(keys), limits);
  const known = new Known(keys, ranges);
  const news = new News();
  const stopping = new AbortController();
  const stop = (): void => {
    stopping.abort(signal.reason);
    news.tell();
  };
  signal.addEventListener("abort", stop, { once: true });
  const timer = clock.setTimer(() => news.tell(), READ_ANEW_MS);
  const readMs = clock.monotonicMs();
  let yielded: string | undefined;
  try {
    const creates = [keys.candidates, keys.infos, keys.notes].map((range) => ({
      ...range,
      start_revision: String(header.revision + 1),
    }));
    void news.follow(requests.watch(election, creates, stopping.signal));
    for (;;) {
      const sighting = sightingOf(election, keys, header.revision, known.data);
      reader.saw(sighting);
      const snapshot = snapshotOf(sighting, reader.lastTerm(election));
      const key = JSON.stringify(snapshot ?? null);
      if (key !== yielded) yield snapshot;
      yielded = key;
      await news.next();
      if (clock.monotonicMs() - readMs >= READ_ANEW_MS) return true;
      await sleep(clock, GATHERED_MS, signal);
      for (const message of news.take()) {
        if (message["canceled"] === true) return false;
        for (const event of objects(message["events"])) known.apply(event);
      }
      if (news.isOver) return false;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    timer.cancel();
    stopping.abort();
  }
}

/** The keys of an election, as a reading and the events since have shown them. */
class Known {
  readonly #prefixes: readonly string[];
  readonly #parts: ReadonlyArray<Map<string, KeyValue>>;

  constructor(keys: ElectionKeys, ranges: ReadonlyArray<readonly KeyValue[]>) {
    this.#prefixes = [keys.prefix, keys.info(""), keys.note("")];
    this.#parts = this.#prefixes.map((_, index) => new Map((ranges[index] ?? []).map((one) => [one.key, one])));
  }

  get data(): ElectionData {
    const [candidates = [], infos = [], notes = []] = this.#parts.map((part) => [...part.values()]);
    return { candidates, infos, notes };
  }

  apply({ type, kv }: Json): void {
    const one = keyValue(kv as Json);
    const part = this.#parts[this.#prefixes.findIndex((prefix) => one.key.startsWith(prefix))];
    if (type === "DELETE") part?.delete(one.key);
    else part?.set(one.key, one);
  }
}

/** The messages of a watch, gathered until somebody takes them. */
class News {
  readonly #messages: Json[] = [];
  #isTold = false;
  #wake: (() => void) | undefined;
  isOver = false;
  #failure: { readonly error: unknown } | undefined;

  async follow(watch: AsyncIterable<Json>): Promise<void> {
    try {
      for await (const message of watch) {
        if (message["created"] === true && message["canceled"] !== true) continue;
        this.#messages.push(message);
        this.tell();
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.isOver = true;
    this.tell();
  }

  tell(): void {
    this.#isTold = true;
    this.#wake?.();
  }

  /** Waits until there is something to take, or somebody tells. @throws what the watch has thrown. */
  async next(): Promise<void> {
    if (!this.#isTold) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isTold = false;
    if (this.#failure) throw this.#failure.error;
  }

  take(): readonly Json[] {
    return this.#messages.splice(0);
  }
}
