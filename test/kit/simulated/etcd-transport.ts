import { carry, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import type { CallOptions, EtcdPath, EtcdReply, EtcdTransport, Json } from "@leasehold/etcd";
import { shown, textOf, type KeyEvent } from "./etcd-keys.ts";
import { MEMBERS, type EtcdService } from "./etcd-service.ts";

/** One stream of a watch, at the service. */
export interface WatchStream {
  /** True if it stalls: it yields nothing, and its client does not notice. */
  isStalled: boolean;
  push(events: readonly KeyEvent[]): void;
  /** Breaks the connection. */
  cut(): void;
}

/**
 * The time for which a client keeps a connection that was lost without an end: Node sends a keep-alive after a second of silence,
 * and gives up ten seconds later.
 */
const KEEP_ALIVE_MS = 11_000;

interface Watched {
  readonly from: string;
  /** The end of its range; `undefined` for a single key. */
  readonly to: string | undefined;
  readonly startRevision: number;
  readonly isPutFiltered: boolean;
}

export interface EtcdTransportOptions {
  readonly world: VirtualClock;
  readonly service: EtcdService;
  readonly process: ProcessClock;
  readonly network: Network;
  /** Returns the answer of a member to this process. */
  readonly answer: (path: EtcdPath, body: Json, member: string) => Json;
  /** All streams. */
  readonly streams: Set<WatchStream>;
  /** Returns the failure of a stream whose connection breaks. */
  readonly broken: () => Error;
}

/** The transport of one process to the simulated etcd, in place of HTTP. It uses one member, and the next one after a failure. */
export class SimulatedTransport implements EtcdTransport {
  readonly #options: EtcdTransportOptions;
  #current = 0;

  constructor(options: EtcdTransportOptions) {
    this.#options = options;
  }

  /** The member that it uses. */
  get member(): string {
    return MEMBERS[this.#current] as string;
  }

  async call(path: EtcdPath, body: Json, { endpoint, signal }: CallOptions): Promise<EtcdReply> {
    const { world, answer, process, network } = this.#options;
    const member = endpoint ?? this.member;
    const leave = (): void => this.#leave(member);
    // An abort makes this process use another member.
    signal.addEventListener("abort", leave, { once: true });
    try {
      const passage = network({ operation: operationOf(path, body) });
      return { body: await carry(world, process, passage, () => answer(path, body, member)), endpoint: member };
    } catch (error) {
      leave();
      throw error;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async *watch(requests: readonly Json[], { signal }: CallOptions): AsyncGenerator<Json, void, undefined> {
    const { world, service, process, network, streams, broken } = this.#options;
    const messages: Json[] = [];
    let failure: Error | undefined;
    let wake = Promise.withResolvers<void>();
    let lastMs = 0;
    const deliver = (act: () => void, lostMs?: number): void => {
      const [first, ...others] = network({ operation: "watch" }).arrivals;
      for (const afterMs of [first?.replyAfterMs ?? lostMs, ...others.map(({ replyAfterMs }) => replyAfterMs)]) {
        if (afterMs === undefined) continue;
        // Messages of one connection arrive in order.
        lastMs = Math.max(lastMs, world.monotonicMs() + afterMs);
        world.setTimer(() => process.deliver(act), lastMs - world.monotonicMs());
      }
    };
    const tell = (message: Json): void =>
      deliver(() => {
        messages.push({ header: service.header(this.member), ...message });
        wake.resolve();
      });
    const watched = requests.map(watchedBy);
    let isOpen = false;
    const stream: WatchStream = {
      isStalled: false,
      push: (events) => {
        if (stream.isStalled || !isOpen) return;
        const seen = events.filter((event) => watched.some((one) => isSeen(event, one)));
        if (seen.length > 0) tell({ events: seen.map(eventShown) });
      },
      cut: () => {
        streams.delete(stream);
        deliver(() => {
          failure = broken();
          wake.resolve();
        }, KEEP_ALIVE_MS);
      },
    };
    const open = (): void => {
      const { compacted } = service.keys;
      const startRevision = Math.min(...watched.map((one) => one.startRevision));
      if (startRevision <= compacted) return tell({ created: true, canceled: true, compact_revision: String(compacted) });
      isOpen = true;
      tell({ created: true });
      stream.push(service.keys.since(startRevision));
    };
    const onAbort = (): void => wake.resolve();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      streams.add(stream);
      const [arrival] = network({ operation: "watch" }).arrivals;
      if (arrival) world.setIdleTimer(open, arrival.afterMs);
      while (!signal.aborted) {
        await wake.promise;
        wake = Promise.withResolvers();
        if (signal.aborted) return;
        yield* messages.splice(0);
        if (failure) throw failure;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      streams.delete(stream);
    }
  }

  #leave(member: string): void {
    if (this.member === member) this.#current = (this.#current + 1) % MEMBERS.length;
  }
}

function operationOf(path: EtcdPath, { success, failure }: Json): string {
  if (path !== "/v3/kv/txn") return path.slice(path.lastIndexOf("/") + 1);
  const operations = [success, failure].flatMap((list) => (list ?? []) as Json[]);
  return operations.every((operation) => "request_range" in operation) ? "look" : "txn";
}

function watchedBy({ create_request: create }: Json): Watched {
  const { key, range_end: end, start_revision: start, filters } = create as Json;
  return {
    from: textOf(key),
    to: end === undefined ? undefined : textOf(end),
    startRevision: Number(start),
    isPutFiltered: ((filters ?? []) as string[]).includes("NOPUT"),
  };
}

function isSeen({ type, revision, key: { key } }: KeyEvent, { from, to, startRevision, isPutFiltered }: Watched): boolean {
  const isInside = to === undefined ? key === from : key >= from && key < to;
  return isInside && revision >= startRevision && !(isPutFiltered && type === "PUT");
}

function eventShown({ type, key, revision }: KeyEvent): Json {
  // For a deleted key, its name and the revision of its deletion.
  const { key: name } = shown(key) as { readonly key: string };
  return type === "PUT" ? { kv: shown(key) } : { type, kv: { key: name, mod_revision: String(revision) } };
}
