import type { Clock, Leadership, LeaseStore } from "@leasehold/core";
import type { Need } from "./need.ts";

/** A store that is put to the test, and how to get at it. */
export interface Subject {
  /** The heading of its column, for instance `dynamodb (dynalite)`. */
  readonly name: string;
  /**
   * The lease that the suite works with, in milliseconds: long enough that it never runs out just because the machine is
   * slow, and short enough to wait for it some hundred times. Requests may take a third of it, at most 10 seconds. Where
   * {@link Place.pass} moves clocks, take 15,000. Where it really waits, 12,000 survives a machine that stands still for three
   * seconds; 3,000 is quicker, and fails on a machine that stands still for one.
   */
  readonly leaseMs: number;
  /**
   * For how long the service is away in the case of the long outage, in milliseconds. Where {@link Place.pass} really waits,
   * take as long as you like to wait, and at least four leases. @defaultValue 40 * leaseMs: ten minutes where that is 15,000
   */
  readonly outageMs?: number | undefined;
  /** How many operations, and how many leaderships, the cases of a thousand go through: fewer where each takes long. @defaultValue 1_000 */
  readonly rounds?: number | undefined;
  /** How many requests each call sends, once the store has looked at the lease. */
  readonly requests: RequestFacts;
  /**
   * The features that this store or set-up lacks, each with the reason: the cases that need it are not run, and say so.
   * It is checked: what is there is not lacking.
   */
  readonly lacks?: Readonly<Partial<Record<Need, string>>> | undefined;
  /** Single cases that are not run, by id, each with the reason. An id that no case has is an error. */
  readonly skips?: Readonly<Record<string, string>> | undefined;
  /** A fresh place, which shares nothing with any other: one for each case. It is disposed of when the case has ended. */
  open(): Promise<Place>;
}

/** Requests to the service by one call, as published on `leasehold:request`. */
export interface RequestFacts {
  /** An acquisition after a look that has shown the lease vacant. */
  readonly acquire: number;
  readonly renew: number;
  readonly release: number;
  /** A look by a process that has looked before. */
  readonly look: number;
}

/** An empty service, and the time that it shares with those who use it. */
export interface Place extends AsyncDisposable {
  /** By which its stores count, and so their electors do. Needed where {@link pass} moves it. @defaultValue the system's */
  readonly clock?: Clock | undefined;
  /** The store of one more process: it shares nothing with the others but the service. Its requests always go well. */
  connect(): Promise<LeaseStore>;
  /** The same, and its clocks are those given, which are made from the place's. Absent where `lacks.clocks` says why. */
  connectWith?(clock: Clock): Promise<LeaseStore>;
  /**
   * Lets `ms` pass for the service and for all stores: moves their clocks, or really waits. A place that moves clocks runs
   * the timers that fall due on the way, and waits first until every request that is about to be answered has been, so
   * that no request seems slow that is not.
   */
  pass(ms: number): Promise<void>;
  /**
   * The store of one more process, whose network can fail; all that are connected so share that network, and so the
   * faults. Absent where `lacks.faults` says why.
   */
  connectUnreliably?(): Promise<UnreliableConnection>;
  /**
   * From now on the service carries out nothing and answers nobody, until what this gives is disposed of. Only for a place
   * without {@link connectUnreliably}, whose network serves as well; absent too where `lacks.outages` says why.
   */
  interrupt?(): Promise<AsyncDisposable>;
  /** A text at the service that the store's fence guards. Absent where `lacks.fence` says why. */
  guard?(): Promise<GuardedText>;
  /**
   * Puts something that is not ours where the election's lease would be: somebody's own data, or a record of a later
   * version of Leasehold (schema 2). Absent where `lacks.foreign` says why.
   */
  plant?(election: string, what: "foreign" | "newer-schema"): Promise<void>;
  /** Returns the data in the place of the election's lease, compared deeply to see that it was left alone. Goes with `plant`. */
  dig?(election: string): Promise<unknown>;
  /** Deletes the election's record, which Leasehold never does. Absent where `lacks.removal` says why. */
  remove?(election: string): Promise<void>;
}

/** A text that only the present leader can change: the service refuses every other. */
export interface GuardedText {
  /** Its content; empty at first. */
  read(): Promise<string>;
  /**
   * Replaces it as the leader of that term, without asking whether that believes in itself. Resolves to whether it was
   * replaced: false where the service refused it because of the fence.
   */
  write(leadership: Leadership, text: string): Promise<boolean>;
}

/** A store, and what can be done to all that it sends and receives, and to nothing that the others do. */
export interface UnreliableConnection {
  readonly store: LeaseStore;
  readonly faults: Faults;
}

/** The faults that requests can meet on their way. Each replaces the one before; nothing happens at first. */
export interface Faults {
  /** From now on, what is sent never arrives: there is no answer, or the connection breaks. */
  loseRequests(): Promise<void>;
  /** From now on, the service carries out what is sent, and the answer never comes, or the connection breaks instead. */
  loseReplies(): Promise<void>;
  /** From now on, what is sent is kept on its way. */
  hold(): Promise<HeldRequests>;
  /**
   * The next request arrives twice, the second time after the service has carried out the first; the answer to the second
   * is the one that comes back. Absent where `lacks.duplicates` says why.
   */
  duplicate?(): Promise<void>;
  /** From now on all goes well again. What is held stays held until it is let go. */
  heal(): Promise<void>;
}

/** Requests that are kept on their way. */
export interface HeldRequests {
  /** Resolves when the first of them has been sent. */
  readonly arrived: Promise<void>;
  /** Delivers them, even if nobody waits for an answer any more; resolves when the service has carried them out. */
  letGo(): Promise<void>;
}
