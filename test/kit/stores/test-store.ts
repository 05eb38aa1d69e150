import type { Leadership, LeaseStore } from "@leasehold/core";
import type { TcpFaultProxy } from "../faults/tcp-fault-proxy.ts";
import type { StoreName } from "./stores.ts";

/** One kind of store: how to start its service on this machine, and how a process uses it. */
export interface TestStore {
  /** For people, for instance `Azure Blob Storage`. */
  readonly title: string;
  /** A lease that is short, for this store, and still long enough for real processes on a busy machine. */
  readonly leaseDurationMs: number;
  /** Why its service cannot be started on this machine, and what to install; `undefined` if it can. */
  readonly missing: () => Promise<string | undefined>;
  /**
   * Starts its service, empty. It does not outlive this process.
   * @param candidates how many processes compete at most, where each has a part of the service in it
   */
  readonly start: (candidates?: number) => Promise<StoreService>;
  /** Connects to a service that {@link TestStore.start} has started, in whatever process. */
  readonly open: (settings: StoreSettings) => Promise<OpenStore>;
}

/** A service that runs; disposing of it ends it, and its data is lost. */
export interface StoreService extends AsyncDisposable {
  readonly settings: StoreSettings;
  /** The service and its address, for people. */
  readonly place: string;
  /** From now on nobody gets an answer: the service stands still. Of SQLite, which has none, the files are locked. */
  pause(): Promise<void>;
  /** It answers again, what it was asked meanwhile too. */
  resume(): void;
  /** The services that it is made of; absent where it is one. */
  readonly members?: readonly MemberService[];
  /** The places of candidates, where each needs one to itself: their processes are the service. Absent where anybody may compete. */
  readonly seats?: readonly Seat[];
}

/** The place of one candidate's process, and of the next one when that has ended. */
export interface Seat {
  readonly settings: StoreSettings;
  /** Every way between it and the others. */
  readonly links: readonly TcpFaultProxy[];
}

/** One of several services that keep the leases together; the others go on, whatever becomes of it. */
export interface MemberService extends AsyncDisposable {
  readonly name: string;
  /** The way to it, for everybody; absent where there is no network. */
  readonly proxy?: TcpFaultProxy;
  /** From now on it answers nobody: it stands still. */
  pause(): Promise<void>;
  resume(): void;
  /** Ends its process: who connects is refused. What it keeps on a disk stays. Of SQLite, which has none, the files are locked. */
  kill(): Promise<void>;
  /** Starts it again, with what it still has. */
  start(): Promise<void>;
  /** It serves, and has forgotten everything. */
  wipe(): Promise<void>;
  /** Whether it has a record of an election. */
  keeps(election: string): Promise<boolean>;
}

/** The settings by which a process finds the service, as JSON. */
export type StoreSettings = { readonly store: StoreName } & Readonly<Record<string, string>>;

/** A process's own connections to a service. */
export interface OpenStore {
  readonly store: LeaseStore;
  /** A document of that name, which leaders guard with their terms. */
  readonly document: (name: string) => GuardedDocument;
  /** The error says that the service refused a guarded write to a stale leader. */
  readonly isRefusal: (error: unknown) => boolean;
  /** Closes them all: nothing of the store keeps this process alive then. */
  readonly close: () => Promise<void>;
}

/** A piece of text that only the present leader can change: the service refuses everybody else. */
export interface GuardedDocument {
  /** Returns its content; nothing at first. */
  read(): Promise<string>;
  /** To be called before the work, where the store's fence is `after-seal`; absent where nothing has to be. */
  seal?(leadership: Leadership): Promise<void>;
  /**
   * Replaces what it holds by what `change` makes of it: nobody else's write comes in between. `change` is called again
   * where the store's SDK tries again, perhaps after a reply was lost.
   */
  update(leadership: Leadership, change: (content: string) => string): Promise<void>;
  /** Replaces what it holds. Whether this process believes in its leadership is not asked. */
  write(leadership: Leadership, content: string): Promise<void>;
}
