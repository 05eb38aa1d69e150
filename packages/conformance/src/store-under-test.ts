import type { Clock } from "@leasehold/core/provider";
import type { Leadership, LeaseStore } from "@leasehold/core";
import type { Need } from "./need.ts";

/** A store under test, and the way to connect to it. */
export interface StoreUnderTest {
  /** The heading of its column, for example `dynamodb (dynalite)`. */
  readonly name: string;
  /**
   * The lease of the suite, in milliseconds. It must be long enough that it does not run out on a slow machine. It must also be
   * short enough that the suite can wait for it some hundred times. A request may take a third of the lease, at most 30 seconds.
   *
   * If {@link TestEnvironment.pass} moves clocks, use 15,000. If `pass` really waits, use 12,000, which survives a machine that
   * stops for three seconds. A lease of 3,000 is faster, and fails on a machine that stops for one second.
   */
  readonly leaseMs: number;
  /**
   * The length of the long outage, in milliseconds. If {@link TestEnvironment.pass} really waits, choose a time of at least four
   * leases.
   * @defaultValue 40 * leaseMs: ten minutes for a lease of 15,000 ms
   */
  readonly outageMs?: number | undefined;
  /**
   * The number of operations, and of leaderships, in the cases of a thousand. Use fewer if each takes long. @defaultValue 1_000
   */
  readonly rounds?: number | undefined;
  /** The number of requests that each call sends, once the store has read the lease. */
  readonly requests: RequestFacts;
  /**
   * The features that this store or set-up lacks, each with the reason. The cases that need them are skipped and reported. The
   * suite checks that a feature listed here is really absent.
   */
  readonly lacks?: Readonly<Partial<Record<Need, string>>> | undefined;
  /** Single cases to skip, by id, each with the reason. An unknown id is an error. */
  readonly skips?: Readonly<Record<string, string>> | undefined;
  /** Returns a new place for one case, which shares nothing with any other. It is disposed of when the case has ended. */
  open(): Promise<TestEnvironment>;
}

/** The number of requests to the service by one call, as published on `leasehold:request`. */
export interface RequestFacts {
  /** An acquisition after a read that has shown the lease vacant. */
  readonly acquire: number;
  readonly renew: number;
  readonly release: number;
  /** A read by a process that has read before. */
  readonly look: number;
  /** A list that finds nothing, and one of three elections that are led. @defaultValue [1, 1] */
  readonly list?: readonly [nothing: number, three: number] | undefined;
}

/** An empty service, and the time that it shares with its users. */
export interface TestEnvironment extends AsyncDisposable {
  /** The clock of its stores and their electors. Required if {@link pass} moves it. @defaultValue the system's */
  readonly clock?: Clock | undefined;
  /**
   * Returns the store of one more process. Only the service is shared with other processes. The network of this process never
   * fails.
   */
  connect(): Promise<LeaseStore>;
  /** Like {@link connect}, with the given clocks, which derive from the place's. Absent if `lacks.clocks` says why. */
  connectWith?(clock: Clock): Promise<LeaseStore>;
  /**
   * Lets `ms` pass for the service and for all stores: moves their clocks, or really waits. A place that moves clocks runs the
   * timers that become due. Before that, it waits until every request that is about to be answered has its answer. So no fast
   * request seems slow.
   */
  pass(ms: number): Promise<void>;
  /**
   * Returns the store of one more process, whose network can fail. All processes that are connected in this way share that
   * network and its faults. Absent if `lacks.faults` says why.
   */
  connectUnreliably?(): Promise<UnreliableConnection>;
  /**
   * Stops the service until the result is disposed of: the service carries out nothing and sends no answer. Only for a place
   * without {@link connectUnreliably}, because that network serves as well. Absent if `lacks.outages` says why.
   */
  interrupt?(): Promise<AsyncDisposable>;
  /** Returns a text at the service that the store's fence guards. Absent if `lacks.fence` says why. */
  guard?(): Promise<GuardedText>;
  /**
   * Writes foreign data where the election's lease would be: another program's data, or a record of a later version of Leasehold
   * (a higher `schema`). Absent if `lacks.foreign` says why.
   */
  writeRaw?(election: string, what: "foreign" | "newer-schema"): Promise<void>;
  /**
   * Returns the data in the place of the election's lease. The suite compares it deeply, to check that it did not change. Present
   * with `writeRaw`.
   */
  readRaw?(election: string): Promise<unknown>;
  /** Deletes the election's record, which Leasehold never does. Absent if `lacks.removal` says why. */
  remove?(election: string): Promise<void>;
}

/** A text that only the present leader can change: the service refuses every other writer. */
export interface GuardedText {
  /** Returns its content, which is empty at first. */
  read(): Promise<string>;
  /**
   * Replaces the text as the leader of that term, without a check of `leadership.isValid()`. Resolves to whether it was replaced:
   * false if the service refused it because of the fence.
   */
  write(leadership: Leadership, text: string): Promise<boolean>;
}

/** A store, and faults of all its requests and replies. Other stores that are not connected in this way are not affected. */
export interface UnreliableConnection {
  readonly store: LeaseStore;
  readonly faults: Faults;
}

/** The faults of requests on their way. Each fault replaces the one before. At first there is no fault. */
export interface Faults {
  /** From now on no request arrives: each one gets no answer, or its connection breaks. */
  loseRequests(): Promise<void>;
  /** From now on the service carries out each request, and the answer never comes, or the connection breaks instead. */
  loseReplies(): Promise<void>;
  /** From now on each request is held on its way. */
  hold(): Promise<HeldRequests>;
  /**
   * Makes the next request arrive twice, the second time after the service has carried out the first. The caller gets the answer
   * to the second arrival. Absent if `lacks.duplicates` says why.
   */
  duplicate?(): Promise<void>;
  /** Ends the fault. Held requests stay held until {@link HeldRequests.letGo}. */
  heal(): Promise<void>;
}

/** Requests that are held on their way. */
export interface HeldRequests {
  /** Resolves when the first held request has been sent. */
  readonly arrived: Promise<void>;
  /** Delivers the requests, even if their callers no longer wait. Resolves when the service has carried them out. */
  letGo(): Promise<void>;
}
