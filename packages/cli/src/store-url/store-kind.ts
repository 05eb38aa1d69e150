import type { LeaseStore } from "@leasehold/core";
import type { StoreUrl } from "./store-url.ts";

/** The parts of the process that a store of a URL needs. */
export interface StorePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder for packages that are not installed beside the command. */
  readonly workingDirectory: string;
}

/** One scheme of store URLs. */
export interface StoreKind {
  /** An example URL, for the help. */
  readonly example: string;
  /** The parameters of its URLs. Undefined if the driver defines them. */
  readonly parameters: readonly string[] | undefined;
  /** Checks a URL as far as that needs no package of a store. @throws {ConfigurationError} */
  check(url: StoreUrl): void;
  open(url: StoreUrl, place: StorePlace): Promise<LeaseStore & AsyncDisposable>;
  /** Returns the commands or statements that create a missing store, for people. */
  creation?(url: StoreUrl, store: LeaseStore): readonly string[];
  /** Checks that candidates have used the store, if opening it would create it. @throws {Failure} */
  checkUsed?(url: StoreUrl, place: StorePlace): Promise<void>;
  /** Returns warnings about the store that need no request. */
  localWarnings?(url: StoreUrl, place: StorePlace): Promise<readonly string[]>;
}

/** Makes a store disposable: its disposal calls `end`, and waits for it. */
export function disposable<Store extends LeaseStore>(store: Store, end: () => unknown): Store & AsyncDisposable {
  const dispose = async (): Promise<void> => {
    await end();
  };
  return Object.assign(store, { [Symbol.asyncDispose]: dispose });
}
