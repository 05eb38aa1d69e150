import type { LeaseStore } from "./lease-store.ts";

/** A parsed store URL, such as `etcd://me:secret@one:2379,two:2379?prefix=/services/`. */
export interface StoreUrl {
  /** The URL as it was given, with its password, if it has one. */
  readonly text: string;
  readonly scheme: string;
  /** Decoded. */
  readonly user: string | undefined;
  /** Decoded. */
  readonly password: string | undefined;
  /** The part between `//` and the path, without user and password: an account, a table, a project, one host or several. */
  readonly authority: string;
  /** The decoded path, without the slash before it. Empty if there is no path. */
  readonly path: string;
  /** The decoded path as the absolute path of a file. */
  readonly file: string;
  /** The decoded parameters, each name once. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** A store that closes its connections when it is disposed of. */
export type OpenedStore = LeaseStore & AsyncDisposable;

/** The parts of a process that a store needs to open itself by a URL. */
export interface StoreUrlContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the text of the file that a parameter names, if it is given. @throws {ConfigurationError} if it is unreadable. */
  readFile(url: StoreUrl, parameter: string): Promise<string | undefined>;
  /** Opens another store by its URL: a member of this store. */
  openStore(url: string): Promise<OpenedStore>;
}

/** The functions that open a store by URLs of one scheme. */
export interface StoreScheme {
  /** The parameters of the URLs. Undefined if a driver defines them. */
  readonly parameters: readonly string[] | undefined;
  /** Returns the optional packages that a URL needs, such as a driver. They must be installed beside the store's package. */
  packages?(url: StoreUrl): readonly string[];
  /** Checks a URL without any request. @throws {ConfigurationError} for an invalid one. The message shows no password. */
  check(url: StoreUrl): void;
  /** Opens the store without a request. @throws {ConfigurationError} for a missing file or variable, or a refused option. */
  open(url: StoreUrl, context: StoreUrlContext): Promise<OpenedStore>;
  /** Returns the commands or statements that create a missing store, for people. */
  creation?(url: StoreUrl, store: LeaseStore): readonly string[];
  /** Reports whether candidates have used the store, if opening it would create it. Creates nothing. */
  usage?(url: StoreUrl): StoreUsage;
  /** Returns warnings about the store that need no request. */
  localWarnings?(url: StoreUrl): readonly string[];
}

export interface StoreUsage {
  /** The store as a noun, such as `SQLite file /var/lib/app/app.db`. */
  readonly subject: string;
  /** `missing`: there are no files. `unused`: no candidate has ever led with them. */
  readonly state: "missing" | "unused" | "used";
}

export type StoreSchemes = Readonly<Record<string, StoreScheme>>;

/** Makes a store disposable: its disposal calls `end`, and waits for it. */
export function disposable<Store extends LeaseStore>(store: Store, end: () => unknown): Store & AsyncDisposable {
  const dispose = async (): Promise<void> => {
    await end();
  };
  return Object.assign(store, { [Symbol.asyncDispose]: dispose });
}
