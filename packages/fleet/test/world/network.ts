import {
  carry,
  type Arrival,
  type Network,
  type Passage,
  type ProcessClock,
  type SeededRandom,
  type SimulatedRecordService,
  type VirtualClock,
} from "@leasehold/core/testing";
import type { ListedRecord, RecordStore, StoredRecord } from "@leasehold/core/provider";

/** The chance of each fault, of each request. */
export interface Weather {
  readonly losesRequest: number;
  readonly losesReply: number;
  readonly late: number;
  readonly twice: number;
  readonly lags: number;
}

export const CALM: Weather = { losesRequest: 0, losesReply: 0, late: 0, twice: 0, lags: 0 };
/** A late request arrives within this time. */
export const LATEST_MS = 40_000;

/** The connection of one process. */
export class Connection {
  weather: Weather = CALM;
  latencyMs: readonly [number, number] = [2, 15];
  cutUntilMs = -Infinity;
  /** Called before each request with its name, for instance `put f/plan`. It may freeze the process, or refuse the request. */
  onRequest: ((request: string) => void) | undefined;
  /** The next request is on its way for so long. */
  nextLateMs: number | undefined;
  readonly counts = new Map<string, number>();
  readonly #world: VirtualClock;
  readonly #clock: ProcessClock;
  readonly #service: SimulatedRecordService;
  readonly #random: SeededRandom;
  /** The names of all records that were ever written. */
  readonly #names: ReadonlySet<string>;
  /** A replica that has stood still. It answers what need not be consistent. */
  #stale: { readonly untilMs: number; readonly records: ReadonlyMap<string, StoredRecord> } | undefined;

  constructor(
    world: VirtualClock,
    clock: ProcessClock,
    service: SimulatedRecordService,
    random: SeededRandom,
    names: ReadonlySet<string>,
  ) {
    this.#world = world;
    this.#clock = clock;
    this.#service = service;
    this.#random = random;
    this.#names = names;
  }

  /** From now on and for a while, reads that need not be consistent show what there is now. */
  standStill(forMs: number): void {
    const records = new Map(
      [...this.#names].flatMap((name) => {
        const stored = this.#service.get(name);
        return stored ? [[name, stored] as const] : [];
      }),
    );
    this.#stale = { untilMs: this.#world.monotonicMs() + forMs, records };
  }

  heal(): void {
    this.#stale = undefined;
    this.cutUntilMs = -Infinity;
    this.weather = CALM;
    this.latencyMs = [2, 15];
    this.onRequest = undefined;
  }

  /** Returns the service as a store of records, with the lists that the simulated service does not have. */
  records(): RecordStore {
    const network: Network = () => this.#passage();
    const connection = this.#service.connect(this.#clock, network);
    const still = (): ReadonlyMap<string, StoredRecord> | undefined =>
      this.#stale && this.#world.monotonicMs() < this.#stale.untilMs ? this.#stale.records : undefined;
    const served = <T>(answer: (passage: Passage) => T): Promise<T> => {
      const passage = network({ operation: "read" });
      return carry(this.#world, this.#clock, passage, () => answer(passage));
    };
    const listed = (prefix: string): Promise<ListedRecord[]> => {
      const stale = still();
      return served(({ lags }) =>
        [...this.#names]
          .filter((name) => name.startsWith(prefix))
          .flatMap((election) => {
            const past = lags === true && this.#random.chance(0.5);
            const stored = stale ? stale.get(election) : this.#service.get(election, past);
            return stored ? [{ election, stored }] : [];
          }),
      );
    };
    const count = (operation: string, name: string): void => {
      const [, , kind, slot] = name.split("/");
      const request = `${operation} ${kind}${slot === undefined || kind === "member" || kind === "shard" ? "" : `/${slot}`}`;
      this.counts.set(request, (this.counts.get(request) ?? 0) + 1);
      this.onRequest?.(request);
    };
    return {
      name: "simulated",
      capabilities: { ...connection.capabilities, maxValueBytes: 65_536, fleet: true },
      get: async (name, options) => {
        count("get", name);
        const stale = options.consistent ? undefined : still();
        return await (stale ? served(() => stale.get(name)) : connection.get(name, options));
      },
      put: async (name, record, options) => {
        count("put", name);
        return await connection.put(name, record, options);
      },
      async *list(prefix, { request }) {
        count("list", prefix);
        yield* await request(() => listed(prefix));
      },
    };
  }

  #passage(): Passage {
    const { weather } = this;
    const random = this.#random;
    const [lo, hi] = this.latencyMs;
    const there = this.nextLateMs ?? random.between(lo, hi);
    const back = random.between(lo, hi);
    this.nextLateMs = undefined;
    if (this.#world.monotonicMs() < this.cutUntilMs) return { arrivals: random.chance(0.5) ? [] : [{ afterMs: there }] };
    const lags = random.chance(weather.lags);
    if (random.chance(weather.losesRequest)) return { arrivals: [] };
    if (random.chance(weather.losesReply)) return { arrivals: [{ afterMs: there }] };
    if (random.chance(weather.late)) {
      return { arrivals: [{ afterMs: random.between(0, LATEST_MS), replyAfterMs: back }], lags };
    }
    const prompt: Arrival = { afterMs: there, replyAfterMs: back };
    if (!random.chance(weather.twice)) return { arrivals: [prompt], lags };
    return { arrivals: [prompt, { afterMs: random.between(0, LATEST_MS) }], lags };
  }
}
