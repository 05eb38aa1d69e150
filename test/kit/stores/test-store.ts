import type { Leadership, LeaseStore } from "@leasehold/core";
import type { TcpFaultProxy } from "../faults/tcp-fault-proxy.ts";
import type { StoreName } from "./stores.ts";

/** One kind of store: how to start its service on this machine, and how a process uses it. */
export interface TestStore {
  /** The name for people, for example `Azure Blob Storage`. */
  readonly title: string;
  /** A short lease for this store, which is still long enough for real processes on a busy machine. */
  readonly leaseDurationMs: number;
  /** Returns why its service cannot be started on this machine, and what to install; `undefined` if it can. */
  readonly missing: () => Promise<string | undefined>;
  /**
   * Starts its service, empty. It does not outlive this process.
   * @param candidates the most processes that compete, if each has a part of the service in it
   */
  readonly start: (candidates?: number) => Promise<StoreService>;
  /** Connects to a service that {@link TestStore.start} has started, from any process. */
  readonly open: (settings: StoreSettings) => Promise<OpenStore>;
}

/** A running service. Disposing of it ends it, and deletes its data. */
export interface StoreService extends AsyncDisposable {
  readonly settings: StoreSettings;
  /** The service and its address, for people. */
  readonly place: string;
  /** Pauses the service: no request gets an answer. SQLite has no service; its files are locked. */
  pause(): Promise<void>;
  /** Resumes the service, which also answers the requests that have arrived meanwhile. */
  resume(): void;
  /** The services of which it consists; absent if it is one service. */
  readonly members?: readonly MemberService[];
  /**
   * The seats of candidates, if each process needs one because the processes are the service. Absent if any process may compete.
   */
  readonly seats?: readonly Seat[];
}

/** The seat of one candidate's process, and of the next one when that has ended. */
export interface Seat {
  readonly settings: StoreSettings;
  /** All connections between it and the others. */
  readonly links: readonly TcpFaultProxy[];
}

/** One of several services that keep the leases together. The others continue, whatever happens to it. */
export interface MemberService extends AsyncDisposable {
  readonly name: string;
  /** The proxy in front of it, for all processes; absent if there is no network. */
  readonly proxy?: TcpFaultProxy;
  /** Pauses it: no request gets an answer. */
  pause(): Promise<void>;
  resume(): void;
  /** Ends its process: connections are refused. Data on a disk stay. SQLite has no process; its files are locked. */
  kill(): Promise<void>;
  /** Starts it again, with the data that it still has. */
  start(): Promise<void>;
  /** Deletes its data, and lets it serve. */
  wipe(): Promise<void>;
  /** Reports whether it has a record of an election. */
  keeps(election: string): Promise<boolean>;
}

/** The settings by which a process finds the service, as JSON. */
export type StoreSettings = { readonly store: StoreName } & Readonly<Record<string, string>>;

/** A process's own connections to a service. */
export interface OpenStore {
  readonly store: LeaseStore;
  /** Returns a document of this name, which leaders guard with their terms. */
  readonly document: (name: string) => GuardedDocument;
  /** Reports whether an error says that the service refused a guarded write of a stale leader. */
  readonly isRefusal: (error: unknown) => boolean;
  /** Closes them all. After that nothing of the store keeps this process alive. */
  readonly close: () => Promise<void>;
}

/** A text that only the present leader can change: the service refuses every other writer. */
export interface GuardedDocument {
  /** Returns its content, which is empty at first. */
  read(): Promise<string>;
  /** Must be called before the work if the store's fence is `after-seal`; absent if nothing is required. */
  seal?(leadership: Leadership): Promise<void>;
  /**
   * Replaces the content by the result of `change`; no other write comes in between. `change` is called again if the store's SDK
   * retries, for example after a lost reply.
   */
  update(leadership: Leadership, change: (content: string) => string): Promise<void>;
  /** Replaces the content, without a check whether this process believes in its leadership. */
  write(leadership: Leadership, content: string): Promise<void>;
}
